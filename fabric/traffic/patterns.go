package traffic

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// PermutationConfig holds the settings of pattern "permutation".
type PermutationConfig struct {
	Self bool `toml:"self" doc:"terminals may be their own destination; otherwise permutations with such terminals are drawn again"`
}

func (PermutationConfig) Seeded() {}

func init() {
	param.Register(Patterns, "permutation", "a random permutation, fixed for the run by the seed", PermutationConfig{}, newPermutation)
	param.Register(Patterns, "switch-permutation", "all terminals of a switch to those of another, drawn once by the seed: hard for minimal routing", SwitchPermutationConfig{}, newSwitchPermutation)
	param.Register(Patterns, "tornado", "nearly half the way round every ring of a grid, or half the groups on", struct{}{}, newTornado)
	param.Register(Patterns, "neighbour", "one switch on in every dimension of a grid; elsewhere to the next terminal", struct{}{}, newNeighbour)
	param.Register(Patterns, "transpose", "matrix transposition: from row i, column j to row j, column i", struct{}{}, newTranspose)
	// The bit permutations (Dally and Towles 2004, table 3.1): the destination is the source with
	// its b bits rearranged, among 2^b terminals.
	registerBits("bit-complement", "every bit of the terminal's number inverted", func(src, width int) int {
		return src ^ (1<<width - 1)
	})
	registerBits("bit-reverse", "the bits of the terminal's number in reverse order", func(src, width int) int {
		return int(bits.Reverse64(uint64(src)) >> (64 - width))
	})
	registerBits("shuffle", "the bits of the terminal's number rotated left by one (perfect shuffle)", func(src, width int) int {
		return src<<1&(1<<width-1) | src>>(width-1)
	})
	param.Register(Patterns, "uniform", "every packet to a random terminal (UR)", UniformConfig{}, newUniform)
	param.Register(Patterns, "hot-spot", "a share of the packets to a few terminals, the others to random ones", HotSpotConfig{0.1, []int{0}}, newHotSpot)
	param.Register(Patterns, "worst-case", "each group sends to random terminals of the next one (WC of the dragonfly)", WorstCaseConfig{1}, newWorstCase)
}

// newPermutation draws a permutation of the terminals uniformly, from all or from those without
// fixed points (one in e of all).
func newPermutation(config PermutationConfig, env Env) (Pattern, error) {
	n := env.Topology.Graph().Terminals()
	if n < 2 && !config.Self {
		return nil, needs("permutation", "at least two terminals (one, with self = true); this topology has %d", n)
	}
	return drawn(n, config.Self, env.Seed, "permutation"), nil
}

// drawn is a permutation of n numbers from a stream; without fixed points, unless self is set.
func drawn(n int, self bool, seed uint64, name string) fixed {
	stream := sim.NewStream(seed, name, 0)
	p := tabulate(n, func(i int) int { return i })
	for {
		if sim.Shuffle(&stream, p); self || !p.hasFixedPoint() {
			return p
		}
	}
}

func (f fixed) hasFixedPoint() bool {
	for src, dst := range f {
		if topology.TerminalID(src) == dst {
			return true
		}
	}
	return false
}

// SwitchPermutationConfig has no settings.
type SwitchPermutationConfig struct{}

func (SwitchPermutationConfig) Seeded() {}

// newSwitchPermutation draws a permutation of the switches with terminals without fixed
// points; terminal i of a switch sends to terminal i of the one that follows. All terminals
// of a switch share the minimal paths of one pair, which is close to the worst case of
// low-diameter networks (Besta and Hoefler, SC 2014, section V-C).
func newSwitchPermutation(_ SwitchPermutationConfig, env Env) (Pattern, error) {
	g := env.Topology.Graph()
	all := divide(g, g.Switches(), func(s topology.SwitchID) int { return int(s) })
	leaves := lists.Filter(topology.Numbers[int](len(all.members)), func(s int) bool { return len(all.members[s]) > 0 })
	if len(leaves) < 2 {
		return nil, needs("switch-permutation", "at least two switches with terminals; this topology has %d", len(leaves))
	}
	for _, s := range leaves {
		if len(all.members[s]) != len(all.members[leaves[0]]) {
			return nil, needs("switch-permutation", "as many terminals on every switch that has any; switches %d and %d have %d and %d",
				leaves[0], s, len(all.members[leaves[0]]), len(all.members[s]))
		}
	}
	next := make([]int, g.Switches())
	for i, j := range drawn(len(leaves), false, env.Seed, "switch permutation") {
		next[leaves[i]] = leaves[j]
	}
	return all.mapped(func(s int) int { return next[s] }), nil
}

// newTornado makes the tornado pattern (Dally and Towles 2004, table 3.1): on a grid, ceil(k/2) - 1
// switches on in every dimension of k switches, modulo k even in meshes; on groups, to the terminal
// at the same position g/2 groups on. The second form is weft's extension.
func newTornado(_ struct{}, env Env) (Pattern, error) {
	switch t := env.Topology.(type) {
	case topology.Grid:
		dims := t.Dims()
		if slices.Max(dims) < 3 {
			return nil, needs("tornado", "a dimension of at least 3 switches")
		}
		return gridMap("tornado", t, func(at []int) {
			for d, k := range dims {
				at[d] = (at[d] + (k+1)/2 - 1) % k
			}
		})
	case grouped:
		groups := divide(t.Graph(), t.Groups(), t.GroupOf)
		if t.Groups() < 2 || !groups.even() {
			return nil, needs("tornado", "at least two groups, with the same number of terminals each")
		}
		return groups.mapped(func(group int) int { return (group + t.Groups()/2) % t.Groups() }), nil
	}
	return nil, lacks("tornado", "coordinates or groups", env)
}

// newNeighbour makes the neighbour pattern (Dally and Towles 2004, table 3.1): on a grid, one
// switch on in every dimension, from the last switch to the first even in meshes. On other
// topologies terminal t sends to t+1, the last to the first; that form is weft's extension.
func newNeighbour(_ struct{}, env Env) (Pattern, error) {
	if grid, ok := env.Topology.(topology.Grid); ok {
		dims := grid.Dims()
		return gridMap("neighbour", grid, func(at []int) {
			for d, k := range dims {
				at[d] = (at[d] + 1) % k
			}
		})
	}
	n := env.Topology.Graph().Terminals()
	return tabulate(n, func(src int) int { return (src + 1) % n }), nil
}

// newTranspose makes the transpose pattern (Dally and Towles 2004, table 3.1). On square grids of
// two dimensions the switch at (x, y) sends to (y, x), each of its terminals to the one at its
// position. On other topologies the number of terminals must be a square n*n, and terminal i*n + j
// sends to j*n + i; where n is a power of two, this swaps the halves of the number's bits.
func newTranspose(_ struct{}, env Env) (Pattern, error) {
	if grid, ok := env.Topology.(topology.Grid); ok {
		if dims := grid.Dims(); len(dims) == 2 && dims[0] == dims[1] {
			return gridMap("transpose", grid, func(at []int) { at[0], at[1] = at[1], at[0] })
		}
	}
	terminals := env.Topology.Graph().Terminals()
	n := int(math.Round(math.Sqrt(float64(terminals))))
	if n*n != terminals {
		return nil, needs("transpose", "a square grid or a square number of terminals; this topology has %d", terminals)
	}
	return tabulate(terminals, func(src int) int { return src%n*n + src/n }), nil
}

func registerBits(name, doc string, permute func(src, width int) int) {
	param.Register(Patterns, name, doc, struct{}{}, func(_ struct{}, env Env) (Pattern, error) {
		n := env.Topology.Graph().Terminals()
		if n < 2 || n&(n-1) != 0 {
			return nil, needs(name, "a power of two of terminals; this topology has %d", n)
		}
		width := bits.TrailingZeros(uint(n))
		return tabulate(n, func(src int) int { return permute(src, width) }), nil
	})
}

// UniformConfig holds the settings of pattern "uniform".
type UniformConfig struct {
	Self bool `toml:"self" doc:"terminals also send to themselves, as in BookSim2; such packets cross their switch once"`
}

// uniform sends to a terminal drawn uniformly: from the others, or with self from all.
type uniform struct {
	n    int
	self bool
}

func newUniform(config UniformConfig, env Env) (Pattern, error) {
	n := env.Topology.Graph().Terminals()
	if n == 0 || n == 1 && !config.Self {
		return nil, needs("uniform", "at least two terminals (one, with self = true); this topology has %d", n)
	}
	return &uniform{n, config.Self}, nil
}

func (u *uniform) Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID {
	if u.self {
		return topology.TerminalID(r.IntN(u.n))
	}
	dst := topology.TerminalID(r.IntN(u.n - 1))
	if dst >= src {
		dst++
	}
	return dst
}

func (u *uniform) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	weight, self := u.Even()
	for dst := range topology.TerminalID(u.n) {
		if dst != src || self {
			yield(dst, weight)
		}
	}
}

// Even is the share of each destination; self tells that a terminal is its own, too.
func (u *uniform) Even() (weight float64, self bool) {
	if u.self {
		return 1 / float64(u.n), true
	}
	return 1 / float64(u.n-1), false
}

// HotSpotConfig holds the settings of pattern "hot-spot".
type HotSpotConfig struct {
	Fraction float64 `toml:"fraction" doc:"share of the packets that go to a hot spot" min:"0" max:"1"`
	Targets  []int   `toml:"targets" doc:"terminals that are hot spots, equally hot"`
}

// hotSpot sends each packet with probability fraction to one of the targets and otherwise to a
// random other terminal (Pfister and Norton, IEEE Transactions on Computers 1985). A target that
// draws itself sends to a random other terminal instead.
type hotSpot struct {
	fraction float64
	targets  []topology.TerminalID
	rest     uniform
}

func newHotSpot(config HotSpotConfig, env Env) (Pattern, error) {
	n := env.Topology.Graph().Terminals()
	var problems []error
	if n < 2 {
		problems = append(problems, needs("hot-spot", "at least two terminals; this topology has %d", n))
	}
	if len(config.Targets) == 0 {
		problems = append(problems, &param.ParamError{Key: "targets", Value: "[]", Want: "at least one terminal"})
	}
	h := &hotSpot{config.Fraction, nil, uniform{n, false}}
	for i, t := range config.Targets {
		key := fmt.Sprintf("targets[%d]", i)
		switch id := topology.TerminalID(t); {
		case t < 0 || t >= n:
			problems = append(problems, &param.ParamError{Key: key, Value: t, Want: fmt.Sprintf("a terminal, 0 to %d", n-1)})
		case slices.Contains(h.targets, id):
			problems = append(problems, &param.ParamError{Key: key, Value: t, Want: "each terminal at most once"})
		default:
			h.targets = append(h.targets, id)
		}
	}
	return h, errors.Join(problems...)
}

func (h *hotSpot) Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID {
	if r.Float64() < h.fraction {
		if t := h.targets[r.IntN(len(h.targets))]; t != src {
			return t
		}
	}
	return h.rest.Destination(src, r)
}

func (h *hotSpot) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	share := h.fraction / float64(len(h.targets))
	uniformly := 1 - h.fraction
	for _, t := range h.targets {
		if t == src {
			uniformly += share
		} else {
			yield(t, share)
		}
	}
	h.rest.Weights(src, func(dst topology.TerminalID, weight float64) { yield(dst, uniformly*weight) })
}

// WorstCaseConfig holds the settings of pattern "worst-case".
type WorstCaseConfig struct {
	Offset int `toml:"offset" doc:"groups from a terminal's own to the one that it sends to" min:"1"`
}

// worstCase is the adversarial pattern of the dragonfly (Kim, Dally, Scott,
// Abts, ISCA 2008, section 4.2; bad_dragon in BookSim2): every terminal of group
// i sends to a random terminal of group i + offset, modulo the groups, so that
// the minimal paths of a whole group share the channels between the two.
type worstCase struct {
	groups division
	next   []int32 // by group
}

// grouped is what the pattern needs of a topology: of its groups, only which switch is in which.
type grouped interface {
	topology.Topology
	Groups() int
	GroupOf(s topology.SwitchID) int
}

func newWorstCase(config WorstCaseConfig, env Env) (Pattern, error) {
	grouped, ok := env.Topology.(grouped)
	if !ok {
		return nil, lacks("worst-case", "groups", env)
	}
	n := grouped.Groups()
	if config.Offset%n == 0 {
		return nil, &param.ParamError{Key: "offset", Value: config.Offset, Want: "a number that leads to another group than the sender's"}
	}
	w := &worstCase{groups: divide(grouped.Graph(), n, grouped.GroupOf)}
	for i, members := range w.groups.members {
		if len(members) == 0 {
			return nil, needs("worst-case", "terminals in every group; group %d has none", i)
		}
		w.next = append(w.next, int32((i+config.Offset%n)%n))
	}
	return w, nil
}

func (w *worstCase) targets(src topology.TerminalID) []topology.TerminalID {
	return w.groups.members[w.next[w.groups.class[src]]]
}

func (w *worstCase) Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID {
	targets := w.targets(src)
	return targets[r.IntN(len(targets))]
}

func (w *worstCase) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	targets := w.targets(src)
	for _, dst := range targets {
		yield(dst, 1/float64(len(targets)))
	}
}
