package traffic

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// FileConfig holds the settings of pattern "file".
type FileConfig struct {
	Path string `toml:"path" doc:"file with a line for each terminal, in order: the number or the name of the terminal that it sends to, or - if it sends nothing; or lines SENDER,DESTINATION, beside which nobody sends; relative to the experiment file" file:"read"`
}

func init() {
	param.Register(Patterns, "file", "every terminal to the one that a file names, if any", FileConfig{}, newFile)
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
	return readDestinations(config.Path, data, env.Topology.Graph())
}

// silent is the destination of terminals that send nothing.
const silent topology.TerminalID = -1

// Sparse is implemented by patterns in which terminals may send nothing: those have no
// destination, and no weights.
type Sparse interface {
	Silent(src topology.TerminalID) bool
}

// sparse is a fixed pattern in which some terminals are silent.
type sparse struct{ fixed }

func (s sparse) Silent(src topology.TerminalID) bool { return s.fixed[src] == silent }

func (s sparse) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	if !s.Silent(src) {
		s.fixed.Weights(src, yield)
	}
}

// destinationReader reads a file of destinations.
type destinationReader struct {
	*input.Lines
	finder topology.Finder
	to     fixed
}

// readDestinations reads the destinations of the terminals of a network, in one of two forms: a
// line each, in order, or pairs. Empty lines and those that begin with # are left aside. Several
// may have one destination, and it may be themselves. name stands for the file in error messages,
// which are joined.
func readDestinations(name string, data []byte, g *topology.Graph) (Pattern, error) {
	in := &destinationReader{Lines: input.NewLines(bytes.NewReader(data), name), finder: topology.Finder{Graph: g}}
	pairs, at := -1, map[topology.TerminalID]int{} // unknown, 0 or 1; lines of senders
	for in.Next() {
		if in.Text == "" || in.Text[0] == '#' {
			continue
		}
		first, second, pair := strings.Cut(in.Text, ",")
		if form := min(1, strings.Count(in.Text, ",")); pairs < 0 {
			if pairs = form; pair {
				in.to = slices.Repeat(fixed{silent}, g.Terminals())
			}
		} else if form != pairs {
			in.Problem("%s, want all lines to be of one form: destinations, or SENDER,DESTINATION", input.Quote(in.Text))
			continue
		}
		switch {
		case !pair && in.Text == "-":
			in.to = append(in.to, silent)
		case !pair:
			in.to = append(in.to, in.terminal(in.Text))
		default:
			src, dst := in.terminal(strings.TrimSpace(first)), in.terminal(strings.TrimSpace(second))
			if src == silent || dst == silent {
				continue // which has been said
			}
			if before := at[src]; before > 0 {
				in.Problem("%s sends already, in line %d", g.TerminalName(src), before)
			}
			at[src], in.to[src] = in.Number, dst
		}
	}
	if err := in.Finish(); err != nil {
		return nil, err
	}
	if n := g.Terminals(); len(in.to) != n {
		return nil, fmt.Errorf("%s: %d destinations, want %d, one for each terminal", name, len(in.to), n)
	}
	switch quiet := slices.Contains(in.to, silent); {
	case !quiet:
		return in.to, nil
	case !slices.ContainsFunc(in.to, func(t topology.TerminalID) bool { return t != silent }):
		return nil, fmt.Errorf("%s: no terminal sends", name)
	}
	return sparse{in.to}, nil
}

// terminal finds one; it notes what is wrong and returns silent otherwise.
func (in *destinationReader) terminal(text string) topology.TerminalID {
	t, err := in.finder.Terminal(text)
	if err != nil {
		in.Problem("%w", err)
		return silent
	}
	return t
}
