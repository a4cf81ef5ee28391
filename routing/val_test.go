package routing_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/param"
)

// TestValVirtualChannels: VC 0 in the source group, 1 in the intermediate one, 2
// in the destination's; global channels on that of the group they lead to
// ("next") or leave ("same"). Packets within a group stay on VC 0.
func TestValVirtualChannels(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	for globalVC, global := range map[string][]uint32{"next": {2, 4}, "same": {1, 2}} {
		r := makeRouting(t, "val", topo, func(c *routing.ValConfig) { c.GlobalVC = globalVC })
		checkClasses(t, topo, r, r.VCs(), map[string][]uint32{"local": {1, 2, 4}, "global": global, "terminal": {1, 0, 4}})
	}
}

// TestValPaths counts paths on the 72-terminal dragonfly (9 groups of 4). To
// another group there are 7 intermediate groups with one way each; or, through
// a router, 7*4. All of them have two global hops and are marked. Within the
// group there is the one minimal path.
func TestValPaths(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	for intermediate, want := range map[string]int{"group": 7, "router": 28} {
		r := makeRouting(t, "val", topo, func(c *routing.ValConfig) { c.Intermediate = intermediate })
		for dst := range topology.TerminalID(topo.Graph().Terminals()) {
			count := 0
			paths(topo, r, r.VCs(), 3, dst, func(path []step, state uint32) {
				count++
				globals := 0
				for _, s := range path {
					if s.class == "global" {
						globals++
					}
				}
				if marked := state&fabric.NonMinimal != 0; dst >= 8 && (globals != 2 || !marked) || dst < 8 && (globals != 0 || marked) {
					t.Errorf("%s to %d: %v, marked %v", intermediate, dst, path, marked)
				}
			})
			if dst < 8 && count != 1 || dst >= 8 && count != want {
				t.Errorf("%s: %d paths to %d", intermediate, count, dst)
			}
		}
	}
}

// TestValOnTwoVirtualChannels: with a virtual channel too few, routing is
// refused; if insisted upon, it has a cycle. A cycle needs at least two
// channels that wait for each other, and the one found has to be in the graph.
func TestValOnTwoVirtualChannels(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	_, err := routing.Registry.New("val", routing.Env{Topology: topo, VCs: 2})
	if err == nil || !strings.Contains(err.Error(), `switch.vcs = 2: want at least 3, which routing "val" needs`) {
		t.Errorf("val on 2 virtual channels: %v", err)
	}
	checkCycle(t, topo, must(t, topo, 2, "val"), 2)
}

// checkCycle wants a cycle, made of dependencies, and described.
func checkCycle(t *testing.T, topo topology.Topology, r fabric.Routing, vcs int) []topology.Channel {
	t.Helper()
	c, g := routingtest.Certificate(t, topo, r, vcs)
	if c.Acyclic() {
		t.Fatalf("no cycle in %d dependencies", c.Dependencies)
	}
	for i, held := range c.Cycle {
		if !g.Has(topology.Dependency{Held: held, Wanted: c.Cycle[(i+1)%len(c.Cycle)]}) {
			t.Errorf("the cycle's dependency %d is not in the graph", i)
		}
	}
	if lines := strings.Count(c.Describe(topo.Graph()), "\n"); lines != len(c.Cycle) {
		t.Errorf("a cycle of %d channels in %d lines", len(c.Cycle), lines)
	}
	return c.Cycle
}

// TestValOnGrid: on a 4x4 mesh, the paths from corner to corner by each of the
// 16 switches, one each, in two phases on virtual channels 0 and 1; all but
// those by way of source or destination are marked.
func TestValOnGrid(t *testing.T) {
	topo := mesh(t, 1, 4, 4)
	r := makeRouting[routing.GridValConfig](t, "val", topo, nil)
	if r.VCs() != 2 {
		t.Errorf("%d virtual channels on a mesh, want 2", r.VCs())
	}
	count, marked, hops := 0, 0, 0
	paths(topo, r, 2, 0, 15, func(path []step, state uint32) {
		count++
		hops += len(path) - 1
		if state&fabric.NonMinimal != 0 {
			marked++
		}
		second := false
		for _, s := range path[:len(path)-1] {
			if s.vcs != 1 && s.vcs != 2 || second && s.vcs == 1 {
				t.Errorf("virtual channels of %v", path)
			}
			second = s.vcs == 2
		}
	})
	// From (0,0) over (x,y) to (3,3): (x+y) + (3-x + 3-y) = 6 hops each.
	if count != 16 || marked != 14 || hops != 16*6 {
		t.Errorf("%d paths, %d marked, %d hops; want 16, 14, 96", count, marked, hops)
	}
	if n := makeRouting[routing.GridValConfig](t, "val", torus(t, 1, 4, 4), nil).VCs(); n != 4 {
		t.Errorf("%d virtual channels on a torus, want 4", n)
	}
}

// TestCapabilities: what a routing needs of a topology is said by name. A new
// family may bring forms of the same names, with needs of their own.
func TestCapabilities(t *testing.T) {
	for _, c := range []struct {
		routing, family string
		needs           []string
		topo            topology.Topology
	}{
		{"min", "torus", []string{"groups"}, torus(t, 1, 4)},
		{"ugal-g", "fat-tree", []string{"groups"}, build[topology.FatTreeConfig](t, "fat-tree", nil)},
		{"dor", "dragonfly", []string{"coordinates"}, dragonfly(t, 1, 2, 1, 0)},
		{"nca", "mesh", []string{"levels"}, mesh(t, 1, 4)},
	} {
		_, err := routing.Registry.New(c.routing, routing.Env{Topology: c.topo, TopologyName: c.family})
		text := fmt.Sprint(err)
		if !strings.HasPrefix(text, fmt.Sprintf("routing %q needs a topology with ", c.routing)) || !strings.HasSuffix(text, "; "+c.family+" has none") {
			t.Errorf("%s on %s: error %v", c.routing, c.family, err)
		}
		for _, need := range c.needs {
			if !strings.Contains(text, need) {
				t.Errorf("%s on %s: error %v does not name %s", c.routing, c.family, err, need)
			}
		}
	}
	_, err := param.Make(routing.Registry, "min", routing.Env{Topology: dragonfly(t, 1, 2, 1, 0), VCs: 2}, func(c *routing.MinConfig) { c.FirstVC = 1 })
	if err == nil || !strings.Contains(err.Error(), "at least 3") {
		t.Errorf("min with first_vc = 1 on 2 virtual channels: %v", err)
	}
}
