// Package replay has the skeletons that come from files: "goal" reads schedules, "trace" the traces of all
// formats that weft knows.
package replay

import (
	"bufio"
	"bytes"
	"errors"
	"slices"

	"github.com/weft-sim/weft/mpi/chakra"
	"github.com/weft-sim/weft/mpi/dumpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/otf2"
	"github.com/weft-sim/weft/mpi/simgrid"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// Goal configures the replay of a GOAL schedule.
type Goal struct {
	File string `toml:"file" doc:"the schedule, relative to the experiment file; a calc unit is 1 ns" file:"read"`
}

// Trace configures the replay of a trace.
type Trace struct {
	File   string  `toml:"file" doc:"a file of the trace, relative to the experiment file; the files of other ranks stand beside it"`
	Format string  `toml:"format" doc:"auto: by content" choices:"auto|goal|chakra|dumpi|otf2|simgrid"`
	Groups string  `toml:"groups" doc:"chakra: the process groups, a JSON object of lists of ranks"`
	Flops  float64 `toml:"host_flops" doc:"simgrid: floating-point operations a second of a rank" min:"1"`
	trace.Settings
}

// Default are the settings of a trace that says no more than its file.
func Default() Trace { return Trace{Format: "auto", Flops: 1e9, Settings: trace.Default()} }

// RelativeTo makes relative paths start at dir.
func (c *Trace) RelativeTo(dir string) {
	for _, file := range []*string{&c.File, &c.Groups} {
		*file = input.In(dir, *file)
	}
}

// format is one that traces are read in.
type format struct {
	name  string
	is    func(in *bufio.Reader) bool // by what a file begins with
	files func(name string) []string  // all, of which name is one
	read  func(c *Trace) (*goal.Schedule, *trace.Report, error)
}

// formats are those that are told apart, in this order.
var formats = []format{
	{"dumpi", dumpi.Is, dumpi.Files, func(c *Trace) (*goal.Schedule, *trace.Report, error) { return dumpi.Import(c.File, c.Settings) }},
	{"otf2", otf2.Is, otf2.Files, func(c *Trace) (*goal.Schedule, *trace.Report, error) { return otf2.Import(c.File, c.Settings) }},
	{"simgrid", simgrid.Is, simgrid.Files, func(c *Trace) (*goal.Schedule, *trace.Report, error) {
		return simgrid.Import(c.File, c.Flops, c.Settings)
	}},
	{"chakra", chakra.Is, chakra.Files, func(c *Trace) (*goal.Schedule, *trace.Report, error) {
		return chakra.Import(c.File, c.Groups, c.Settings)
	}},
	{"goal", goal.Is, func(name string) []string { return []string{name} }, (*Trace).readGoal},
}

// endings are the ends of names of files that tell a trace in a folder or a tar file.
var endings = []string{".otf2", "-0000.bin", "-0000.bin.gz", "-0000.bin.zst", ".0.et", ".0.et.gz", ".0.et.zst"}

// foreign are traces that weft does not read, by what is found in their first bytes, with what to do.
var foreign = []struct{ begins, advice string }{
	{`"traceEvents"`, "Kineto's events: Chakra's chakra_trace_link and chakra_converter make an .et file a rank of them and PyTorch's execution traces"},
	{`"schema"`, "PyTorch's execution trace: Chakra's chakra_trace_link and chakra_converter make an .et file a rank of it"},
	{" entering at walltime ", "DUMPI as text: give the binary files that dumpi2ascii has read"},
}

// unknown is the error for a file of no format that is read.
type unknown struct{ file, problem string }

func (u unknown) Error() string { return u.file + ":1: " + u.problem }

func (c Trace) found() (*Trace, format, error) {
	name, err := trace.Find(c.File, endings)
	if err != nil {
		return nil, format{}, err
	}
	c.File = name
	for _, f := range formats {
		if f.name == c.Format {
			return &c, f, nil
		}
	}
	file, err := input.OpenInput(c.File, input.MaxStream)
	if err != nil {
		return nil, format{}, err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 1<<16)
	at := slices.IndexFunc(formats, func(f format) bool { return f.is(in) || f.name == "simgrid" && simgrid.Lists(c.File) })
	if at < 0 {
		begin, _ := in.Peek(1 << 16) // or the whole file
		for _, f := range foreign {
			if bytes.Contains(begin, []byte(f.begins)) {
				return nil, format{}, unknown{c.File, f.advice}
			}
		}
		return nil, format{}, unknown{c.File, "begins as no trace that weft reads: GOAL (text begins with num_ranks), Chakra, DUMPI, OTF2 (NAME.otf2), SimGrid's actions (RANK ACTION), or the list of the files that have them, which must be there; a format that is given is taken as it is"}
	}
	return &c, formats[at], nil
}

// Files are the files that are read.
func (c *Trace) Files() []string {
	files := []string{c.File}
	if found, f, err := c.found(); c.File != "" && err == nil {
		files = f.files(found.File)
	}
	if c.Groups != "" {
		files = append(files, c.Groups)
	}
	return files
}

// Read makes a schedule of the trace. The report is there if the trace was read to its end.
func (c *Trace) Read() (*goal.Schedule, *trace.Report, error) {
	found, f, err := c.found()
	if u := (unknown{}); errors.As(err, &u) {
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, &param.ParamError{Key: "file", Value: c.File, Want: "a file that can be read (" + err.Error() + ")"}
	}
	return f.read(found)
}

// readGoal reads a schedule, text or binary.
func (c *Trace) readGoal() (*goal.Schedule, *trace.Report, error) {
	f, err := input.OpenInput(c.File, input.MaxStream)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	g, err := goal.Parse(c.File, f)
	if err != nil {
		return nil, nil, err
	}
	g.ScaleCompute(c.Compute)
	return g, trace.Whole(g), nil
}

// Imported is a trace with the report of what became of its operations.
type Imported struct {
	*goal.Schedule
	Report *trace.Report
}

// Notes say what of the trace is not replayed as it stands.
func (i *Imported) Notes() []string { return i.Report.Notes() }

func init() {
	param.Register(skeletons.Registry, "goal", "a schedule in the GOAL format of LogGOPSim and ATLAHS, text or binary; it has its own number of ranks", Goal{}, func(c Goal, _ skeletons.Env) (skeletons.Program, error) {
		f, err := input.OpenInput(c.File, input.MaxStream)
		if err != nil {
			return nil, &param.ParamError{Key: "file", Value: c.File, Want: "a file that can be read (" + err.Error() + ")"}
		}
		defer f.Close()
		return goal.Parse(c.File, f)
	})
	param.Register(skeletons.Registry, "trace", "a trace in the format of GOAL (text, binary), Chakra, DUMPI, OTF2 or SimGrid; it has its own number of ranks", Default(), func(c Trace, _ skeletons.Env) (skeletons.Program, error) {
		g, report, err := c.Read()
		if err != nil {
			return nil, err
		}
		return &Imported{g, report}, nil
	})
}
