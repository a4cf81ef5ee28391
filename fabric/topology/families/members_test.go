package families

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestConformance holds the families to the conformance suite with settings besides the defaults and random ones. tight
// says that the documentation claims the bisection to be the true minimum on these samples.
func TestConformance(t *testing.T) {
	for _, c := range []struct {
		family  string
		tight   bool
		configs []any
	}{
		{"twisted-torus", false, topologytest.Sets([]TwistedTorusConfig{
			{[]int{4, 2}, []int{0, 2}, 1}, {[]int{6, 3}, []int{0, 3}, 2}, {[]int{5, 4}, []int{0, 2}, 1},
			{[]int{4, 2, 2}, []int{0, 2, 2}, 1}, {[]int{4, 3}, []int{0, 0}, 1}, {[]int{7}, []int{0}, 1}}...)},
		{"oft", false, topologytest.Sets([]OFTConfig{{3, 0}, {4, 1}, {5, 2}, {6, 1}, {8, 1}}...)},
		{"rail-optimised", false, topologytest.Sets([]RailConfig{
			{2, 3, 2, 2, 2, 0, 0, 1}, {1, 2, 3, 1, 1, 0, 0, 1}, {3, 2, 2, 4, 2, 0, 0, 1}, {2, 2, 2, 2, 1, 1, 1, 1},
			{2, 2, 3, 4, 2, 4, 4, 1}, {4, 1, 1, 2, 1, 0, 0, 1}, {2, 2, 4, 2, 2, 4, 4, 2}, {3, 1, 6, 2, 1, 2, 2, 3}}...)},
		{"multi-plane", false, topologytest.Sets([]PlanesConfig{
			{1, 0, []int{3, 2}, []int{1, 2}, nil}, {2, 1, []int{3, 2}, []int{1, 2}, nil}, {3, 0, []int{2, 3}, []int{1, 1}, []int{1, 2}},
			{2, 2, []int{2, 2, 2}, []int{1, 2, 2}, nil}, {4, 1, []int{5}, []int{1}, nil}}...)},
		{"butterfly", false, topologytest.Sets([]ButterflyConfig{{2, 1, "both"}, {2, 2, "both"}, {2, 3, "first"}, {3, 2, "both"}, {3, 3, "first"}, {4, 2, "first"}, {5, 2, "both"}}...)},
		{"kautz", false, topologytest.Sets([]KautzConfig{{2, 1, 1}, {2, 2, 2}, {2, 3, 1}, {3, 1, 1}, {3, 2, 1}, {3, 3, 1}, {4, 2, 2}}...)},
		{"slim-fly", false, topologytest.Sets([]SlimFlyConfig{{3, 0}, {4, 0}, {5, 0}, {7, 0}, {8, 0}, {9, 0}}...)}, // delta = -1, 0, 1, -1, 0, 1
		{"polarfly", false, topologytest.Sets([]PolarFlyConfig{{2, 0}, {3, 0}, {4, 0}, {5, 0}, {7, 0}, {8, 0}, {9, 0}}...)},
		{"polarstar", false, topologytest.Sets([]PolarStarConfig{{2, "paley", 2, 1}, {2, "iq", 0, 2}, {2, "iq", 3, 1}, {3, "paley", 2, 0}, {2, "iq", 4, 1}, {3, "iq", 0, 1}}...)},
		{"jellyfish", false, topologytest.Sets([]JellyfishConfig{{4, 3, 1, 1}, {5, 3, 1, 2}, {7, 5, 2, 3}, {8, 6, 1, 4}, {16, 3, 1, 5}, {57, 8, 4, 1}}...)},
		{"xpander", false, topologytest.Sets([]XpanderConfig{{3, 1, 1, 1}, {3, 4, 2, 2}, {4, 3, 1, 3}, {6, 8, 1, 4}}...)},
		{"tiers", true, topologytest.Sets(TiersConfig{"testdata/two.topo"})},
	} {
		for _, config := range c.configs {
			t.Run(fmt.Sprintf("%s/%+v", c.family, config), func(t *testing.T) {
				topologytest.Check(t, c.family, topologytest.Sample{Config: config, TightBisection: c.tight})
			})
		}
	}
}

// TestRefusals: settings that are refused, by the key of the problem.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		family, key string
		set         func(any)
	}{
		{"twisted-torus", "twist", topologytest.But(func(c *TwistedTorusConfig) { c.Twist = nil })},
		{"twisted-torus", "twist[0]", topologytest.But(func(c *TwistedTorusConfig) { c.Twist = []int{1, 4} })},
		{"twisted-torus", "twist[1]", topologytest.But(func(c *TwistedTorusConfig) { c.Twist = []int{0, 8} })},
		{"twisted-torus", "dims[1]", topologytest.But(func(c *TwistedTorusConfig) { c.Dims, c.Twist = []int{4, 2}, []int{0, 0} })},
		{"oft", "k", topologytest.But(func(c *OFTConfig) { c.K = 7 })},
		{"oft", "k", topologytest.But(func(c *OFTConfig) { c.K = 2 })},
		{"rail-optimised", "uplinks", topologytest.But(func(c *RailConfig) { c.Uplinks = 5 })},
		{"rail-optimised", "cores", topologytest.But(func(c *RailConfig) { c.Cores = 3 })},
		{"rail-optimised", "spine_uplinks", topologytest.But(func(c *RailConfig) { c.SpineUplinks = 3 })},
		{"rail-optimised", "spine_uplinks", topologytest.But(func(c *RailConfig) { c.Cores, c.SpineUplinks = 8, 6 })},
		{"rail-optimised", "groups", topologytest.But(func(c *RailConfig) { c.Groups = 2 })},
		{"rail-optimised", "groups", topologytest.But(func(c *RailConfig) { c.Cores, c.SpineUplinks, c.Groups = 2, 2, 3 })},
		{"rail-optimised", "units", topologytest.But(func(c *RailConfig) { c.Units, c.Nodes, c.Rails = 65536, 4096, 64 })},
		{"multi-plane", "w[0]", topologytest.But(func(c *PlanesConfig) { c.W = []int{2, 2} })},
		{"multi-plane", "w", topologytest.But(func(c *PlanesConfig) { c.W = []int{1} })},
		{"multi-plane", "planes", topologytest.But(func(c *PlanesConfig) { c.Planes, c.M, c.W = 64, []int{65536, 512}, []int{1, 1} })},
		{"butterfly", "n", topologytest.But(func(c *ButterflyConfig) { c.K, c.N = 4096, 16 })},
		{"butterfly", "ends", topologytest.But(func(c *ButterflyConfig) { c.Ends = "last" })},
		{"kautz", "d", topologytest.But(func(c *KautzConfig) { c.D = 1 })},
		{"kautz", "n", topologytest.But(func(c *KautzConfig) { c.D, c.N = 1024, 20 })},
		{"slim-fly", "q", topologytest.But(func(c *SlimFlyConfig) { c.Q = 6 })},
		{"slim-fly", "q", topologytest.But(func(c *SlimFlyConfig) { c.Q = 15 })},
		{"slim-fly", "q", topologytest.But(func(c *SlimFlyConfig) { c.Q = 2 })},
		{"slim-fly", "p", topologytest.But(func(c *SlimFlyConfig) { c.P = -1 })},
		{"polarfly", "q", topologytest.But(func(c *PolarFlyConfig) { c.Q = 10 })},
		{"polarfly", "q", topologytest.But(func(c *PolarFlyConfig) { c.Q = 1 })},
		{"polarstar", "q", topologytest.But(func(c *PolarStarConfig) { c.Q = 6 })},
		{"polarstar", "d", topologytest.But(func(c *PolarStarConfig) { c.D = 3 })},
		{"polarstar", "d", topologytest.But(func(c *PolarStarConfig) { c.D = 0 })},
		{"polarstar", "d", topologytest.But(func(c *PolarStarConfig) { c.D = 10 })},
		{"polarstar", "d", topologytest.But(func(c *PolarStarConfig) { c.Supernode, c.D = "iq", 2 })},
		{"jellyfish", "degree", topologytest.But(func(c *JellyfishConfig) { c.Degree = 32 })},
		{"jellyfish", "degree", topologytest.But(func(c *JellyfishConfig) { c.Degree = 2 })},
		{"xpander", "degree", topologytest.But(func(c *XpanderConfig) { c.Degree = 2 })},
	} {
		topologytest.Refuses(t, c.family, c.key, c.set)
	}
}

// TestFacts: networks whose closed forms are counted elsewhere.
func TestFacts(t *testing.T) {
	for _, c := range []struct {
		family string
		set    func(any)
		want   topology.Facts
	}{
		// Besta and Hoefler's instance: 722 switches of 29 + 15 ports.
		{"slim-fly", topologytest.To(SlimFlyConfig{Q: 19}), topology.Facts{Switches: 722, Terminals: 10830, Links: 10469, Diameter: 2, Bisection: -1}},
		// SiCortex's size: 972 switches of 3 + 3 arcs, 6 hops.
		{"kautz", topologytest.To(KautzConfig{3, 6, 1}), topology.Facts{Switches: 972, Terminals: 972, Links: 2916, Diameter: 6, Bisection: -1}},
	} {
		topologytest.CheckFacts(t, c.family, c.set, c.want)
	}
}

// TestLayouts: no two switches stand on each other, in the shape of the family.
func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		family string
		set    func(any)
		shape  topology.Shape
		frames int
	}{
		{"slim-fly", topologytest.But(func(c *SlimFlyConfig) { c.Q = 5 }), topology.Rings, 10},
		{"polarfly", topologytest.But(func(c *PolarFlyConfig) { c.Q = 7 }), topology.Rings, 8}, // the quadrics, and 7 racks
		{"polarfly", topologytest.But(func(c *PolarFlyConfig) { c.Q = 4 }), topology.Rings, 5},
		{"polarstar", topologytest.But(func(*PolarStarConfig) {}), topology.Rings, 13},
		{"xpander", topologytest.But(func(*XpanderConfig) {}), topology.Rings, 6},
		{"oft", topologytest.But(func(*OFTConfig) {}), topology.Levels, 0},
		{"butterfly", topologytest.But(func(c *ButterflyConfig) { c.K = 4 }), topology.Rows, 0},
		{"twisted-torus", topologytest.But(func(c *TwistedTorusConfig) { c.Dims, c.Twist = []int{6, 3, 3}, []int{0, 3, 3} }), topology.Rows, 0},
		{"rail-optimised", topologytest.But(func(*RailConfig) {}), topology.Levels, 0},
		{"multi-plane", topologytest.But(func(*PlanesConfig) {}), topology.Levels, 0},
	} {
		topologytest.CheckShape(t, c.family, c.set, c.shape, c.frames)
	}
}

// One path of two hops between different points, k between a point and its copy.
func TestOFTPaths(t *testing.T) {
	for _, k := range []int{3, 4, 5} {
		g := topologytest.Build(t, "oft", func(c *OFTConfig) { c.K = k }).Graph()
		n, neighbours := k*k-k+1, g.Neighbors()
		for s := range topology.SwitchID(2 * n) {
			paths := make([]int, g.Switches())
			for _, line := range neighbours.Of(s) {
				for _, u := range neighbours.Of(line) {
					paths[u]++
				}
			}
			for u := range topology.SwitchID(2 * n) {
				want := 1
				if int(u)%n == int(s)%n {
					want = k
				}
				simtest.FatalIf(t, paths[u] != want, "k = %d: %d paths from %d to %d, want %d", k, paths[u], s, u, want)
			}
		}
	}
}

// twoTiers are 4 leaves of 8 terminals with 2 cables up, 2 spines: 4:1.
//
//go:embed testdata/two.topo
var twoTiers string

func TestTiers(t *testing.T) {
	x := simtest.Must(ReadTiers("two.topo", []byte(twoTiers)))(t)
	f := x.Facts()
	simtest.ErrorIf(t, f.Terminals != 32 || f.Switches != 6 || f.Links != 8, "%+v: want 32 terminals, 4 leaves and 2 spines, 8 cables", f)
	simtest.Alike(t, "ns", x.CableLatency(0).Nanoseconds(), 1000, x.CableLatency(1).Nanoseconds(), 500, x.SwitchDelay(0).Nanoseconds(), 300, int64(x.SwitchDelay(5)), 0)
	// Found out by its content; queues are settings of the network.
	name := filepath.Join(t.TempDir(), "x")
	simtest.Check(t, os.WriteFile(name, []byte(strings.Replace(twoTiers, "Radix_Up 2", "Radix_Up 2\r\nQueue_Up 1002\r\nQueue_Down 1001", 1)), 0o666))
	simtest.Equal(t, simtest.Must(topology.ReadFile(name))(t).Facts(), x.Facts(), "")
	// 16 pods of 8 leaves of 8, each of which has 8 aggregations of 8: the tree of switches of 16 ports.
	three := "Nodes 1024\nTiers 3\nPodsize 64\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nDownlink_Latency_ns 1\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 8\nDownlink_Latency_ns 1\nTier 2\nDownlink_speed_Gbps 100\nRadix_Down 16\nDownlink_Latency_ns 1\n"
	x = simtest.Must(ReadTiers("three.topo", []byte(three)))(t)
	f = x.Facts()
	simtest.ErrorIf(t, f.Switches != 128+128+64 || f.Links != 2048, "%+v: want 320 switches, 2,048 cables", f)
	for _, c := range []struct{ old, new, want string }{
		{"Nodes 32", "Nodes 32 33", "two.topo:1:"},
		{"Nodes 32", "Nodes -1", "two.topo:1:"},
		{"Tier 1", "Tier 2", "two.topo:13: tier 2: want tier 1 next"}, {"Tier 1", "Radix_Up 2\nTier 1", "two.topo:13: Radix_Up stands twice"},
		{"Radix_Down 8", "Radix 8", "two.topo:7: \"Radix\": unknown"},
		{"Radix_Down 4", "", "two.topo:13: tier 1 has no radix_down"},
		{"Oversubscribed 4", "Oversubscribed 3", "two.topo: cables above a leaf: 800 / 300"},
		{"Radix_Up 2", "Radix_Up 4", "tier 0: Radix_Up = 4"},
		{"Podsize 32", "Podsize 16", "2 pods on two tiers"},
		{"Tiers 2", "Tiers 4", "4 tiers are announced, and 2 follow"},
	} {
		simtest.Refuse(ReadTiers("two.topo", []byte(strings.Replace(twoTiers, c.old, c.new, 1))))(t, c.want)
	}
}

func FuzzTiers(f *testing.F) {
	f.Add([]byte(twoTiers))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if len(data) < 1000 {
			_, _ = ReadTiers("x", data)
		}
	})
}

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
		f := plane.Facts()
		simtest.ErrorIf(t, switches[i] != f.Switches || links[i] != 2*f.Links, "plane %d: %d switches, %d ends of cables; the tree has %+v", i, switches[i], links[i], f)
	}
}
