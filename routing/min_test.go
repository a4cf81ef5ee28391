package routing_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/param"
)

// makeRouting builds a routing on a topology, or fails.
func makeRouting[C any](t testing.TB, name string, topo topology.Topology, set func(*C)) fabric.Routing {
	t.Helper()
	r, err := param.Make(routing.Registry, name, routing.Env{Topology: topo}, set)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// step is a hop on a path: the class of its channel, its virtual channels, the switches that
// it leads from and to (where it does not lead to the terminal), and the share of packets
// that come so far, 0 where the routing gives none.
type step struct {
	class    string
	vcs      uint32
	from, to topology.SwitchID
	share    float64
}

// paths lists every path that r can send a packet by from src to dst, ejection
// included. visit may keep the slice.
func paths(topo topology.Topology, r fabric.Routing, vcs int, src, dst topology.TerminalID, visit func(path []step, state uint32)) {
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
				visit(path, state)
				return
			}
			walk(fabric.Head{Switch: s.to, In: peer, Dst: dst, State: state}, path, s.share)
		})
	}
	port := g.TerminalPort[src]
	walk(fabric.Head{Switch: g.PortSwitch[port], In: port, Dst: dst}, nil, 1)
}

// checkClasses walks all paths out of terminal 0 and compares each hop's
// virtual channel with allowed[class][global hops so far].
func checkClasses(t *testing.T, topo topology.Topology, r fabric.Routing, vcs int, allowed map[string][]uint32) {
	t.Helper()
	for dst := range topology.TerminalID(topo.Graph().Terminals()) {
		paths(topo, r, vcs, 0, dst, func(path []step, _ uint32) {
			globals := 0
			for _, s := range path {
				if want := allowed[s.class]; globals >= len(want) || s.vcs != want[globals] {
					t.Fatalf("to %d by %v: %s channel on VCs %b after %d global hops", dst, path, s.class, s.vcs, globals)
				}
				if s.class == "global" {
					globals++
				}
			}
		})
	}
}

// TestMinVirtualChannels: the assignments that the docstring gives, as masks.
func TestMinVirtualChannels(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	for _, c := range []struct {
		first    int
		globalVC string
		allowed  map[string][]uint32
	}{
		// BookSim2: VC 0 until the global hop, VC 1 on it and after it.
		{0, "next", map[string][]uint32{"local": {1, 2}, "global": {2}, "terminal": {1, 2}}},
		{0, "same", map[string][]uint32{"local": {1, 2}, "global": {1}, "terminal": {1, 2}}},
		// The dragonfly paper: minimal packets on VC 1, then 2.
		{1, "next", map[string][]uint32{"local": {2, 4}, "global": {4}, "terminal": {2, 4}}},
		{1, "same", map[string][]uint32{"local": {2, 4}, "global": {2}, "terminal": {2, 4}}},
	} {
		r := makeRouting(t, "min", topo, func(m *routing.MinConfig) { m.FirstVC, m.GlobalVC = c.first, c.globalVC })
		if r.VCs() != c.first+2 {
			t.Errorf("first_vc = %d needs %d virtual channels, want %d", c.first, r.VCs(), c.first+2)
		}
		checkClasses(t, topo, r, r.VCs(), c.allowed)
	}
}

// TestSpreadVCs: 5 virtual channels for the 2 classes of min are 0, 1 | 2, 3,
// 4; for the 3 classes of val 0 | 1, 2 | 3, 4.
func TestSpreadVCs(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	min := makeRouting(t, "min", topo, func(c *routing.MinConfig) { c.SpreadVCs = true })
	val := makeRouting(t, "val", topo, func(c *routing.ValConfig) { c.SpreadVCs = true })
	checkClasses(t, topo, min, 5, map[string][]uint32{"local": {0b11, 0b11100}, "global": {0b11100}, "terminal": {0b11, 0b11100}})
	checkClasses(t, topo, val, 5, map[string][]uint32{"local": {0b1, 0b110, 0b11000}, "global": {0b110, 0b11000}, "terminal": {0b1, 0, 0b11000}})
}

// TestMinPaths: at most one global and two local hops, and on the largest
// dragonfly, which has one channel between two groups, exactly one path.
func TestMinPaths(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	r := makeRouting[routing.MinConfig](t, "min", topo, nil)
	for dst := range topology.TerminalID(topo.Graph().Terminals()) {
		count := 0
		paths(topo, r, 2, 5, dst, func(path []step, state uint32) {
			count++
			if len(path) > 4 || state&fabric.NonMinimal != 0 {
				t.Errorf("to %d: %v, state %x", dst, path, state)
			}
		})
		if count != 1 {
			t.Errorf("%d paths to %d, want 1", count, dst)
		}
	}
}

// TestMinSpreadsOverGateways: with a*h = 8 global channels for 3 other groups,
// there are 2 or 3 channels between two groups; random packets use each, hashed
// ones one for each destination, and all of them over all destinations.
func TestMinSpreadsOverGateways(t *testing.T) {
	topo := dragonfly(t, 4, 4, 2, 4)
	grouped, g := topo.(topology.Grouped), topo.Graph()
	for _, gateway := range []string{"random", "hashed"} {
		r := makeRouting(t, "min", topo, func(m *routing.MinConfig) { m.Gateway = gateway })
		load, err := routing.Loads(g, r, 2, uniformly(g.Terminals()))
		if err != nil {
			t.Fatal(err)
		}
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
					if gateway == "random" && !near(load.Port[p], fair) || load.Port[p] < fair/3 || load.Port[p] > 3*fair {
						t.Errorf("%s: load %.3f on a channel from group %d to %d, fair share %.3f", gateway, load.Port[p], from, to, fair)
					}
				}
				if !near(sum, 4) {
					t.Errorf("%s: load %v from group %d to %d, want 4", gateway, sum, from, to)
				}
			}
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// TestMinLocalVC: with local_vc = "last" packets within a group share the virtual channel of those
// that come into it, L1, and global channels have that of the group that they leave: L0 G0 L1.
func TestMinLocalVC(t *testing.T) {
	topo := dragonfly(t, 2, 4, 2, 0)
	r := makeRouting(t, "min", topo, func(c *routing.MinConfig) { c.LocalVC, c.GlobalVC = "last", "same" })
	for dst := range topology.TerminalID(topo.Graph().Terminals()) {
		paths(topo, r, 2, 0, dst, func(path []step, _ uint32) {
			inside := dst < 8
			for _, s := range path {
				if s.class == "global" && s.vcs != 1 || s.class == "local" && s.vcs != 2 && inside || s.class == "local" && s.vcs != 1 && !inside {
					t.Fatalf("to %d by %v", dst, path)
				}
				inside = inside || s.class == "global"
			}
		})
	}
}
