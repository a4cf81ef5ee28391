package families

import (
	"fmt"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
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
