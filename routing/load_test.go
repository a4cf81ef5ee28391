package routing_test

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
)

// nextGroup is the worst case of the dragonfly.
type nextGroup struct{ topology.Grouped }

func (n nextGroup) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	g := n.Graph()
	perGroup := g.Terminals() / n.Groups()
	first := (n.GroupOf(g.TerminalSwitch(src)) + 1) % n.Groups() * perGroup
	for i := range perGroup {
		yield(topology.TerminalID(first+i), 1/float64(perGroup))
	}
}

func bound(t *testing.T, topo topology.Topology, r fabric.Routing, m routing.Matrix) (float64, string) {
	t.Helper()
	load, err := routing.Loads(topo.Graph(), r, r.VCs(), m)
	if err != nil {
		t.Fatal(err)
	}
	throughput, worst := load.Bound(nil)
	if worst == topology.NoPort {
		return throughput, "injection"
	}
	g := topo.Graph()
	return throughput, g.Classes[g.PortClass[worst]].Name
}

// TestDragonflyBounds: the 1056-terminal dragonfly (p = h = 4, a = 8, 33 groups).
//
// WC, MIN: the 32 terminals of a group share one global channel: 1/32.
// UR with self, MIN: a global channel carries the packets of 32 terminals to 32
// of 1056: 32*32/1056 = 0.9697. A local channel carries, from switch R to S of
// a group, direct traffic 4*4/1056, traffic of R's terminals out by S's four
// global channels 4*(4*32)/1056, and as much in: 16*(1+32+32)/1056 = 0.985.
// Injection and ejection carry 1: the bound is 1.
// WC, VAL: 31 intermediate groups; a global channel from group i to j != i+1
// carries 32/31 from i's own packets if j is an intermediate group of theirs,
// and those of group j-1 if it is one: for most pairs both, so 64/31, and a
// bound of 31/64. (The fullest local channels carry as much: 4*4/31 of their
// own switch's packets, 4*4/31 on their way in, and 32/31 on their way through.)
func TestDragonflyBounds(t *testing.T) {
	topo := dragonfly(t, 4, 8, 4, 0)
	min, val := makeRouting[routing.MinConfig](t, "min", topo, nil), makeRouting[routing.ValConfig](t, "val", topo, nil)
	next := nextGroup{topo.(topology.Grouped)}
	for _, c := range []struct {
		name   string
		r      fabric.Routing
		m      routing.Matrix
		want   float64
		class  string
		global float64 // greatest load of a global channel
	}{
		{"WC MIN", min, next, 1. / 32, "global", 32},
		{"UR MIN", min, uniformly(1056), 1, "injection", 32 * 32 / 1056.},
		{"WC VAL", val, next, 31. / 64, "", 64 / 31.},
	} {
		if testing.Short() && c.r == val {
			continue
		}
		got, class := bound(t, topo, c.r, c.m)
		if math.Abs(got-c.want) > 1e-12 || c.class != "" && class != c.class {
			t.Errorf("%s: bound %v on a %s channel, want %v, %s", c.name, got, class, c.want, c.class)
		}
		load, _ := routing.Loads(topo.Graph(), c.r, c.r.VCs(), c.m)
		global, local := greatest(topo, load, "global"), greatest(topo, load, "local")
		if math.Abs(global-c.global) > 1e-12 || c.name == "UR MIN" && math.Abs(local-16*65/1056.) > 1e-12 {
			t.Errorf("%s: greatest load %v of a global, %v of a local channel", c.name, global, local)
		}
	}
}

func greatest(topo topology.Topology, load *routing.Load, class string) float64 {
	g, most := topo.Graph(), 0.0
	for p, x := range load.Port {
		if g.Classes[g.PortClass[p]].Name == class {
			most = max(most, x)
		}
	}
	return most
}

// TestGridBounds: uniform traffic with self on k x k grids with one terminal a
// switch (Dally and Towles 2004, section 3.3.1). Mesh: the channels across the
// middle carry the packets of k/2 switches of a row to k/2 columns of all rows:
// k/4, for k = 8 load 2 and bound 0.5. Torus: half of that by symmetry of the
// two directions, k/8: load 1, bound 1.
func TestGridBounds(t *testing.T) {
	for _, c := range []struct {
		topo  topology.Topology
		most  float64
		bound float64
	}{{mesh(t, 1, 8, 8), 2, 0.5}, {torus(t, 1, 8, 8), 1, 1}} {
		r := makeRouting[routing.DORConfig](t, "dor", c.topo, nil)
		load, err := routing.Loads(c.topo.Graph(), r, r.VCs(), uniformly(64))
		if err != nil {
			t.Fatal(err)
		}
		if got := greatest(c.topo, load, "grid"); math.Abs(got-c.most) > 1e-12 {
			t.Errorf("greatest load %v, want %v", got, c.most)
		}
		if got, _ := load.Bound(nil); math.Abs(got-c.bound) > 1e-12 {
			t.Errorf("bound %v, want %v", got, c.bound)
		}
		// Channels of half the rate halve the bound of the mesh: 4 cycles' worth
		// of flits a cycle.
		if got, _ := load.Bound([]float64{1, 2}); math.Abs(got-1/(2*c.most)) > 1e-12 {
			t.Errorf("bound %v on slow grid channels, want %v", got, 1/(2*c.most))
		}
	}
}

// TestSampledWalk: a budget ends the walk before all destinations are done, and
// the certificate says so.
func TestSampledWalk(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	r := makeRouting[routing.MinConfig](t, "min", topo, nil)
	walked, all, err := routing.Dependencies(topo.Graph(), r, 2, 200, func(topology.Dependency) {})
	if err != nil || walked < 1 || walked >= all || all != 36 {
		t.Errorf("walked %d of %d: %v", walked, all, err)
	}
}

// misdirected sends everything out of port 0.
type misdirected struct{ fabric.Routing }

func (misdirected) Explore(_ int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	yield(fabric.Hop{Port: 0, VCs: 1}, h.State, 1)
}

// TestImpossibleRouting: decisions that no switch can carry out are errors, from
// both walks.
func TestImpossibleRouting(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	r := misdirected{makeRouting[routing.MinConfig](t, "min", topo, nil)}
	if _, _, err := routing.Dependencies(topo.Graph(), r, 2, 0, func(topology.Dependency) {}); err == nil {
		t.Error("dependencies of an impossible routing")
	}
	if _, err := routing.Loads(topo.Graph(), r, 2, uniformly(72)); err == nil {
		t.Error("loads of an impossible routing")
	}
}
