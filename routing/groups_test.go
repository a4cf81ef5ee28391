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
	"github.com/weft-sim/weft/sim/simtest"
)

// step is a hop on a path: the class of its channel, its virtual channels, the switches that it leads from and to
// (where it does not lead to the terminal), and the share of packets that come so far, 0 where the routing gives none.
type step struct {
	class    string
	vcs      uint32
	from, to topology.SwitchID
	share    float64
}

// paths lists every path that r can send a packet by from src to dst, ejection included, and returns how many there are. visit may keep the slice.
func paths(topo topology.Topology, r fabric.Routing, vcs int, src, dst topology.TerminalID, visit func(path []step, state uint32)) (count int) {
	g := topo.Graph()
	var walk func(h fabric.Head, path []step, share float64)
	walk = func(h fabric.Head, path []step, share float64) {
		r.(fabric.Explorer).Explore(vcs, h, func(hop fabric.Hop, state uint32, weight float64) {
			s := step{g.Classes[g.PortClass[hop.Port]].Name, hop.VCs, h.Switch, -1, share * weight}
			peer, ok := g.PeerPort(hop.Port)
			if ok {
				s.to = g.PortSwitch[peer]
			}
			path := append(path[:len(path):len(path)], s)
			if !ok {
				count++
				visit(path, state)
				return
			}
			walk(fabric.Head{Switch: s.to, In: peer, Dst: dst, State: state}, path, s.share)
		})
	}
	port := g.TerminalPort[src]
	walk(fabric.Head{Switch: g.PortSwitch[port], In: port, Dst: dst}, nil, 1)
	return count
}

// checkClasses walks all paths out of terminal 0 and compares each hop's virtual channel with allowed[class][global hops so far].
func checkClasses(t *testing.T, topo topology.Topology, r fabric.Routing, vcs int, allowed map[string][]uint32) {
	t.Helper()
	for dst := range topology.TerminalID(topo.Graph().Terminals()) {
		paths(topo, r, vcs, 0, dst, func(path []step, _ uint32) {
			globals := 0
			for _, s := range path {
				want := allowed[s.class]
				simtest.FatalIf(t, globals >= len(want) || s.vcs != want[globals],
					"to %d by %v: %s channel on VCs %b after %d global hops", dst, path, s.class, s.vcs, globals)
				if s.class == "global" {
					globals++
				}
			}
		})
	}
}

// TestVirtualChannels: the assignments that the docstrings give, as masks, and what spread_vcs makes
// of 5 virtual channels: for the 2 classes of min 0, 1 | 2, 3, 4; for the 3 classes of val 0 | 1, 2 | 3, 4.
func TestVirtualChannels(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	same, second, spread := param.Set("global_vc", "same"), param.Set("first_vc", 1), param.Set("spread_vcs", true)
	for _, c := range []struct {
		routing  string
		settings []param.Setting
		needs    int // virtual channels
		vcs      int
		allowed  map[string][]uint32
	}{
		// BookSim2: VC 0 until the global hop, VC 1 on it and after it.
		{"min", nil, 2, 2, map[string][]uint32{"local": {1, 2}, "global": {2}, "terminal": {1, 2}}},
		{"min", []param.Setting{same}, 2, 2, map[string][]uint32{"local": {1, 2}, "global": {1}, "terminal": {1, 2}}},
		// The dragonfly paper: minimal packets on VC 1, then 2.
		{"min", []param.Setting{second}, 3, 3, map[string][]uint32{"local": {2, 4}, "global": {4}, "terminal": {2, 4}}},
		{"min", []param.Setting{second, same}, 3, 3, map[string][]uint32{"local": {2, 4}, "global": {2}, "terminal": {2, 4}}},
		// VC 0 in the source group, 1 in the intermediate one, 2 in the destination's; global channels on
		// the VC of the group they lead to or leave. Packets within a group stay on VC 0.
		{"val", nil, 3, 3, map[string][]uint32{"local": {1, 2, 4}, "global": {2, 4}, "terminal": {1, 0, 4}}},
		{"val", []param.Setting{same}, 3, 3, map[string][]uint32{"local": {1, 2, 4}, "global": {1, 2}, "terminal": {1, 0, 4}}},
		{"min", []param.Setting{spread}, 2, 5, map[string][]uint32{"local": {0b11, 0b11100}, "global": {0b11100}, "terminal": {0b11, 0b11100}}},
		{"val", []param.Setting{spread}, 3, 5, map[string][]uint32{"local": {1, 0b110, 0b11000}, "global": {0b110, 0b11000}, "terminal": {1, 0, 0b11000}}},
	} {
		r := must(t, topo, 0, c.routing, c.settings...)
		simtest.Equal(t, r.VCs(), c.needs, "%s %v: virtual channels", c.routing, c.settings)
		checkClasses(t, topo, r, c.vcs, c.allowed)
	}
}

// TestMinPaths: at most one global and two local hops, and on the largest dragonfly, which has one channel between two groups, exactly one path.
func TestMinPaths(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	r := must(t, topo, 0, "min")
	for dst := range topology.TerminalID(topo.Graph().Terminals()) {
		count := paths(topo, r, 2, 5, dst, func(path []step, state uint32) {
			simtest.ErrorIf(t, len(path) > 4 || state&fabric.NonMinimal != 0, "to %d: %v, state %x", dst, path, state)
		})
		simtest.ErrorIf(t, count != 1, "%d paths to %d, want 1", count, dst)
	}
}

// TestMinSpreadsOverGateways: with a*h = 8 global channels for 3 other groups, there are 2 or 3 channels between two
// groups; random packets use each, hashed ones one for each destination, and all of them over all destinations.
func TestMinSpreadsOverGateways(t *testing.T) {
	topo := dragonfly(t, 4, 4, 2, 4)
	grouped, g := topo.(topology.Grouped), topo.Graph()
	for _, gateway := range []string{"random", "hashed"} {
		r := must(t, topo, 0, "min", param.Set("gateway", gateway))
		load := simtest.Must(routing.Loads(g, r, 2, uniformly(g.Terminals())))(t)
		for from := range 4 {
			for to := range 4 {
				if from == to {
					continue
				}
				ports := grouped.Gateways(from, to)
				// 16 terminals of the group send a quarter of their packets there.
				sum, fair := 0.0, 4/float64(len(ports))
				for _, p := range ports {
					sum += load.Port[p]
					simtest.ErrorIf(t, gateway == "random" && !near(load.Port[p], fair) || load.Port[p] < fair/3 || load.Port[p] > 3*fair,
						"%s: load %.3f on a channel from group %d to %d, fair share %.3f", gateway, load.Port[p], from, to, fair)
				}
				simtest.ErrorIf(t, !near(sum, 4), "%s: load %v from group %d to %d, want 4", gateway, sum, from, to)
			}
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// TestMinLocalVC: with local_vc = "last" packets within a group share the virtual channel of those
// that come into it, L1, and global channels have the number of the group that they leave: L0 G0 L1.
func TestMinLocalVC(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	r := must(t, topo, 0, "min", param.Set("local_vc", "last"), param.Set("global_vc", "same"))
	for dst := range topology.TerminalID(topo.Graph().Terminals()) {
		paths(topo, r, 2, 0, dst, func(path []step, _ uint32) {
			inside := dst < 8
			for _, s := range path {
				simtest.FatalIf(t, s.class == "global" && s.vcs != 1 || s.class == "local" && s.vcs != 2 && inside ||
					s.class == "local" && s.vcs != 1 && !inside, "to %d by %v", dst, path)
				inside = inside || s.class == "global"
			}
		})
	}
}

// TestValPaths counts paths on the 72-terminal dragonfly (9 groups of 4). To another group there are 7 intermediate groups with one way each; or,
// through a router, 7*4. All of them have two global hops and are marked. Within the group there is the one minimal path.
func TestValPaths(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	for intermediate, want := range map[string]int{"group": 7, "router": 28} {
		r := must(t, topo, 0, "val", param.Set("intermediate", intermediate))
		for dst := range topology.TerminalID(topo.Graph().Terminals()) {
			count := paths(topo, r, r.VCs(), 3, dst, func(path []step, state uint32) {
				globals := 0
				for _, s := range path {
					if s.class == "global" {
						globals++
					}
				}
				marked := state&fabric.NonMinimal != 0
				simtest.ErrorIf(t, dst >= 8 && (globals != 2 || !marked) || dst < 8 && (globals != 0 || marked),
					"%s to %d: %v, marked %v", intermediate, dst, path, marked)
			})
			simtest.ErrorIf(t, dst < 8 && count != 1 || dst >= 8 && count != want, "%s: %d paths to %d", intermediate, count, dst)
		}
	}
}

// checkCycle wants a cycle, made of dependencies, and described.
func checkCycle(t *testing.T, topo topology.Topology, r fabric.Routing, vcs int) []topology.Channel {
	t.Helper()
	c, all := routingtest.Certificate(t, topo, r, vcs)
	simtest.FatalIf(t, c.Acyclic(), "no cycle in %d dependencies", c.Dependencies)
	for i, held := range c.Cycle {
		simtest.ErrorIf(t, !all[topology.Dependency{Held: held, Wanted: c.Cycle[(i+1)%len(c.Cycle)]}], "the cycle's dependency %d is not in the graph", i)
	}
	lines := strings.Count(c.Describe(topo.Graph()), "\n")
	simtest.ErrorIf(t, lines != len(c.Cycle), "a cycle of %d channels in %d lines", len(c.Cycle), lines)
	return c.Cycle
}

// TestValOnGrid: on a 4x4 mesh, the paths from corner to corner by each of the 16 switches, one each, in two phases on
// virtual channels 0 and 1; all but those by way of source or destination are marked.
func TestValOnGrid(t *testing.T) {
	topo := mesh(t, 1, 4, 4)
	r := must(t, topo, 0, "val")
	marked, hops := 0, 0
	count := paths(topo, r, 2, 0, 15, func(path []step, state uint32) {
		hops += len(path) - 1
		if state&fabric.NonMinimal != 0 {
			marked++
		}
		second := false
		for _, s := range path[:len(path)-1] {
			simtest.ErrorIf(t, s.vcs != 1 && s.vcs != 2 || second && s.vcs == 1, "virtual channels of %v", path)
			second = s.vcs == 2
		}
	})
	// From (0,0) over (x,y) to (3,3): (x+y) + (3-x + 3-y) = 6 hops each.
	simtest.ErrorIf(t, count != 16 || marked != 14 || hops != 16*6, "%d paths, %d marked, %d hops; want 16, 14, 96", count, marked, hops)
}

// TestCapabilities: what a routing needs of a topology is said by name. A new family may bring forms of the same names, with needs of their own.
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
		whole := strings.HasPrefix(text, fmt.Sprintf("routing %q needs a topology with ", c.routing)) && strings.HasSuffix(text, "; "+c.family+" has none")
		simtest.ErrorIf(t, !whole, "%s on %s: error %v", c.routing, c.family, err)
		for _, need := range c.needs {
			simtest.ErrorIf(t, !strings.Contains(text, need), "%s on %s: error %v does not name %s", c.routing, c.family, err, need)
		}
	}
	simtest.Refuse(param.Make(routing.Registry, "min", routing.Env{Topology: dragonfly(t, 1, 2, 1, 0), VCs: 2}, func(c *routing.MinConfig) { c.FirstVC = 1 }))(t, "at least 3")
}
