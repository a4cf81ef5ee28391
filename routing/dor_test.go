package routing_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
)

// TestDORPaths: path lengths are the distances of the graph, and there are two
// paths for each dimension that is tied, one otherwise.
func TestDORPaths(t *testing.T) {
	for _, c := range []struct {
		name string
		topo topology.Topology
	}{{"torus", torus(t, 1, 4, 5, 6)}, {"mesh", mesh(t, 1, 4, 3, 5)}} {
		grid, g := c.topo.(topology.Grid), c.topo.Graph()
		r := makeRouting[routing.DORConfig](t, "dor", c.topo, nil)
		for _, src := range []topology.TerminalID{0, 17} {
			from := g.TerminalSwitch(src)
			distance := g.DistancesFrom(from, nil)
			for dst := range topology.TerminalID(g.Terminals()) {
				to := g.TerminalSwitch(dst)
				want := 1
				for d, size := range grid.Dims() {
					apart := grid.Coordinate(from, d) - grid.Coordinate(to, d)
					if grid.Wraps(d) && 2*max(apart, -apart) == size {
						want *= 2
					}
				}
				count := 0
				paths(c.topo, r, r.VCs(), src, dst, func(path []step, _ uint32) {
					count++
					if len(path)-1 != int(distance[to]) {
						t.Errorf("%s %d to %d: %d hops, want %d", c.name, src, dst, len(path)-1, distance[to])
					}
				})
				if count != want {
					t.Errorf("%s %d to %d: %d paths, want %d", c.name, src, dst, count, want)
				}
			}
		}
	}
}

// TestDORClasses gives the VC classes on a ring of 8 (of 4 virtual channels:
// the lower two or the upper two) by hand: from, to, and the classes of the
// hops under each rule.
func TestDORClasses(t *testing.T) {
	const low, high = 0b0011, 0b1100
	topo := torus(t, 1, 8)
	for _, c := range []struct {
		from, to  topology.TerminalID
		dateline  []uint32
		byTargets uint32 // one class for all hops
	}{
		{1, 4, []uint32{low, low, low}, low},    // up, not over the edge
		{6, 1, []uint32{low, high, high}, high}, // up, 7 to 0 is over the edge
		{4, 1, []uint32{low, low, low}, high},   // down, not over the edge: class 1 in BookSim2
		{1, 6, []uint32{low, high, high}, low},  // down, 0 to 7 is over the edge
		{7, 0, []uint32{high}, high},
		{0, 7, []uint32{high}, low},
	} {
		for _, rule := range []string{"dateline", "by-coordinates"} {
			r := makeRouting(t, "dor", topo, func(d *routing.DORConfig) { d.Rule = rule })
			paths(topo, r, 4, c.from, c.to, func(path []step, _ uint32) {
				for i, s := range path[:len(path)-1] {
					want := c.byTargets
					if rule == "dateline" {
						want = c.dateline[i]
					}
					if s.vcs != want {
						t.Errorf("%s, %d to %d, hop %d: virtual channels %b, want %b", rule, c.from, c.to, i, s.vcs, want)
					}
				}
				if last := path[len(path)-1]; last.vcs != 0b1111 {
					t.Errorf("ejection on %b, want every virtual channel", last.vcs)
				}
			})
		}
	}
}

// TestDORWithoutDatelines: a ring whose virtual channels are not divided can
// deadlock. In a ring of k the channels of one direction make the shortest
// cycle, k long; here the ring of 4 counts.
func TestDORWithoutDatelines(t *testing.T) {
	topo := torus(t, 1, 4, 6)
	r := makeRouting(t, "dor", topo, func(c *routing.DORConfig) { c.Rule = "none" })
	for _, vcs := range []int{1, 2} {
		if cycle := checkCycle(t, topo, r, vcs); len(cycle) != 4 {
			t.Errorf("%d virtual channels: cycle of %d, want 4", vcs, len(cycle))
		}
	}
	// Rings of three have no two hops in a row.
	short := torus(t, 1, 3, 3)
	if c, _ := routingtest.Certificate(t, short, makeRouting[routing.DORConfig](t, "dor", short, nil), 1); !c.Acyclic() {
		t.Error(c.Describe(short.Graph()))
	}
}

// TestDORVirtualChannels: two on rings of four and more, else one.
func TestDORVirtualChannels(t *testing.T) {
	for _, c := range []struct {
		topo topology.Topology
		want int
	}{{torus(t, 1, 4, 4), 2}, {torus(t, 1, 3, 3), 1}, {mesh(t, 1, 8, 8), 1}, {mesh(t, 1, 2, 2, 2), 1}} {
		if got := makeRouting[routing.DORConfig](t, "dor", c.topo, nil).VCs(); got != c.want {
			t.Errorf("%v: %d virtual channels, want %d", c.topo.Facts(), got, c.want)
		}
	}
}
