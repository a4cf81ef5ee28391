package booksim

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/experiments/network"
)

// Open is the reference of a folder of curves, or of those that come with weft.
func Open(data string) (*judge.Reference, error) {
	return open(judge.Folder(data, Own(), "the curves of weft"))
}

func open(folder fs.FS, place string) (*judge.Reference, error) {
	curves, ignored, err := ReadFolder(folder, place)
	if err != nil {
		return nil, err
	}
	section := &judge.Section{File: "verdicts.csv", Columns: Columns}
	r := &judge.Reference{Name: "booksim", Place: place, Entry: "curve", Sections: []*judge.Section{section}}
	for _, name := range ignored {
		r.Warnings = append(r.Warnings, name+": warning: no table of curves: left aside")
	}
	for len(curves) > 0 {
		name, n := curves[0].Name, 1
		for n < len(curves) && curves[n].Name == name {
			n++
		}
		section.Entries = append(section.Entries, entry(name, curves[:n]))
		curves = curves[n:]
	}
	return r, nil
}

// entry is a curve, in all files that have points of it.
func entry(name string, files []Curve) *judge.Entry {
	x := &Experiment{Name: name}
	readable := -1
	for i := range files {
		x.Curves = append(x.Curves, &files[i])
		if readable < 0 && len(files[i].Faults) == 0 {
			readable = i
		}
	}
	x.Text = func(_ string, loads []float64, seeds int) (path, text string, canDeadlock bool, err error) {
		text, canDeadlock, err = files[readable].Config.Experiment("BookSim2's "+name, loads, seeds)
		return name + ".toml", text, canDeadlock, err
	}
	return &judge.Entry{Name: name, Unreadable: readable < 0, Faults: x.faults,
		Judge: func(s *judge.Session) ([]judge.Row, bool, error) { return x.Judge(s, filepath.Join(s.Out, "booksim")) }}
}

// Seeds that each load of a curve is run with, and those of a load that is too noisy with so
// many.
const (
	fewSeeds, moreSeeds           = 5, 20
	fewQuickSeeds, moreQuickSeeds = 3, 10
)

// Experiment is what weft runs for a curve.
type Experiment struct {
	Name   string
	Curves []*Curve // the same, as some files have it
	// Text is the experiment file for some loads, with its path; it may write inputs below the
	// folder of results. The error says why weft has no counterpart.
	Text func(results string, loads []float64, seeds int) (path, text string, canDeadlock bool, err error)
}

// Judge runs a curve, with its results in a folder, and judges it. Loads at which the seeds leave
// too much open run again with more of them, if that helps.
func (x *Experiment) Judge(s *judge.Session, results string) (verdicts []judge.Row, failed bool, err error) {
	few, more := fewSeeds, moreSeeds
	if s.Quick {
		few, more = fewQuickSeeds, moreQuickSeeds
		all := x.loads((*Curve).Loads)
		for _, c := range x.Curves {
			c.At(someLoads(all))
		}
	}
	var run Run
	dir := filepath.Join(results, x.Name)
	if loads := x.loads((*Curve).LoadsThatMove); len(loads) > 0 {
		run.Results, run.Why, failed, err = x.run(s, results, dir, loads, few)
	}
	if err == nil {
		err = x.runDeadlocks(s, results, &run)
	}
	if err != nil {
		return nil, failed, err
	}
	var noisy []float64
	rows := make([][]Row, len(x.Curves))
	for i, c := range x.Curves {
		if rows[i], err = c.Judge(run); err != nil {
			return nil, failed, err
		}
		noisy = append(noisy, MoreSeeds(rows[i], more)...)
	}
	if len(noisy) > 0 {
		slices.Sort(noisy)
		noisy = slices.Compact(noisy)
		again, why, failedAgain, err := x.run(s, results, dir+"-more-seeds", noisy, more)
		if err := errors.Join(err, why); err != nil {
			return nil, failed, err
		}
		failed = failed || failedAgain
		for i, c := range x.Curves {
			part := *c
			part.At(noisy)
			better, err := part.Judge(Run{Results: again})
			if err != nil {
				return nil, failed, err
			}
			rows[i] = Replaced(rows[i], better)
		}
	}
	for _, r := range slices.Concat(rows...) {
		verdicts = append(verdicts, r.verdict())
	}
	return verdicts, failed, nil
}

// faults are the problems of all files of the curve.
func (x *Experiment) faults() (all experiments.Problems) {
	for _, c := range x.Curves {
		all = append(all, c.Faults...)
	}
	return all
}

// loads are those of all files of the curve.
func (x *Experiment) loads(of func(*Curve) []float64) (all []float64) {
	for _, c := range x.Curves {
		if len(c.Faults) == 0 {
			all = append(all, of(c)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// someLoads are the first of some loads, one in the middle and the last.
func someLoads(all []float64) []float64 {
	if len(all) == 0 {
		return nil
	}
	return slices.Compact([]float64{all[0], all[len(all)/2], all[len(all)-1]})
}

// run runs some loads; why says why they were not run.
func (x *Experiment) run(s *judge.Session, results, dir string, loads []float64, seeds int) (table *experiments.Table, why error, failed bool, err error) {
	path, text, canDeadlock, why := x.Text(results, loads, seeds)
	if why != nil {
		return nil, why, false, nil
	}
	file, why := s.Load(path, text, canDeadlock)
	if why != nil {
		return nil, why, false, nil
	}
	outcome, err := s.Run(x.Name, file, dir)
	if err != nil {
		return nil, nil, false, err
	}
	return outcome.Results, nil, len(outcome.Failures) > 0, nil
}

// runDeadlocks finds what weft makes of the loads at which BookSim2's network stopped for
// good: it refuses the network by its certificate, or else runs it under the eyes of the
// watchdog.
func (x *Experiment) runDeadlocks(s *judge.Session, results string, run *Run) error {
	for _, load := range x.loads((*Curve).Deadlocks) {
		path, text, _, why := x.Text(results, []float64{load}, fewQuickSeeds)
		if why != nil {
			run.Why = why
			return nil
		}
		file, why := s.Load(path, text, false)
		if why != nil {
			if reason, _, refused := strings.Cut(judge.Refusal(why), network.AllowHint); refused {
				run.Refused = reason
			} else {
				run.Why = why
			}
			return nil
		}
		outcome, err := s.Run(x.Name, file, fmt.Sprintf("%s-deadlock-%v", filepath.Join(results, x.Name), load))
		if err != nil {
			return err
		}
		for _, f := range outcome.Failures {
			if strings.Contains(f.Reason, "deadlock: ") {
				if run.Stopped == nil {
					run.Stopped = map[float64]string{}
				}
				run.Stopped[load], _, _ = strings.Cut(f.Reason, "\n")
			}
		}
	}
	return nil
}
