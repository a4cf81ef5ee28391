// Package traffic generates open-loop traffic: who sends to whom (patterns), when (injection
// processes) and how much (packet sizes). All draw from a given stream and allocate nothing after
// construction.
package traffic

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// Env is what a pattern is built for.
type Env struct {
	Topology topology.Topology
	// TopologyName is what messages call the topology; may be empty.
	TopologyName string
	// Seed is for choices made once, at construction, by patterns whose configuration is
	// [param.Seeded].
	Seed uint64
}

// Pattern chooses destinations.
type Pattern interface {
	// Destination is called once for each packet of src, with the stream of src.
	Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID
}

// Matrix is implemented by patterns whose expected traffic is known: all of this package.
type Matrix interface {
	// Weights yields each destination of src with its expected share of src's packets. Shares sum
	// to 1; a silent terminal ([Sparse]) has none.
	Weights(src topology.TerminalID, yield func(dst topology.TerminalID, weight float64))
}

// Patterns holds every pattern that experiment files can name.
var Patterns = param.NewRegistry[Env, Pattern]("pattern")

// fixed gives every terminal one destination, perhaps itself: such packets cross their switch once.
type fixed []topology.TerminalID

func (f fixed) Destination(src topology.TerminalID, _ *sim.Stream) topology.TerminalID { return f[src] }

func (f fixed) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	yield(f[src], 1)
}

// tabulate makes a fixed pattern of n terminals from a function.
func tabulate(n int, destination func(src int) int) fixed {
	return lists.Make(n, func(src int) topology.TerminalID { return topology.TerminalID(destination(src)) })
}

// lacks reports that the topology of env has not got what a pattern needs.
func lacks(pattern, what string, env Env) error {
	topology := cmp.Or(env.TopologyName, "this topology")
	return needs(pattern, "a topology with %s; %s has none", what, topology)
}

// needs reports that a pattern cannot be had on a topology.
func needs(pattern, what string, args ...any) error {
	return fmt.Errorf("pattern %q needs %s", pattern, fmt.Sprintf(what, args...))
}

// division puts the terminals into classes (dragonfly groups, grid switches), in order.
type division struct {
	class   []int32                 // len = terminals
	index   []int32                 // len = terminals: position within the class
	members [][]topology.TerminalID // by class
}

func divide(g *topology.Graph, classes int, classOf func(topology.SwitchID) int) division {
	d := division{members: make([][]topology.TerminalID, classes)}
	for t := range g.Terminals() {
		c := classOf(g.TerminalSwitch(topology.TerminalID(t)))
		d.class = append(d.class, int32(c))
		d.index = append(d.index, int32(len(d.members[c])))
		d.members[c] = append(d.members[c], topology.TerminalID(t))
	}
	return d
}

// even tells whether all classes have the same number of terminals.
func (d *division) even() bool {
	return !slices.ContainsFunc(d.members, func(m []topology.TerminalID) bool { return len(m) != len(d.members[0]) })
}

// mapped is the fixed pattern from each terminal to the same position in the class that its own
// maps to.
func (d *division) mapped(to func(class int) int) fixed {
	return tabulate(len(d.class), func(src int) int { return int(d.members[to(int(d.class[src]))][d.index[src]]) })
}

// gridMap is the fixed pattern on a grid that moves the coordinates of a terminal's switch, in
// place, and keeps the terminal's position there.
func gridMap(pattern string, grid topology.Grid, move func(at []int)) (fixed, error) {
	g, dims := grid.Graph(), grid.Dims()
	number := func(at []int) int { // row-major, whatever the switches' own numbers
		n := 0
		for d, x := range at {
			n = n*dims[d] + x
		}
		return n
	}
	coordinates := make([][]int, g.Switches())
	places := divide(g, g.Switches(), func(s topology.SwitchID) int {
		at := lists.Make(len(dims), func(d int) int { return grid.Coordinate(s, d) })
		coordinates[number(at)] = at
		return number(at)
	})
	if !places.even() {
		return nil, needs(pattern, "the same number of terminals at every switch")
	}
	return places.mapped(func(class int) int {
		at := slices.Clone(coordinates[class])
		move(at)
		return number(at)
	}), nil
}

// FileConfig holds the settings of pattern "file".
type FileConfig struct {
	Path string `toml:"path" doc:"file with a line for each terminal, in order: the number or the name of the terminal that it sends to, or - if it sends nothing; or lines SENDER,DESTINATION, beside which nobody sends; relative to the experiment file" file:"read"`
}

func init() {
	param.Register(Patterns, "file", "every terminal to the one that a file names, if any", FileConfig{}, newFile)
}

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

// Sparse is implemented by patterns with silent terminals, without destination and weights.
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
	if inside, quoted := strings.CutPrefix(text, `"`); err != nil && quoted { // as spreadsheets write names
		t, err = in.finder.Terminal(strings.TrimSuffix(inside, `"`))
	}
	if err != nil {
		in.Problem("%w", err)
		return silent
	}
	return t
}
