package proof_test

import (
	"reflect"
	"runtime"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/proof"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

func build(t *testing.T, family, name string, topo, set []param.Setting) (*topology.Graph, fabric.Routing) {
	t.Helper()
	x := simtest.Must(topology.Registry.New(family, struct{}{}, topo...))(t)
	return x.Graph(), simtest.Must(routing.Registry.New(name, routing.Env{Topology: x}, set...))(t)
}

// dragonfly has 9 groups of 4 switches with 2 terminals each.
var dragonfly = []param.Setting{param.Set("p", 2), param.Set("a", 4), param.Set("h", 2)}

// TestOf: a proof is exact with a budget that no walk to destinations fits into, and finds as many dependencies as that walk, for any number of
// threads. Of the 36 switches each has 3 local and 2 global channels that lead into it. Under minimal routing those on virtual channel 0 are local
// ones, on the way to one of 2 global channels: 36*3*2 dependencies. Global channels, on 1, are followed by one of 3 local ones: 36*2*3. A detour
// does not come back to the group that it comes from; the walk to goals does not know that, and has a dependency more for each of 36*2 global
// channels, of the one back.
func TestOf(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for name, more := range map[string]int{"min": 0, "val": 36 * 2, "ugal-l": 36 * 2} {
		g, r := build(t, "dragonfly", name, dragonfly, nil)
		whole := simtest.Must(proof.Of(routing.Routed{Graph: g, Routing: r, VCs: r.VCs()}, proof.Settings{}))(t)
		simtest.ErrorIf(t, !whole.Fits || !whole.Exact() || whole.AtMost || name == "min" && whole.Dependencies != 36*3*2+36*2*3,
			"%s without a budget: %+v", name, whole)
		var first proof.Proof
		for _, threads := range []int{1, 2, 3, 5} {
			runtime.GOMAXPROCS(threads)
			p := simtest.Must(proof.Of(routing.Routed{Graph: g, Routing: r, VCs: r.VCs()}, proof.Settings{Budget: 1000}))(t)
			if threads == 1 {
				first = p
			}
			simtest.ErrorIf(t, !reflect.DeepEqual(p, first), "%s, %d threads: %+v, want %+v", name, threads, p, first)
		}
		simtest.ErrorIf(t, first.Fits || !first.Exact() || !first.Acyclic() || !first.AtMost || first.Dependencies != whole.Dependencies+more,
			"%s within 1,000 hops: %+v, want those of %+v and %d more", name, first, whole, more)
	}
}

// TestOfCycle: where there is a cycle, the walk to destinations names it.
func TestOfCycle(t *testing.T) {
	g, r := build(t, "random-regular", "val", []param.Setting{param.Set("switches", 30), param.Set("degree", 4), param.Set("terminals", 1)},
		[]param.Setting{param.Set("hop_vcs", "any")})
	p := simtest.Must(proof.Of(routing.Routed{Graph: g, Routing: r, VCs: 1}, proof.Settings{Budget: 5000}))(t)
	simtest.ErrorIf(t, p.Acyclic() || p.Exact() || p.AtMost, "%+v, want a cycle by a sample", p)
}

// TestOfWidened: paths chosen by a hash are proven by all of which one is chosen.
func TestOfWidened(t *testing.T) {
	g, r := build(t, "random-regular", "table", []param.Setting{param.Set("switches", 40), param.Set("degree", 4), param.Set("terminals", 3)}, nil)
	p := simtest.Must(proof.Of(routing.Routed{Graph: g, Routing: r, VCs: r.VCs()}, proof.Settings{Budget: 1000}))(t)
	simtest.ErrorIf(t, !p.Acyclic() || !p.Exact() || p.Fits || p.Of != 40, "%+v, want a proof by all 40 switches", p)
}

// TestOfNumbered: adaptive routings whose hops are numbered are proven by any way that has as many
// hops, whatever the budget. From each channel into a switch, of 6 in HyperX 4x4 and 5 in the
// dragonfly, every channel out of it is reached with the next class: switches * degree^2 * (classes
// - 1) dependencies. OmniWAR has 2+2 classes and DAL 4; polarized routing takes 8, as it is told;
// detours of ugal-pf in a network of diameter 2 have 4 hops; q-adaptive always 5.
func TestOfNumbered(t *testing.T) {
	hyperX := []param.Setting{param.Set("dims", []int{4, 4})}
	for _, c := range []struct {
		family, routing           string
		topology, set             []param.Setting
		switches, degree, classes int
	}{
		{"hyperx", "omniwar", hyperX, nil, 16, 6, 4},
		{"hyperx", "dal", hyperX, nil, 16, 6, 4},
		{"hyperx", "polarized", hyperX, []param.Setting{param.Set("hops", 8)}, 16, 6, 8},
		{"hyperx", "ugal-pf", hyperX, nil, 16, 6, 4},
		{"dragonfly", "q-adaptive", dragonfly, nil, 36, 5, 5},
	} {
		g, r := build(t, c.family, c.routing, c.topology, c.set)
		p := simtest.Must(proof.Of(routing.Routed{Graph: g, Routing: r, VCs: r.VCs()}, proof.Settings{Budget: 500}))(t)
		want := c.switches * c.degree * c.degree * (c.classes - 1)
		simtest.ErrorIf(t, !p.Acyclic() || !p.Exact() || !p.AtMost || p.Fits || p.Dependencies != want,
			"%s on %s: %+v, want an exact proof with %d dependencies", c.routing, c.family, p, want)
	}
}

// TestOfDense: where the dependencies of all goals would take more than 512 MiB, the proof is by a sample. In a complete graph of 300 switches with
// 16 virtual channels a set of channels out of a switch has 300*16 bits in 75 words, and 299*300*16 channels have one: 861 MB.
func TestOfDense(t *testing.T) {
	g, r := build(t, "hyperx", "dimwar", []param.Setting{param.Set("dims", []int{300})}, nil)
	p := simtest.Must(proof.Of(routing.Routed{Graph: g, Routing: r, VCs: 16}, proof.Settings{Budget: 1000}))(t)
	simtest.ErrorIf(t, !p.Acyclic() || p.Exact() || p.AtMost || p.Of != 300, "%+v, want a sample without a cycle", p.Certificate)
}
