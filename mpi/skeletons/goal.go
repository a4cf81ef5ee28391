package skeletons

import (
	"path/filepath"

	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// Goal configures the replay of a GOAL schedule.
type Goal struct {
	File string `toml:"file" doc:"the schedule, relative to the experiment file; a calc unit is 1 ns"`
}

// RelativeTo makes a relative path start at dir.
func (c *Goal) RelativeTo(dir string) {
	if c.File != "" && !filepath.IsAbs(c.File) {
		c.File = filepath.Join(dir, c.File)
	}
}

// Files are the files that are read.
func (c *Goal) Files() []string { return []string{c.File} }

func init() {
	param.Register(Registry, "goal", "a schedule in the GOAL format of LogGOPSim and ATLAHS, text or binary; it has its own number of ranks", Goal{}, func(c Goal, _ Env) (Program, error) {
		f, err := input.OpenInput(c.File, input.MaxStream)
		if err != nil {
			return nil, &param.ParamError{Key: "file", Value: c.File, Want: "a file that can be read (" + err.Error() + ")"}
		}
		defer f.Close()
		return goal.Parse(c.File, f)
	})
}
