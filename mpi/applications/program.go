package applications

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// ProgramFile configures a program made of others.
type ProgramFile struct {
	File string `toml:"file" doc:"steps [[step]] in TOML, relative to the experiment file: type and settings of a skeleton, times, group; [group.NAME] has first and count, or size and stride; iterations of the whole" file:"read"`
}

func init() {
	param.Register(skeletons.Registry, "program", "steps from a file: skeletons one after the other, on all ranks or on groups of them", ProgramFile{}, func(c ProgramFile, e skeletons.Env) (skeletons.Program, error) {
		text, err := input.ReadInput(c.File, input.MaxSettings)
		if err != nil {
			return nil, &param.ParamError{Key: "file", Value: c.File, Want: "a file that can be read (" + err.Error() + ")"}
		}
		return parseProgram(c.File, string(text), e)
	})
}

type programText struct {
	Iterations int                  `toml:"iterations"`
	Group      map[string]rankGroup `toml:"group"`
	Step       []toml.Primitive     `toml:"step"`
}

// rankGroup is some ranks, or all of them divided.
type rankGroup struct {
	First  int `toml:"first"`  // the first of some
	Count  int `toml:"count"`  // of these
	Size   int `toml:"size"`   // of each part
	Stride int `toml:"stride"` // from rank to rank of a part
}

// stepHead is what a step has beside the settings of its skeleton.
type stepHead struct {
	Type  string `toml:"type"`
	Times *int   `toml:"times"`
	Group string `toml:"group"`
}

// parseProgram reads a program for so many ranks. The error joins the errors of all steps.
func parseProgram(name, text string, e skeletons.Env) (skeletons.Program, error) {
	var file programText
	if line := input.DeepTOML(text); line > 0 {
		return nil, fmt.Errorf("%s:%d: nested deeper than %d levels", name, line, input.MaxNesting)
	}
	known, err := toml.Decode(text, &file)
	if err != nil {
		return nil, fmt.Errorf("%s: not valid: %w", name, err)
	}
	if len(file.Step) == 0 || file.Iterations < 0 {
		return nil, fmt.Errorf("%s: want at least one table [[step]], and iterations, if given, of at least 1", name)
	}
	var problems []error
	var steps []collectives.Schedule
	for i, step := range file.Step {
		s, err := file.step(&known, step, e)
		for _, problem := range param.Errors(err) {
			problems = append(problems, fmt.Errorf("%s: step[%d]: %v", name, i, problem)) // of this file, not of the one that names it
		}
		steps = append(steps, s)
	}
	for _, key := range known.Undecoded() {
		problems = append(problems, fmt.Errorf("%s: %s is not a key of this file, or of the skeleton of its step", name, key))
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return mpi.Iterate(collectives.Sequence(steps...), max(1, file.Iterations)), nil
}

func (f *programText) step(known *toml.MetaData, raw toml.Primitive, e skeletons.Env) (collectives.Schedule, error) {
	var head stepHead
	if err := known.PrimitiveDecode(raw, &head); err != nil {
		return nil, err
	}
	config, err := skeletons.Registry.Config(head.Type)
	if err != nil {
		return nil, &param.ParamError{Key: "type", Value: head.Type, Want: "one of " + strings.Join(skeletons.Registry.Names(), ", ")}
	}
	if err := known.PrimitiveDecode(raw, config); err != nil {
		return nil, err
	}
	if err := param.Validate(config); err != nil {
		return nil, err
	}
	on := func(s collectives.Schedule) collectives.Schedule { return s }
	if head.Group != "" {
		group, ok := f.Group[head.Group]
		if !ok {
			return nil, &param.ParamError{Key: "group", Value: head.Group, Want: "the name of a table [group.NAME]"}
		}
		ranks := e.Ranks
		if on, err = group.on(head.Group, ranks); err != nil {
			return nil, err
		}
		e.Ranks = max(group.Count, group.Size)
	}
	program, err := skeletons.Registry.Build(head.Type, config, e)
	if err != nil {
		return nil, err
	}
	s, ok := program.(collectives.Schedule)
	if !ok {
		return nil, &param.ParamError{Key: "type", Value: head.Type, Want: "a skeleton whose ranks go through rounds; traffic and goal stand alone, as jobs"}
	}
	times := 1
	if head.Times != nil {
		times = *head.Times
	}
	if times < 1 || times > 1e6 {
		return nil, &param.ParamError{Key: "times", Value: times, Want: "1 to 1000000"}
	}
	if times > 1 {
		s = mpi.Iterate(s, times)
	}
	return on(s), nil
}

func (g *rankGroup) on(name string, ranks int) (func(collectives.Schedule) collectives.Schedule, error) {
	stride := max(1, g.Stride)
	switch {
	case g.Size > 0 && g.Count == 0 && g.First == 0 && g.Stride >= 0 && stride <= ranks && g.Size <= ranks && ranks%(g.Size*stride) == 0:
		return func(s collectives.Schedule) collectives.Schedule { return collectives.Divide(s, ranks, stride) }, nil
	case g.Count > 0 && g.Size == 0 && g.Stride == 0 && g.First >= 0 && g.Count <= ranks && g.First <= ranks-g.Count:
		return func(s collectives.Schedule) collectives.Schedule {
			return collectives.Split(s, ranks, func(r int) (group, index int) { // the other ranks do nothing
				if r < g.First || r >= g.First+s.Ranks() {
					return 0, -1
				}
				return 0, r - g.First
			}, func(_, index int) int { return g.First + index })
		}, nil
	}
	return nil, &param.ParamError{Key: "group." + name, Value: *g, Want: fmt.Sprintf("first and count within the %d ranks, or size with stride (1, if left out) whose product divides them", ranks)}
}
