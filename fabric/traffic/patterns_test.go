package traffic

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

func build[C any](t testing.TB, name string, set func(*C)) topology.Topology {
	t.Helper()
	topo := simtest.Must(param.Make(topology.Registry, name, struct{}{}, set))(t)
	return topo
}

func grid(t testing.TB, name string, terminals int, dims ...int) topology.Topology {
	t.Helper()
	return build(t, name, func(c *topology.GridConfig) { c.Dims, c.Terminals = dims, terminals })
}

func dragonfly(t testing.TB, p, a, h int) topology.Topology {
	t.Helper()
	return build(t, "dragonfly", func(c *topology.DragonflyConfig) { c.P, c.A, c.H = p, a, h })
}

func single(t testing.TB, terminals int) topology.Topology {
	t.Helper()
	return build(t, "single-switch", func(c *topology.SingleSwitchConfig) { c.Terminals = terminals })
}

func pattern[C any](t testing.TB, name string, topo topology.Topology, set func(*C)) Pattern {
	t.Helper()
	p := simtest.Must(param.Make(Patterns, name, Env{Topology: topo, Seed: 5}, set))(t)
	return p
}

// fixedOf is a fixed pattern's table.
func fixedOf(t testing.TB, name string, topo topology.Topology) []topology.TerminalID {
	t.Helper()
	return pattern[struct{}](t, name, topo, nil).(fixed)
}

// TestPatternConformance: of every pattern, on every topology that carries it, the shares of each source add up to 1, and
// draws agree with them. Agreement: 20,000 draws of 3 sources each; chi-square against the shares with classes of at least
// 5 expected draws, at a false-alarm probability of 10^-9 a case (some 150 cases). A destination of share 0 fails at once.
func TestPatternConformance(t *testing.T) {
	const draws = 20000
	topologies := map[string]topology.Topology{
		"dragonfly": dragonfly(t, 2, 4, 2), "torus": grid(t, "torus", 1, 4, 4), "mesh": grid(t, "mesh", 4, 4, 4),
		"ring": grid(t, "torus", 1, 7), "switch": single(t, 16), "pair": single(t, 2), "leaves of 3 and 2": build(t, "trimmed-tree",
			func(c *topology.TrimmedTreeConfig) { c.Groups, c.GroupTerminals, c.LeafTerminals = 1, 5, 3 }),
	}
	for _, name := range Patterns.Names() {
		carried := 0
		for on, topo := range topologies {
			config, _ := Patterns.Config(name)
			if c, ok := config.(*FileConfig); ok {
				c.Path = filepath.Join("testdata", "pair")
			}
			p, err := Patterns.Build(name, config, Env{Topology: topo})
			if err != nil {
				continue
			}
			carried++
			n := topo.Graph().Terminals()
			for _, src := range []topology.TerminalID{0, topology.TerminalID(n / 2), topology.TerminalID(n - 1)} {
				share, total := make([]float64, n), 0.0
				p.(Matrix).Weights(src, func(dst topology.TerminalID, weight float64) {
					share[dst] += weight
					total += weight
				})
				simtest.ErrorIf(t, math.Abs(total-1) > 1e-12, "%s on %s: shares of %d add up to %v", name, on, src, total)
				stream := sim.NewStream(9, "test", int(src))
				count := make([]float64, n)
				for range draws {
					count[p.Destination(src, &stream)]++
				}
				simtest.Equal(t, chiSquare(count, share, draws, 1e-9), "", "%s on %s from %d:", name, on, src)
			}
		}
		simtest.ErrorIf(t, carried == 0, "no topology of the suite carries pattern %q", name)
	}
}

// chiSquare compares counts with shares; "" if they agree.
func chiSquare(count, share []float64, draws, alarm float64) string {
	statistic, classes := 0.0, 0
	for i, s := range share {
		expected := s * draws
		switch {
		case s == 0 && count[i] != 0:
			return "a destination of share 0 was drawn"
		case s > 0 && expected < 5:
			return "too few draws for the test"
		case s > 0:
			statistic += (count[i] - expected) * (count[i] - expected) / expected
			classes++
		}
	}
	if classes == 1 {
		if statistic != 0 {
			return "not always the only destination"
		}
		return ""
	}
	if limit := (distuv.ChiSquared{K: float64(classes - 1)}).Quantile(1 - alarm); statistic > limit {
		return "chi-square beyond its limit"
	}
	return ""
}

// TestPermutations: these patterns reach every terminal from exactly one.
func TestPermutations(t *testing.T) {
	for _, name := range []string{"tornado", "transpose", "bit-complement", "bit-reverse", "shuffle", "neighbour", "permutation"} {
		config, _ := Patterns.Config(name)
		p := simtest.Must(Patterns.Build(name, config, Env{Topology: grid(t, "torus", 4, 8, 8)}))(t)
		reached := map[topology.TerminalID]bool{}
		for _, dst := range p.(fixed) {
			reached[dst] = true
		}
		simtest.ErrorIf(t, len(p.(fixed)) != 256 || len(reached) != 256, "%s reaches %d of 256 terminals", name, len(reached))
	}
}

// TestByHand: single destinations, worked out from the definitions.
func TestByHand(t *testing.T) {
	torus, mesh := grid(t, "torus", 1, 8, 8), grid(t, "mesh", 2, 4, 4)
	for _, c := range []struct {
		name     string
		topo     topology.Topology
		src, dst topology.TerminalID
	}{
		{"bit-complement", torus, 0b000101, 0b111010},
		{"bit-reverse", torus, 0b000101, 0b101000},
		{"shuffle", torus, 0b100101, 0b001011},
		{"transpose", torus, 8*3 + 5, 8*5 + 3},            // (5,3) to (3,5)
		{"transpose", mesh, 2*(4*3+1) + 1, 2*(4*1+3) + 1}, // (1,3) to (3,1), second terminal
		{"transpose", single(t, 9), 5, 7},                 // row 1, column 2 to row 2, column 1
		{"neighbour", torus, 8*7 + 2, 3},                  // (2,7) to (3,0)
		{"neighbour", mesh, 2*(4*3+3) + 1, 1},             // (3,3) to (0,0)
		{"neighbour", single(t, 5), 4, 0},
		{"tornado", torus, 8*6 + 1, 8*1 + 4},                 // 8/2 - 1 = 3 on: (1,6) to (4,1)
		{"tornado", grid(t, "torus", 1, 7), 5, 1},            // ceil(7/2) - 1 = 3 on
		{"tornado", dragonfly(t, 2, 4, 2), 8*7 + 3, 8*2 + 3}, // 9/2 = 4 groups on: 7 to 2
	} {
		simtest.Equal(t, fixedOf(t, c.name, c.topo)[c.src], c.dst, "%s: %d sends to", c.name, c.src)
	}
}

// TestUniformSelf: without self, no terminal draws itself; with it, all are equally likely.
func TestUniformSelf(t *testing.T) {
	topo := single(t, 4)
	for _, self := range []bool{false, true} {
		p := pattern(t, "uniform", topo, func(c *UniformConfig) { c.Self = self })
		stream := sim.NewStream(2, "test", 0)
		count, share := make([]float64, 4), make([]float64, 4)
		for range 30000 {
			count[p.Destination(1, &stream)]++
		}
		p.(Matrix).Weights(1, func(dst topology.TerminalID, weight float64) { share[dst] += weight })
		simtest.Equal(t, chiSquare(count, share, 30000, 1e-9), "", "self = %v:", self)
		simtest.ErrorIf(t, self != (share[1] > 0) || self && share[1] != 0.25, "self = %v: share of itself %v", self, share[1])
	}
}

// TestWorstCaseOffset: group i sends to group i+offset, modulo 9.
func TestWorstCaseOffset(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2) // 8 terminals a group
	for _, offset := range []int{1, 4, 10, math.MaxInt} {
		p := pattern(t, "worst-case", topo, func(c *WorstCaseConfig) { c.Offset = offset })
		for src := range topology.TerminalID(72) {
			n := 0
			p.(Matrix).Weights(src, func(dst topology.TerminalID, weight float64) {
				n++
				simtest.ErrorIf(t, int(dst/8) != (int(src/8)+offset%9)%9, "offset %d: %d sends to %d", offset, src, dst)
			})
			simtest.ErrorIf(t, n != 8, "offset %d: %d has %d destinations, want 8", offset, src, n)
		}
	}
}

// TestPermutationSeeds: the permutation depends on the seed alone, and has fixed points only if allowed. Of 300 random
// permutations of 4 terminals, 9 in 24 have none: the probability that all or none have is far below 10^-60.
func TestPermutationSeeds(t *testing.T) {
	topo := single(t, 4)
	first := pattern[PermutationConfig](t, "permutation", topo, nil).(fixed)
	simtest.ErrorIf(t, !slices.Equal(first, pattern[PermutationConfig](t, "permutation", topo, nil).(fixed)), "equal seeds, different permutations")
	for _, self := range []bool{false, true} {
		fixedPoints := 0
		for seed := range uint64(300) {
			p := simtest.Must(param.Make(Patterns, "permutation", Env{Topology: topo, Seed: seed}, func(c *PermutationConfig) { c.Self = self }))(t)
			if p.(fixed).hasFixedPoint() {
				fixedPoints++
			}
		}
		simtest.ErrorIf(t, self && (fixedPoints == 0 || fixedPoints == 300) || !self && fixedPoints != 0,
			"self = %v: %d of 300 have fixed points", self, fixedPoints)
	}
}

// TestHotSpotShares: fraction 0.3 to terminals 1 and 4 of 6, the rest uniform over the 5 others. From 0: 0.15 + 0.7/5 to
// each target, 0.7/5 to the others. From 1: its own 0.15 joins the rest, 0.85/5 each, and 0.15 + 0.17 to 4.
func TestHotSpotShares(t *testing.T) {
	p := pattern(t, "hot-spot", single(t, 6), func(c *HotSpotConfig) { c.Fraction, c.Targets = 0.3, []int{1, 4} })
	for src, want := range map[topology.TerminalID][]float64{
		0: {0, 0.29, 0.14, 0.14, 0.29, 0.14},
		1: {0.17, 0, 0.17, 0.17, 0.32, 0.17},
	} {
		share := make([]float64, 6)
		p.(Matrix).Weights(src, func(dst topology.TerminalID, weight float64) { share[dst] += weight })
		for dst := range share {
			simtest.ErrorIf(t, math.Abs(share[dst]-want[dst]) > 1e-12, "shares of %d: %v, want %v", src, share, want)
		}
	}
}

// TestPatternErrors: what a pattern needs and has not got.
func TestPatternErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		topo topology.Topology
		set  func(config any)
		want string
	}{
		{"uniform", single(t, 1), nil, "at least two terminals"},
		{"permutation", single(t, 1), nil, "at least two terminals"},
		{"worst-case", single(t, 4), nil, `pattern "worst-case" needs a topology with groups; single-switch has none`},
		{"worst-case", dragonfly(t, 2, 4, 2), func(c any) { c.(*WorstCaseConfig).Offset = 9 }, "offset = 9: want a number that leads to another group"},
		{"worst-case", dragonfly(t, 2, 4, 2), func(c any) { c.(*WorstCaseConfig).Offset = 0 }, "offset = 0: want at least 1"},
		{"tornado", single(t, 4), nil, "coordinates or groups; single-switch has none"},
		{"tornado", grid(t, "mesh", 1, 2, 2), nil, "a dimension of at least 3 switches"},
		{"transpose", single(t, 8), nil, "a square grid or a square number of terminals; this topology has 8"},
		{"bit-complement", single(t, 12), nil, "a power of two of terminals; this topology has 12"},
		{"bit-reverse", single(t, 1), nil, "a power of two"},
		{"shuffle", single(t, 12), nil, "a power of two"},
		{"hot-spot", single(t, 4), func(c any) { c.(*HotSpotConfig).Targets = nil }, "targets = []: want at least one"},
		{"hot-spot", single(t, 4), func(c any) { c.(*HotSpotConfig).Targets = []int{4, 1, 1, -1} }, "targets[0] = 4: want a terminal, 0 to 3\ntargets[2] = 1: want each terminal at most once\ntargets[3] = -1"},
		{"hot-spot", single(t, 4), func(c any) { c.(*HotSpotConfig).Fraction = 1.5 }, "fraction = 1.5: want 0 to 1"},
	} {
		config, _ := Patterns.Config(c.name)
		if c.set != nil {
			c.set(config)
		}
		simtest.Refuse(Patterns.Build(c.name, config, Env{Topology: c.topo, TopologyName: "single-switch"}))(t, c.want)
	}
}

// TestDestinationAllocatesNothing holds every pattern to its contract.
func TestDestinationAllocatesNothing(t *testing.T) {
	topo := grid(t, "torus", 1, 4, 4)
	for _, name := range Patterns.Names() {
		config, _ := Patterns.Config(name)
		p, err := Patterns.Build(name, config, Env{Topology: topo})
		if err != nil {
			continue
		}
		stream := sim.NewStream(1, "test", 0)
		simtest.Equal(t, testing.AllocsPerRun(100, func() { p.Destination(3, &stream) }), 0, "%s: allocations a packet", name)
	}
}

// Every terminal sends to the terminal of its own index on another switch, all of a switch to one.
func TestSwitchPermutation(t *testing.T) {
	topo := grid(t, "mesh", 3, 4, 4)
	g := topo.Graph()
	reached := map[topology.TerminalID]bool{}
	to := pattern[SwitchPermutationConfig](t, "switch-permutation", topo, nil).(fixed)
	for src, dst := range to {
		s, d := g.TerminalSwitch(topology.TerminalID(src)), g.TerminalSwitch(dst)
		simtest.ErrorIf(t, s == d || src%3 != int(dst)%3 || d != g.TerminalSwitch(to[src/3*3]),
			"terminal %d of switch %d sends to %d of switch %d", src, s, dst, d)
		reached[dst] = true
	}
	simtest.ErrorIf(t, len(reached) != 48, "%d terminals are reached", len(reached))
	config, _ := Patterns.Config("switch-permutation")
	simtest.Refuse(Patterns.Build("switch-permutation", config, Env{Topology: single(t, 4)}))(t, "two switches with terminals")
}

// TestLocalShares: an xgft of two pods with two leaves of three terminals each, a third of the
// packets in the leaf, half in the pod. Of terminal 4's packets a third is divided among 2 others
// of its leaf, a half among 5 of its pod, a sixth among all 11:
//
//	same leaf     1/6 + 1/10 + 1/66
//	same pod      1/10 + 1/66
//	other pod     1/66
func TestLocalShares(t *testing.T) {
	topo := build(t, "xgft", func(c *topology.XGFTConfig) { c.M, c.W = []int{3, 2, 2}, []int{1, 2, 2} })
	p := pattern(t, "local", topo, func(c *LocalConfig) { c.Switch, c.Group = 1./3, 1./2 })
	share := make([]float64, 12)
	p.(Matrix).Weights(4, func(dst topology.TerminalID, weight float64) { share[dst] += weight })
	for dst, got := range share {
		want := 1. / 66
		switch {
		case dst == 4:
			want = 0
		case dst/3 == 1:
			want += 1./6 + 1./10
		case dst < 6:
			want += 1. / 10
		}
		simtest.ErrorIf(t, math.Abs(got-want) > 1e-12, "share of %d: %v, want %v", dst, got, want)
	}
}

// TestLocalGroups: groups of a dragonfly and of a megafly, 8 terminals each; half the groups on are 4 of 9, and 2 of 5.
func TestLocalGroups(t *testing.T) {
	for _, topo := range []topology.Topology{dragonfly(t, 2, 4, 2), build(t, "megafly", func(c *topology.MegaflyConfig) { c.P, c.H = 4, 2 })} {
		p := pattern(t, "local", topo, func(c *LocalConfig) { c.Switch, c.Group = 0, 1 })
		p.(Matrix).Weights(9, func(dst topology.TerminalID, weight float64) {
			simtest.ErrorIf(t, dst/8 != 1 || math.Abs(weight-1./7) > 1e-12, "share of %d: %v", dst, weight)
		})
		n := topo.Graph().Terminals()
		simtest.Equal(t, int(fixedOf(t, "tornado", topo)[9]), 9+n/8/2*8, "tornado on %d terminals:", n)
	}
}

func TestLocalErrors(t *testing.T) {
	for _, c := range []struct {
		topo          topology.Topology
		atSwitch, grp float64
		want          string
	}{
		{grid(t, "torus", 2, 4, 4), 0.3, 0.2, `pattern "local" needs a topology with groups or pods; this topology has none`},
		{grid(t, "torus", 1, 4, 4), 0.3, 0, "two terminals or more at every switch"},
		{dragonfly(t, 2, 4, 2), 0.7, 0.4, "group = 0.4: want at most what switch leaves of 1"},
	} {
		config, _ := Patterns.Config("local")
		config.(*LocalConfig).Switch, config.(*LocalConfig).Group = c.atSwitch, c.grp
		simtest.Refuse(Patterns.Build("local", config, Env{Topology: c.topo}))(t, c.want)
	}
}

func TestFile(t *testing.T) {
	dir, files := t.TempDir(), 0
	write := func(text string) string {
		files++
		path := filepath.Join(dir, fmt.Sprint(files))
		simtest.Check(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	path := write("# pairs\n1\n0\r\n\n3\n2\n")
	got := pattern(t, "file", single(t, 4), func(c *FileConfig) { c.Path = path }).(fixed)
	simtest.ErrorIf(t, !slices.Equal(got, []topology.TerminalID{1, 0, 3, 2}), "%v", got)
	for _, text := range []string{"1\n-\n-\n0\n", "3 ,0\nterminal 0,terminal 1\n", "\"terminal 3\", \"0\"\r\n\"terminal 0\",1\n"} {
		got := pattern(t, "file", single(t, 4), func(c *FileConfig) { c.Path = write(text) }).(sparse)
		simtest.ErrorIf(t, !slices.Equal(got.fixed, []topology.TerminalID{1, silent, silent, 0}) || got.Silent(0) || !got.Silent(1), "%q: %v", text, got)
		for src, dst := range got.fixed {
			weights := 0
			got.Weights(topology.TerminalID(src), func(to topology.TerminalID, w float64) {
				weights++
				simtest.ErrorIf(t, to != dst || w != 1, "%d: %v of %d", src, w, to)
			})
			simtest.ErrorIf(t, (dst == silent) == (weights == 1), "%d has %d weights", src, weights)
		}
	}
	for _, c := range []struct {
		path string
		n    int
		want string
	}{
		{write("-\n-\n"), 2, "no terminal sends"}, {write("0,1\n1"), 2, `:2: "1", want all lines to be of one form`}, {write("1\n0,1"), 2, "of one form"},
		{write("0,1\nterminal 0,0"), 2, ":2: terminal 0 sends already, in line 1"}, {write("0,terminal 2"), 2, `"terminal 2", want a terminal, 0 to 1, or a name such as "terminal 0"`},
		{"", 4, "the path of a file"}, {"nowhere", 4, "a readable file"}, {path, 5, "4 destinations, want 5"}, {path, 3, `:5: "3", want a terminal, 0 to 2`},
	} {
		simtest.Refuse(param.Make(Patterns, "file", Env{Topology: single(t, c.n)}, func(f *FileConfig) { f.Path = c.path }))(t, c.want)
	}
}

func FuzzReadDestinations(f *testing.F) {
	for _, text := range []string{"# x\n1\n0\n", "-1\n7\nx\n\xff\xfe", "-\n0", "0,1", "terminal 1,0\n1,-"} {
		f.Add([]byte(text))
	}
	two := single(f, 2).Graph()
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := readDestinations("f", data, two)
		if err != nil {
			return
		}
		to, all := p.(fixed)
		if !all {
			to = p.(sparse).fixed
		}
		simtest.ErrorIf(t, len(to) != 2 || slices.Contains(to, silent) == all || slices.Max(to) < 0 || slices.Max(to) > 1, "%q: %v", data, p)
	})
}

// TestHotSpotItself: terminal 0 of 8, a hot spot with terminal 1, sends half of 14,000 packets to it,
// and of the half that it drew for itself a seventh: 8,000, and none to itself. Four standard
// deviations are 4 * sqrt(14,000 * 8/14 * 6/14) = 234.
func TestHotSpotItself(t *testing.T) {
	p := pattern(t, "hot-spot", single(t, 8), func(c *HotSpotConfig) { c.Fraction, c.Targets = 1, []int{0, 1} })
	r := sim.NewStream(1, "hot spots", 0)
	var to [8]int
	for range 14_000 {
		to[p.Destination(0, &r)]++
	}
	simtest.ErrorIf(t, to[0] != 0 || to[1] < 8000-234 || to[1] > 8000+234, "sends %v, want none to itself and 8,000 to terminal 1", to)
}
