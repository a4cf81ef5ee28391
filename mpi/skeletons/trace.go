package skeletons

import (
	"bufio"
	"path/filepath"

	"github.com/weft-sim/weft/mpi/chakra"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/simgrid"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// Trace configures the replay of a trace.
type Trace struct {
	File   string  `toml:"file" doc:"a file of the trace, relative to the experiment file; the files of other ranks stand beside it"`
	Format string  `toml:"format" doc:"auto: by content" choices:"auto|goal|chakra|simgrid"`
	Groups string  `toml:"groups" doc:"chakra: the process groups, a JSON object of lists of ranks"`
	Flops  float64 `toml:"host_flops" doc:"simgrid: floating-point operations a second of a rank" min:"1"`
	trace.Settings
}

// DefaultTrace are the settings of a trace that says no more than its file.
func DefaultTrace() Trace { return Trace{Format: "auto", Flops: 1e9, Settings: trace.Default()} }

// RelativeTo makes relative paths start at dir.
func (c *Trace) RelativeTo(dir string) {
	for _, file := range []*string{&c.File, &c.Groups} {
		if *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(dir, *file)
		}
	}
}

// Files are the files that are read.
func (c *Trace) Files() []string {
	files := []string{c.File}
	switch {
	case c.File != "" && (c.Format == "auto" || c.Format == "chakra"):
		files = chakra.Files(c.File)
	case c.File != "" && c.Format == "simgrid":
		files = simgrid.Files(c.File)
	}
	if c.Groups != "" {
		files = append(files, c.Groups)
	}
	return files
}

// Read makes a schedule of the trace. The report is there if the trace was read to its end.
func (c *Trace) Read() (*goal.Schedule, *trace.Report, error) {
	f, err := input.OpenInput(c.File, input.MaxStream)
	if err != nil {
		return nil, nil, &param.ParamError{Key: "file", Value: c.File, Want: "a file that can be read (" + err.Error() + ")"}
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	format := c.Format
	if format == "auto" {
		if simgrid.Is(in) {
			format = "simgrid"
		} else if again, err := input.OpenInput(c.File, input.MaxStream); err == nil {
			if _, _, err := chakra.NewReader(again); err == nil {
				format = "chakra"
			}
			again.Close()
		}
	}
	switch format {
	case "chakra":
		return chakra.Import(c.File, c.Groups, c.Settings)
	case "simgrid":
		return simgrid.Import(c.File, c.Flops, c.Settings)
	}
	g, err := goal.Parse(c.File, in)
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

func init() {
	param.Register(Registry, "trace", "a trace in the format of GOAL (text, binary), Chakra or SimGrid; it has its own number of ranks", DefaultTrace(), func(c Trace, _ Env) (Program, error) {
		g, report, err := c.Read()
		if err != nil {
			return nil, err
		}
		return &Imported{g, report}, nil
	})
}
