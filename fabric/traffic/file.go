package traffic

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// FileConfig holds the settings of pattern "file".
type FileConfig struct {
	Path string `toml:"path" doc:"file with a line for each terminal: the number of the terminal that it sends to; relative to the experiment file" file:"read"`
}

func init() {
	param.Register(Patterns, "file", "every terminal to the one that a file names", FileConfig{}, newFile)
}

// Validate checks what the tags cannot.
func (c *FileConfig) Validate() error {
	if c.Path == "" {
		return &param.ParamError{Key: "path", Value: `""`, Want: "the path of a file of destinations"}
	}
	return nil
}

func newFile(config FileConfig, env Env) (Pattern, error) {
	data, err := input.ReadInput(config.Path, input.MaxInput)
	if err != nil {
		return nil, &param.ParamError{Key: "path", Value: config.Path, Want: "a readable file: " + err.Error()}
	}
	return readDestinations(config.Path, data, env.Topology.Graph().Terminals())
}

// readDestinations reads the destinations of n terminals, a line each. Empty lines and
// those that begin with # are left aside. Several may have one destination, and it may be
// themselves. name stands for the file in error messages, which are joined.
func readDestinations(name string, data []byte, n int) (fixed, error) {
	var f fixed
	in := input.NewLines(bytes.NewReader(data), name)
	for in.Next() {
		if in.Text == "" || in.Text[0] == '#' {
			continue
		}
		dst, err := strconv.ParseInt(in.Text, 10, 32)
		if err != nil || dst < 0 || int(dst) >= n {
			in.Problem("%q, want a terminal, 0 to %d", input.Printable(in.Text), n-1)
		}
		f = append(f, topology.TerminalID(dst))
	}
	if err := in.Finish(); err != nil {
		return nil, err
	}
	if len(f) != n {
		return nil, fmt.Errorf("%s: %d destinations, want %d, one for each terminal", name, len(f), n)
	}
	return f, nil
}
