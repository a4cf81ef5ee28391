// Package topologytest is the conformance suite of topologies, and a source of
// small networks of every registered family for the suites of what runs on them.
// It is for weft's own topologies and for those that others register:
//
//	func TestHyperX(t *testing.T) { topologytest.Conform(t, "hyperx") }
package topologytest

import (
	"errors"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/metrics"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// Sample is one set of settings of a registered topology.
type Sample struct {
	Name   string
	Config any // what the registry's Config returns, changed at will
	// TightBisection: the documented bisection is the true minimum with these settings, not an
	// upper bound. At most 20 switches can be checked.
	TightBisection bool
}

// draws is the number of random settings with which Conform builds a topology.
const draws = 8

// Conform holds the registered topology name to the contract of Graph, Facts and the capabilities,
// with its defaults and with settings drawn at random. One that reads a file is only held to a
// *param.ParamError where none is named; give such samples to [Check].
func Conform(t *testing.T, name string) {
	config, err := topology.Registry.Config(name)
	simtest.Check(t, err)
	if readsFile(config) {
		_, err := topology.Registry.Build(name, config, struct{}{})
		simtest.ErrorIf(t, !errors.As(err, new(*param.ParamError)), "%s without a path: %v, want a *param.ParamError", name, err)
		return
	}
	t.Run("defaults", func(t *testing.T) { Check(t, name, Sample{Config: config}) })
	stream := sim.NewStream(1, "topologytest "+name, 0)
	for range draws {
		if config, _, ok := draw(name, &stream, Small); ok {
			t.Run(describe(config), func(t *testing.T) { Check(t, name, Sample{Config: config}) })
		}
	}
}

// Check holds topology name, built with the settings of a sample, to the contract.
func Check(t testing.TB, name string, s Sample) {
	t.Helper()
	build := func() topology.Topology {
		topo, err := topology.Registry.Build(name, s.Config, struct{}{})
		simtest.Check(t, err)
		return topo
	}
	topo := build()
	g := topo.Graph()
	simtest.ErrorIf(t, g != topo.Graph(), "Graph differs from call to call")
	simtest.ErrorIf(t, !reflect.DeepEqual(g, build().Graph()), "two builds with one configuration differ")
	CheckGraph(t, g)
	checkFacts(t, topo, s.TightBisection)
	if x, ok := topo.(topology.Formed); ok {
		checkForms(t, x)
	}
	if x, ok := topo.(topology.Grouped); ok {
		checkGrouped(t, x)
	}
	if x, ok := topo.(topology.Grid); ok {
		checkGrid(t, x)
	}
	if x, ok := topo.(topology.Hamming); ok {
		checkHamming(t, x)
	}
	if x, ok := topo.(topology.Ranked); ok {
		checkRanked(t, x)
	}
	if x, ok := topo.(topology.Tree); ok {
		checkTree(t, x)
	}
	CheckLayout(t, topo, 0.9)
}

// CheckGraph holds a graph to its documented invariants.
func CheckGraph(t testing.TB, g *topology.Graph) {
	t.Helper()
	ports := g.NumPorts()
	if g.PortStart[0] != 0 || int(g.PortStart[g.Switches()]) != ports || len(g.PortClass) != ports || len(g.PortSwitch) != ports {
		t.Fatalf("lengths disagree: %d ports, PortStart to %d, %d classes, %d switches",
			ports, g.PortStart[g.Switches()], len(g.PortClass), len(g.PortSwitch))
	}
	terminals := 0
	for s := range topology.SwitchID(g.Switches()) {
		first, end := g.Ports(s)
		for p := first; p < end; p++ {
			if g.PortSwitch[p] != s || g.LocalPort(p) != int(p-first) {
				t.Fatalf("port %d of switch %d says switch %d, local %d", p, s, g.PortSwitch[p], g.LocalPort(p))
			}
			simtest.FatalIf(t, int(g.PortClass[p]) >= len(g.Classes),
				"port %d has class %d of %d", p, g.PortClass[p], len(g.Classes))
			if terminal, ok := g.PeerTerminal(p); ok {
				terminals++
				simtest.FatalIf(t, g.TerminalPort[terminal] != p || g.TerminalSwitch(terminal) != s,
					"port %d leads to terminal %d, which hangs from port %d", p, terminal, g.TerminalPort[terminal])
				continue
			}
			peer, _ := g.PeerPort(p)
			if back, ok := g.PeerPort(peer); !ok || back != p || g.PortClass[p] != g.PortClass[peer] || g.PortSwitch[peer] == s {
				t.Fatalf("cable of port %d to port %d is not paired, changes its class or is a loop", p, peer)
			}
		}
	}
	simtest.FatalIf(t, terminals != g.Terminals(), "%d ports lead to %d terminals", terminals, g.Terminals())
	for _, c := range g.Classes {
		simtest.ErrorIf(t, c.Name == "" || c.Latency < 1, "class %+v", c)
	}
	simtest.ErrorIf(t, g.Switches() > 0 && slices.Contains(g.DistancesFrom(0, nil), topology.Unreachable), "not connected")
}

// checkFacts compares the closed forms with the graph: the diameter by breadth-first search, the
// bisection by trying all halvings where the network is small.
func checkFacts(t testing.TB, topo topology.Topology, tightBisection bool) {
	t.Helper()
	g, f := topo.Graph(), topo.Facts()
	for _, c := range []struct {
		what      string
		fact, got int
	}{{"switches", f.Switches, g.Switches()}, {"terminals", f.Terminals, g.Terminals()}, {"links", f.Links, g.SwitchLinks()}} {
		simtest.ErrorIf(t, c.fact >= 0 && c.fact != c.got, "Facts say %d %s, the graph has %d", c.fact, c.what, c.got)
	}
	d := metrics.Measure(g).Diameter()
	simtest.ErrorIf(t, f.Diameter >= 0 && f.Diameter != d, "Facts say diameter %d, search says %d", f.Diameter, d)
	simtest.FatalIf(t, tightBisection && g.Switches() > 20, "too large for a check of the bisection")
	if f.Bisection >= 0 && g.Switches() <= 16 || tightBisection {
		b := bisection(g)
		simtest.ErrorIf(t, f.Bisection < b || tightBisection && f.Bisection != b,
			"Facts say bisection %d (tight: %v), trying all halvings says %d", f.Bisection, tightBisection, b)
	}
}

// checkForms compares the closed forms beyond the facts with what is measured.
func checkForms(t testing.TB, topo topology.Formed) {
	t.Helper()
	g, f := topo.Graph(), topo.Forms()
	m := metrics.Measure(g)
	simtest.ErrorIf(t, f.Degree != [2]int{} && f.Degree != m.Degree, "Forms say degrees %v, the graph has %v", f.Degree, m.Degree)
	simtest.ErrorIf(t, f.MeanDistance != 0 && math.Abs(f.MeanDistance-m.MeanDistance) > 1e-9,
		"Forms say a mean distance of %v, search says %v", f.MeanDistance, m.MeanDistance)
	simtest.ErrorIf(t, f.UniformCapacity > m.UniformCapacity*(1+1e-9),
		"Forms say a capacity of %v, all channels together have %v", f.UniformCapacity, m.UniformCapacity)
	if f.BisectionAtLeast != 0 {
		least := metrics.AlgebraicConnectivity(g) * metrics.Halving(m.Switches)
		simtest.ErrorIf(t, f.BisectionAtLeast > least*(1+1e-6),
			"Forms say a bisection of at least %v, the spectrum says %v", f.BisectionAtLeast, least)
		if g.Switches() <= 16 {
			b := bisection(g)
			simtest.ErrorIf(t, f.BisectionAtLeast > float64(b)+1e-9,
				"Forms say a bisection of at least %v, trying all halvings says %d", f.BisectionAtLeast, b)
		}
	}
}

// bisection is the smallest cut over all divisions of the switches (at most
// 20) in which the terminals are divided as evenly as whole switches allow.
func bisection(g *topology.Graph) int {
	n := g.Switches()
	weight := g.TerminalCounts()
	count := make([][]int, n) // cables between two switches
	for s := range count {
		count[s] = make([]int, n)
	}
	for p := range topology.PortID(g.NumPorts()) {
		if peer, ok := g.PeerPort(p); ok {
			count[g.PortSwitch[p]][g.PortSwitch[peer]]++
		}
	}
	// Gray code: one switch changes sides at a time.
	side, difference, cut := make([]int, n), g.Terminals(), 0
	bestDifference, best := g.Terminals(), 0
	for i := 1; i < 1<<(n-1); i++ {
		s := bits.TrailingZeros(uint(i))
		for u, k := range count[s] {
			if side[u] == side[s] {
				cut += k
			} else {
				cut -= k
			}
		}
		side[s] = 1 - side[s]
		difference += 2 * weight[s] * (1 - 2*side[s])
		if d := max(difference, -difference); d < bestDifference || d == bestDifference && cut < best {
			bestDifference, best = d, cut
		}
	}
	return best
}

// CheckLayout holds a layout to what pictures need: a place for every switch, none nearer than
// apart, neighbours about 1 apart, planes and explanation, the same each time.
func CheckLayout(t testing.TB, topo topology.Topology, apart float64) *topology.Layout {
	t.Helper()
	n := topo.Graph().Switches()
	l := topology.LayoutOf(topo)
	if len(l.Places) != n || l.Plane != nil && len(l.Plane) != n || l.How == "" {
		t.Fatalf("layout of %d switches: %d places, %d planes, %q", n, len(l.Places), len(l.Plane), l.How)
	}
	simtest.ErrorIf(t, !reflect.DeepEqual(l, topology.LayoutOf(topo)), "two layouts of one topology differ")
	// Squares of side apart: near switches are in the same one or in neighbours.
	squares := map[[2]int][]int{}
	for s, at := range l.Places {
		simtest.FatalIf(t, math.IsNaN(at.X+at.Y) || math.IsInf(at.X+at.Y, 0), "layout: switch %d at %v", s, at)
		x, y := int(math.Floor(at.X/apart)), int(math.Floor(at.Y/apart))
		for dx := -1; dx <= 1; dx++ {
			for dy := -1; dy <= 1; dy++ {
				for _, other := range squares[[2]int{x + dx, y + dy}] {
					if d := math.Hypot(at.X-l.Places[other].X, at.Y-l.Places[other].Y); d < apart {
						t.Errorf("%s: switches %d and %d are %.2f apart", l.How, other, s, d)
						return l
					}
				}
			}
		}
		squares[[2]int{x, y}] = append(squares[[2]int{x, y}], s)
	}
	return l
}
