package traffic

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

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

// mostProblems bounds the problems of a file that are listed.
const mostProblems = 20

// readDestinations reads the destinations of n terminals, a line each. Empty lines and
// those that begin with # are left aside. Several may have one destination, and it may be
// themselves. name stands for the file in error messages, which are joined.
func readDestinations(name string, data []byte, n int) (fixed, error) {
	if err := input.CheckUTF8(data); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var f fixed
	var problems []error
	for i, line := range strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		dst, err := strconv.ParseInt(line, 10, 32)
		if (err != nil || dst < 0 || int(dst) >= n) && len(problems) < mostProblems {
			problems = append(problems, fmt.Errorf("%s:%d: %q, want a terminal, 0 to %d", name, i+1, input.Printable(line), n-1))
		}
		f = append(f, topology.TerminalID(dst))
	}
	if len(f) != n && len(problems) == 0 {
		problems = append(problems, fmt.Errorf("%s: %d destinations, want %d, one for each terminal", name, len(f), n))
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return f, nil
}
