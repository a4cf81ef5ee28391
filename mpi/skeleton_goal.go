package mpi

import (
	"path/filepath"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// GoalFile configures the replay of a GOAL schedule.
type GoalFile struct {
	File string `toml:"file" doc:"the schedule, relative to the experiment file; a calc unit is 1 ns"`
}

// RelativeTo makes a relative path start at dir.
func (c *GoalFile) RelativeTo(dir string) {
	if c.File != "" && !filepath.IsAbs(c.File) {
		c.File = filepath.Join(dir, c.File)
	}
}

// Files are the files that are read.
func (c *GoalFile) Files() []string { return []string{c.File} }

func init() {
	param.Register(Skeletons, "goal", "a schedule in the GOAL format of LogGOPSim and ATLAHS; it has its own number of ranks", GoalFile{}, func(c GoalFile, _ SkeletonEnv) (Program, error) {
		f, err := input.OpenInput(c.File, input.MaxStream)
		if err != nil {
			return nil, &param.ParamError{Key: "file", Value: c.File, Want: "a file that can be read (" + err.Error() + ")"}
		}
		defer f.Close()
		return ParseGOAL(c.File, f)
	})
}

// Run implements Program.
func (g *Goal) Run(unit sim.Time, _ Costs) Workload { return g.Replay(int64(sim.Nanosecond / unit)) }
