package families

import (
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

// The counts of NVIDIA's DGX SuperPOD B200 reference architecture, table of larger counts: nodes,
// adapters, leaves, spines, cores, and cables node-leaf, leaf-spine, spine-core.
func TestRailOptimisedSuperPOD(t *testing.T) {
	for _, c := range []struct {
		config RailConfig
		want   [8]int
	}{
		{RailConfig{8, 32, 2, 32, 8, 0, 0, 1}, [8]int{64, 512, 16, 8, 0, 512, 512, 0}},
		{RailConfig{8, 32, 4, 32, 16, 0, 0, 1}, [8]int{128, 1024, 32, 16, 0, 1024, 1024, 0}},
		{RailConfig{8, 32, 16, 32, 16, 64, 32, 1}, [8]int{512, 4096, 128, 128, 64, 4096, 4096, 4096}},
		// By the same rules, 64 units, twice the ports that a spine has for leaves: leaves
		// 64*8, as many spines, of 32 ports up each, on cores of 64 ports: 256. Each level
		// has a cable for each of the 64*32*8 adapters.
		{RailConfig{8, 32, 64, 32, 32, 256, 32, 2}, [8]int{2048, 16384, 512, 512, 256, 16384, 16384, 16384}},
	} {
		x := topologytest.Build(t, "rail-optimised", func(d *RailConfig) { *d = c.config }).(*RailOptimised)
		g := x.Graph()
		got := [8]int{x.NodeOf(topology.TerminalID(g.Terminals()-1)) + 1, g.Terminals()}
		for s := range topology.SwitchID(g.Switches()) {
			got[2+x.LevelOf(s)]++
			ports := g.Degree(s)
			simtest.ErrorIf(t, ports > 64, "switch %d has %d ports", s, ports)
		}
		for p := range topology.PortID(g.NumPorts()) {
			if peer, ok := g.PeerPort(p); !ok || p < peer {
				got[5+g.PortClass[p]]++
			}
		}
		simtest.ErrorIf(t, got != c.want, "%+v: %v, want %v", c.config, got, c.want)
	}
}

// Cables on a path between terminals: without cores none on the same rail of a unit, two
// otherwise; with 2 rails of 4 units in 2 groups and cores none on a rail of a unit, two on a
// rail of a group, four otherwise.
func TestRailOptimisedPaths(t *testing.T) {
	for _, c := range []RailConfig{{2, 3, 2, 2, 2, 0, 0, 1}, {2, 2, 4, 2, 2, 4, 4, 2}} {
		x := topologytest.Build(t, "rail-optimised", func(d *RailConfig) { *d = c }).(*RailOptimised)
		g := x.Graph()
		for a := range topology.TerminalID(g.Terminals()) {
			d := g.DistancesFrom(g.TerminalSwitch(a), nil)
			for b := range topology.TerminalID(g.Terminals()) {
				unitA, unitB, want := x.NodeOf(a)/c.Nodes, x.NodeOf(b)/c.Nodes, 2
				switch {
				case x.RailOf(a) == x.RailOf(b) && unitA == unitB:
					want = 0
				case c.Cores > 0 && (x.RailOf(a) != x.RailOf(b) || unitA/2 != unitB/2):
					want = 4
				}
				got := int(d[g.TerminalSwitch(b)])
				simtest.FatalIf(t, got != want, "%+v: terminals %d and %d: %d cables, want %d", c, a, b, got, want)
			}
		}
	}
}

// planeOf is the plane of a switch, or -1 of a node.
func planeOf(x *MultiPlane, s topology.SwitchID) int {
	level := x.LevelOf(s)
	if level == 0 {
		return -1
	}
	// The roots of a subtree count with their choice on the nodes' level first.
	roots := 1
	for _, w := range x.XGFT.W[:level+1] {
		roots *= w
	}
	first := s
	for x.LevelOf(first-1) == level {
		first--
	}
	return int(s-first) % roots / (roots / x.Planes)
}

// Planes share no switch: a cable between switches above the nodes keeps its plane, a node
// has one cable to each, and each plane has as many switches and cables as its fat tree.
func TestMultiPlane(t *testing.T) {
	c := PlanesConfig{3, 0, []int{2, 3, 2}, []int{1, 2, 2}, []int{1, 2, 1}}
	x := topologytest.Build(t, "multi-plane", func(d *PlanesConfig) { *d = c }).(*MultiPlane)
	plane := topologytest.Build(t, "xgft", func(d *topology.XGFTConfig) { *d = topology.XGFTConfig{M: c.M, W: c.W, Parallel: c.Parallel} })
	g := x.Graph()
	switches, links := make([]int, c.Planes), make([]int, c.Planes)
	for s := range topology.SwitchID(g.Switches()) {
		at := planeOf(x, s)
		met := make([]int, c.Planes)
		for _, u := range topologytest.LeadsTo(g, s) {
			to := planeOf(x, u)
			simtest.FatalIf(t, at >= 0 && to >= 0 && at != to, "a cable between planes %d and %d", at, to)
			if at < 0 {
				met[to]++
			} else if to >= 0 {
				links[at]++
			}
		}
		if at >= 0 {
			switches[at]++
		} else if met[0] != 1 || met[1] != 1 || met[2] != 1 {
			t.Fatalf("node %d has %v cables to planes", s, met)
		}
	}
	for i := range switches {
		if f := plane.Facts(); switches[i] != f.Switches || links[i] != 2*f.Links {
			t.Errorf("plane %d: %d switches, %d ends of cables; the tree has %+v", i, switches[i], links[i], f)
		}
	}
}
