package routing_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
)

// TestNCAPaths: in a fat tree of 4-port switches with three levels, terminals
// are 2 to a leaf and 4 to a pod. Within a leaf there is one path of no hops;
// within a pod 2 ways up, 2 hops; else 2*2 ways up, 4 hops.
func TestNCAPaths(t *testing.T) {
	topo := build(t, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 3 })
	r := makeRouting[routing.NCAConfig](t, "nca", topo, nil)
	for dst := range topology.TerminalID(16) {
		wantPaths, wantHops := 4, 4
		switch {
		case dst < 2:
			wantPaths, wantHops = 1, 0
		case dst < 4:
			wantPaths, wantHops = 2, 2
		}
		count := 0
		paths(topo, r, 1, 0, dst, func(path []step, _ uint32) {
			count++
			if len(path)-1 != wantHops {
				t.Errorf("to %d: %d hops, want %d", dst, len(path)-1, wantHops)
			}
		})
		if count != wantPaths {
			t.Errorf("%d paths to %d, want %d", count, dst, wantPaths)
		}
	}
}

// TestNCAHashed: one path for each pair, and all ports up in use. Of the 124
// destinations outside a leaf, each of its 4 ports up serves a number that is
// binomial with p = 1/4, at 4/128 flits a cycle each: load 0.97 with standard
// deviation 0.15. At the second level, (leaf, destination) pairs count: 4*112
// with p = 1/16, load 0.875 with standard deviation 0.16. 4.5 of them are allowed.
func TestNCAHashed(t *testing.T) {
	topo := build(t, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 8, 3 })
	g, tree := topo.Graph(), topo.(topology.Tree)
	r := makeRouting(t, "nca", topo, func(c *routing.NCAConfig) { c.Up, c.Down = "hashed", "hashed" })
	for dst := range topology.TerminalID(g.Terminals()) {
		count := 0
		paths(topo, r, 1, 0, dst, func([]step, uint32) { count++ })
		if count != 1 {
			t.Errorf("%d paths to %d, want 1", count, dst)
		}
	}
	load, err := routing.Loads(g, r, 1, uniformly(g.Terminals()))
	if err != nil {
		t.Fatal(err)
	}
	for s := range topology.SwitchID(g.Switches()) {
		first, end := tree.UpPorts(s)
		for p := first; p < end; p++ {
			if load.Port[p] < 0.15 || load.Port[p] > 1.65 {
				t.Errorf("%s: load %.2f", g.PortName(p), load.Port[p])
			}
		}
	}
}

// TestNCALeastLoaded: with packets queued on one port up, the other is taken.
// The fabric's own counters are exercised by the conformance suite; here, under
// a permutation that random choice overloads, least-loaded must spread more
// evenly: on a leaf of 8 senders and 8 ports up, always the same destinations,
// random choice lets a port's share of n packets vary with standard deviation
// sqrt(n*(1/8)*(7/8)) = 41, while choosing by load keeps the ports within a few
// packets.
func TestNCALeastLoaded(t *testing.T) {
	topo := build(t, "xgft", func(c *topology.XGFTConfig) { c.M, c.W = []int{8, 2}, []int{1, 8} })
	r := makeRouting(t, "nca", topo, func(c *routing.NCAConfig) { c.Up = "least-loaded" })
	counts := runAcross(t, topo, r)
	total := 0.0
	least, most := counts[0], counts[0]
	for _, c := range counts {
		total += c
		least, most = min(least, c), max(most, c)
	}
	if total < 10000 || most-least > 0.03*total/8 {
		t.Errorf("packets by port up: %v", counts)
	}
}
