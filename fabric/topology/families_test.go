package topology

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// Of the conformance suite, which this package's own tests cannot import:
// suite_test.go sets them.
var (
	CheckGraph func(t testing.TB, g *Graph)
	Families   func() []string
)

// Sample is parameter sets of a family for the conformance suite, besides the defaults and
// random ones.
type Sample struct {
	Family string
	// Tight says that the documentation claims the bisection to be the true minimum on these
	// samples, not only an upper bound.
	Tight   bool
	Configs []any
}

// sets lists parameter sets.
func sets[C any](configs ...C) (list []any) {
	for i := range configs {
		list = append(list, &configs[i])
	}
	return list
}

// Samples of all families.
var Samples = slices.Concat(gridSamples(), dragonflySamples(), []Sample{
	{"single-switch", false, sets(SingleSwitchConfig{1})},
	{"twisted-torus", false, sets([]TwistedTorusConfig{
		{[]int{4, 2}, []int{0, 2}, 1}, {[]int{6, 3}, []int{0, 3}, 2}, {[]int{5, 4}, []int{0, 2}, 1},
		{[]int{4, 2, 2}, []int{0, 2, 2}, 1}, {[]int{4, 3}, []int{0, 0}, 1}, {[]int{7}, []int{0}, 1}}...)},
	{"hyperx", true, sets([]HyperXConfig{
		{[]int{2}, nil, 1, 0}, {[]int{5}, []int{3}, 2, 0}, {[]int{3, 3}, nil, 1, 0}, {[]int{4, 4}, nil, 2, 0},
		{[]int{3, 4}, nil, 1, 0}, {[]int{4, 3}, []int{1, 3}, 2, 0}, {[]int{5, 3}, []int{1, 2}, 1, 0}, {[]int{2, 2, 2, 2}, nil, 1, 0},
		{[]int{2, 3, 3}, []int{2, 1, 1}, 1, 0}, {[]int{4, 3}, nil, 2, 2}}...)},
	{"hyperx", false, sets(HyperXConfig{[]int{3, 3, 3}, []int{1, 2, 3}, 2, 0}, HyperXConfig{[]int{6, 5}, nil, 3, 0})},
	{"xgft", true, sets([]XGFTConfig{
		{M: []int{2, 4}, W: []int{1, 2}},                              // full bisection: 4
		{M: []int{4, 4}, W: []int{1, 2}},                              // tapered to a half: 4
		{M: []int{2, 2, 2}, W: []int{1, 2, 1}},                        // tapered at the top: 8 leaf cables, 4 top ones
		{M: []int{2, 2, 4}, W: []int{1, 1, 2}},                        // tapered at the leaves
		{M: []int{2, 4}, W: []int{1, 1}, Parallel: []int{1, 3}}}...)}, // half of 12
	{"xgft", false, sets([]XGFTConfig{
		{M: []int{5}, W: []int{1}},             // one switch
		{M: []int{1, 3, 2}, W: []int{1, 2, 3}}, // wider above
		{M: []int{2, 3, 3}, W: []int{1, 2, 2}}, // nothing to halve
		{M: []int{3, 2, 1}, W: []int{1, 2, 2}}, // a useless top
		{M: []int{3, 2, 4}, W: []int{1, 2, 3}, Parallel: []int{1, 3, 2}}}...)},
	{"fat-tree", true, sets([]FatTreeConfig{{4, 2}, {6, 2}, {2, 3}, {4, 3}}...)},
	{"fat-tree", false, sets([]FatTreeConfig{{2, 1}, {6, 1}, {6, 3}, {4, 4}}...)},
	{"oft", false, sets([]OFTConfig{{3, 0}, {4, 1}, {5, 2}, {6, 1}, {8, 1}}...)},
	{"trimmed-tree", true, sets([]TrimmedTreeConfig{
		{2, 4, 2, 2, 2, 1, "alternating"}, // 2 cables up each group
		{4, 2, 1, 1, 2, 1, "blocks"}}...)},
	{"trimmed-tree", false, sets([]TrimmedTreeConfig{
		{1, 7, 3, 2, 1, 1, "alternating"}, {1, 2, 2, 2, 1, 2, "blocks"},
		{3, 10, 4, 3, 5, 2, "alternating"}, // 10 cables on 3 middles: 4, 3, 3
		{3, 10, 4, 3, 5, 2, "blocks"}}...)},
	{"rail-optimised", false, sets([]RailConfig{
		{2, 3, 2, 2, 2, 0, 0, 1}, {1, 2, 3, 1, 1, 0, 0, 1}, {3, 2, 2, 4, 2, 0, 0, 1}, {2, 2, 2, 2, 1, 1, 1, 1},
		{2, 2, 3, 4, 2, 4, 4, 1}, {4, 1, 1, 2, 1, 0, 0, 1}, {2, 2, 4, 2, 2, 4, 4, 2}, {3, 1, 6, 2, 1, 2, 2, 3}}...)},
	{"multi-plane", false, sets([]PlanesConfig{
		{1, 0, []int{3, 2}, []int{1, 2}, nil}, {2, 1, []int{3, 2}, []int{1, 2}, nil}, {3, 0, []int{2, 3}, []int{1, 1}, []int{1, 2}},
		{2, 2, []int{2, 2, 2}, []int{1, 2, 2}, nil}, {4, 1, []int{5}, []int{1}, nil}}...)},
	{"butterfly", false, sets([]ButterflyConfig{{2, 1, "both"}, {2, 2, "both"}, {2, 3, "first"}, {3, 2, "both"}, {3, 3, "first"}, {4, 2, "first"}, {5, 2, "both"}}...)},
	{"kautz", false, sets([]KautzConfig{{2, 1, 1}, {2, 2, 2}, {2, 3, 1}, {3, 1, 1}, {3, 2, 1}, {3, 3, 1}, {4, 2, 2}}...)},
	{"megafly", false, sets([]MegaflyConfig{
		{2, 2, 2, 2, 0, "absolute"}, {1, 2, 2, 2, 4, "relative"}, {3, 1, 2, 1, 0, "circulant"},
		{1, 3, 3, 1, 3, "absolute"}, {1, 2, 1, 1, 2, "absolute"}, {2, 1, 3, 3, 7, "relative"}, {1, 1, 1, 1, 0, "absolute"}}...)},
	{"slim-fly", false, sets([]SlimFlyConfig{{3, 0}, {4, 0}, {5, 0}, {7, 0}, {8, 0}, {9, 0}}...)}, // delta = -1, 0, 1, -1, 0, 1
	{"polarfly", false, sets([]PolarFlyConfig{{2, 0}, {3, 0}, {4, 0}, {5, 0}, {7, 0}, {8, 0}, {9, 0}}...)},
	{"polarstar", false, sets([]PolarStarConfig{{2, "paley", 2, 1}, {2, "iq", 0, 2}, {2, "iq", 3, 1}, {3, "paley", 2, 0}, {2, "iq", 4, 1}, {3, "iq", 0, 1}}...)},
	{"random-regular", false, sets([]RandomRegularConfig{{2, 1, 1, 1}, {3, 2, 1, 1}, {4, 3, 2, 1}, {8, 3, 1, 5}, {7, 4, 1, 2}, {33, 8, 3, 9}, {9, 8, 1, 1}}...)},
	{"jellyfish", false, sets([]JellyfishConfig{{4, 3, 1, 1}, {5, 3, 1, 2}, {7, 5, 2, 3}, {8, 6, 1, 4}, {16, 3, 1, 5}, {57, 8, 4, 1}}...)},
	{"xpander", false, sets([]XpanderConfig{{3, 1, "one", 1, 1}, {3, 4, "one", 2, 2}, {3, 4, "doubling", 2, 2}, {4, 3, "one", 1, 3}, {6, 8, "doubling", 1, 4}}...)},
	{"pk", false, sets([]PKConfig{
		{M: 3, Cascades: 1}, {M: 3, Cascades: 2}, {M: 3, Cascades: 2, Terminals: 14}, {M: 3, Cascades: 3, Inner: []int{14}},
		{M: 4, Cascades: 2}, {M: 9, Cascades: 1}}...)},
	{"pcc", false, sets([]PCCConfig{{M: 5, Sigma: 1}, {M: 4, Sigma: 2}, {M: 6, Sigma: 2}}...)},
	{"edges", false, sets(EdgesConfig{"testdata/ring.edges", 2})},
	{"file", false, sets(FileConfig{"testdata/two.json"})},
	{"tiers", true, sets(TiersConfig{"testdata/two.topo"})},
})

func gridSamples() (list []Sample) {
	for _, family := range []string{"torus", "mesh"} {
		list = append(list, Sample{family, true, sets([]GridConfig{
			{[]int{2}, 1}, {[]int{3}, 2}, {[]int{4}, 1}, {[]int{5}, 1},
			{[]int{2, 2}, 1}, {[]int{3, 2}, 1}, {[]int{5, 2}, 2}, {[]int{2, 7}, 1},
			{[]int{3, 3}, 1}, {[]int{3, 4}, 2}, {[]int{5, 3}, 1}, {[]int{4, 5}, 1},
			{[]int{2, 2, 2, 2}, 1}, {[]int{3, 3, 2}, 1}, {[]int{2, 4, 2}, 1}, {[]int{3, 2, 3}, 1}}...)},
			Sample{family, false, sets([]GridConfig{{[]int{4, 3, 5}, 2}, {[]int{3, 3, 3}, 3}, {[]int{2, 3, 2, 4}, 1}}...)})
	}
	return list
}

func dragonflySamples() []Sample {
	// Two groups of 4: whole groups are the best halves, 4 cables against
	// 2*4 local ones.
	list := []Sample{{"dragonfly", true, sets(DragonflyConfig{1, 4, 1, 2, "absolute"})}}
	for _, arrangement := range []string{"absolute", "relative", "circulant"} {
		list = append(list, Sample{"dragonfly", false, sets([]DragonflyConfig{
			{2, 4, 2, 0, arrangement},       // 9 groups, one cable a pair
			{1, 2, 1, 0, arrangement},       // a ring of six switches
			{1, 1, 3, 0, arrangement},       // no local cables
			{1, 3, 2, 2, arrangement},       // one pair of groups, six cables
			{2, 4, 2, 5, arrangement},       // two rounds exactly
			{2, 4, 2, 4, arrangement},       // 8 = 2*3 + 2: a partial round of distance 1
			{1, 4, 3, 6, arrangement},       // 12 = 2*5 + 2
			{1, 3, 3, 4, arrangement},       // 9 = 3*3
			{1, 3, 3, 6, arrangement},       // 9 = 5 + 4
			{1, 3, 1, 4, arrangement},       // 3 = 3, full
			{1, 5, 1, 4, arrangement},       // 5 = 3 + 2
			{1, 4, 1, 4, arrangement},       // 4 = 3 + 1: the antipode
			{1, 3, 3, 7, arrangement}}...)}) // 9 = 6 + 3, all odd: one port a group stays free
	}
	return list
}

// to sets all settings of a family.
func to[C any](config C) func(any) { return func(c any) { *c.(*C) = config } }

// but changes settings of a family from the defaults.
func but[C any](set func(*C)) func(any) { return func(c any) { set(c.(*C)) } }

// made builds a family's network.
func made(family string, set func(any)) (Topology, error) {
	config, err := Registry.Config(family)
	if err != nil {
		return nil, err
	}
	set(config)
	return Registry.Build(family, config, struct{}{})
}

// build makes a topology of settings that a function changes from the defaults.
func build[C any](t testing.TB, name string, set func(*C)) Topology {
	t.Helper()
	return simtest.Must(made(name, but(set)))(t)
}

// TestRefusals: settings that are refused, by the key of the problem.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		family, key string
		set         func(any)
	}{
		{"single-switch", "terminals", to(SingleSwitchConfig{0})},
		{"mesh", "dims", to(GridConfig{nil, 1})},
		{"mesh", "dims[1]", to(GridConfig{[]int{4, 1}, 1})},
		{"mesh", "terminals", to(GridConfig{[]int{4, 4}, 0})},
		{"mesh", "dims", to(GridConfig{[]int{32767, 32767, 32767}, 1})},
		{"mesh", "dims", to(GridConfig{[]int{20000, 20000}, 1})},
		{"mesh", "dims", to(GridConfig{[]int{32767, 3}, 1})},
		{"twisted-torus", "twist", but(func(c *TwistedTorusConfig) { c.Twist = nil })},
		{"twisted-torus", "twist[0]", but(func(c *TwistedTorusConfig) { c.Twist = []int{1, 4} })},
		{"twisted-torus", "twist[1]", but(func(c *TwistedTorusConfig) { c.Twist = []int{0, 8} })},
		{"twisted-torus", "dims[1]", but(func(c *TwistedTorusConfig) { c.Dims, c.Twist = []int{4, 2}, []int{0, 0} })},
		{"hyperx", "dims", to(HyperXConfig{nil, nil, 1, 0})},
		{"hyperx", "dims[1]", to(HyperXConfig{[]int{4, 1}, nil, 1, 0})},
		{"hyperx", "trunks", to(HyperXConfig{[]int{4, 4}, []int{1}, 1, 0})},
		{"hyperx", "trunks[0]", to(HyperXConfig{[]int{4, 4}, []int{0, 1}, 1, 0})},
		{"hyperx", "terminals", to(HyperXConfig{[]int{4, 4}, nil, 0, 0})},
		{"hyperx", "dims", to(HyperXConfig{[]int{4096, 4096, 4096, 4096, 4096, 4096}, nil, 1, 0})},
		{"hyperx", "dims", to(HyperXConfig{[]int{400, 400, 20}, nil, 1, 0})},
		{"hyperx", "row_cycles", to(HyperXConfig{[]int{300}, nil, 1, 1})},
		{"xgft", "m", to(XGFTConfig{})},
		{"xgft", "m[1]", to(XGFTConfig{M: []int{2, 0}, W: []int{1, 1}})},
		{"xgft", "w", to(XGFTConfig{M: []int{2, 2}, W: []int{1}})},
		{"xgft", "w[0]", to(XGFTConfig{M: []int{2, 2}, W: []int{2, 1}})},
		{"xgft", "parallel", to(XGFTConfig{M: []int{2, 2}, W: []int{1, 1}, Parallel: []int{1}})},
		{"xgft", "parallel[0]", to(XGFTConfig{M: []int{2, 2}, W: []int{1, 1}, Parallel: []int{2, 1}})},
		{"xgft", "m", to(XGFTConfig{M: []int{65536, 65536, 65536, 65536, 65536}, W: []int{1, 1, 1, 1, 1}})},
		{"xgft", "m", to(XGFTConfig{M: []int{4096, 4096}, W: []int{1, 65536}, Parallel: []int{1, 65536}})},
		{"xgft", "m", to(XGFTConfig{M: []int{1, 65536, 65536, 65536}, W: []int{1, 65536, 65536, 65536}, Parallel: []int{1, 65536, 65536, 65536}})},
		{"fat-tree", "k", to(FatTreeConfig{7, 3})},
		{"fat-tree", "n", to(FatTreeConfig{4, 0})},
		{"fat-tree", "n", to(FatTreeConfig{64, 16})},
		{"oft", "k", but(func(c *OFTConfig) { c.K = 7 })},
		{"oft", "k", but(func(c *OFTConfig) { c.K = 2 })},
		{"trimmed-tree", "groups", to(TrimmedTreeConfig{0, 4, 2, 2, 2, 1, "blocks"})},
		{"trimmed-tree", "top_cables", to(TrimmedTreeConfig{2, 4, 2, 2, 2, 3, "blocks"})},
		{"trimmed-tree", "tops", to(TrimmedTreeConfig{2, 4, 2, 5, 2, 2, "blocks"})},
		{"trimmed-tree", "groups", to(TrimmedTreeConfig{65536, 65536, 1, 65536, 65536, 65536, "blocks"})},
		{"trimmed-tree", "groups", to(TrimmedTreeConfig{65536, 65536, 65536, 1, 65536, 1, "blocks"})},
		{"trimmed-tree", "top_wiring", to(TrimmedTreeConfig{2, 4, 2, 2, 2, 1, "relative"})},
		{"rail-optimised", "uplinks", but(func(c *RailConfig) { c.Uplinks = 5 })},
		{"rail-optimised", "cores", but(func(c *RailConfig) { c.Cores = 3 })},
		{"rail-optimised", "spine_uplinks", but(func(c *RailConfig) { c.SpineUplinks = 3 })},
		{"rail-optimised", "spine_uplinks", but(func(c *RailConfig) { c.Cores, c.SpineUplinks = 8, 6 })},
		{"rail-optimised", "groups", but(func(c *RailConfig) { c.Groups = 2 })},
		{"rail-optimised", "groups", but(func(c *RailConfig) { c.Cores, c.SpineUplinks, c.Groups = 2, 2, 3 })},
		{"rail-optimised", "units", but(func(c *RailConfig) { c.Units, c.Nodes, c.Rails = 65536, 4096, 64 })},
		{"multi-plane", "w[0]", but(func(c *PlanesConfig) { c.W = []int{2, 2} })},
		{"multi-plane", "w", but(func(c *PlanesConfig) { c.W = []int{1} })},
		{"multi-plane", "planes", but(func(c *PlanesConfig) { c.Planes, c.M, c.W = 64, []int{65536, 512}, []int{1, 1} })},
		{"butterfly", "n", but(func(c *ButterflyConfig) { c.K, c.N = 4096, 16 })},
		{"butterfly", "ends", but(func(c *ButterflyConfig) { c.Ends = "last" })},
		{"kautz", "d", but(func(c *KautzConfig) { c.D = 1 })},
		{"kautz", "n", but(func(c *KautzConfig) { c.D, c.N = 1024, 20 })},
		{"dragonfly", "p", to(DragonflyConfig{0, 8, 4, 0, "absolute"})},
		{"dragonfly", "g", to(DragonflyConfig{4, 8, 4, 1, "absolute"})},
		{"dragonfly", "g", to(DragonflyConfig{4, 8, 4, 34, "absolute"})},
		{"dragonfly", "g", to(DragonflyConfig{4096, 4096, 4096, 0, "absolute"})},
		{"dragonfly", "arrangement", to(DragonflyConfig{4, 8, 4, 0, "palmtree"})},
		{"megafly", "g", but(func(c *MegaflyConfig) { c.G = 6 })},
		{"megafly", "g", but(func(c *MegaflyConfig) { c.G = 1 })},
		{"megafly", "arrangement", but(func(c *MegaflyConfig) { c.Arrangement = "palmtree" })},
		{"slim-fly", "q", but(func(c *SlimFlyConfig) { c.Q = 6 })},
		{"slim-fly", "q", but(func(c *SlimFlyConfig) { c.Q = 15 })},
		{"slim-fly", "q", but(func(c *SlimFlyConfig) { c.Q = 2 })},
		{"slim-fly", "p", but(func(c *SlimFlyConfig) { c.P = -1 })},
		{"polarfly", "q", but(func(c *PolarFlyConfig) { c.Q = 10 })},
		{"polarfly", "q", but(func(c *PolarFlyConfig) { c.Q = 1 })},
		{"polarstar", "q", but(func(c *PolarStarConfig) { c.Q = 6 })},
		{"polarstar", "d", but(func(c *PolarStarConfig) { c.D = 3 })},
		{"polarstar", "d", but(func(c *PolarStarConfig) { c.D = 0 })},
		{"polarstar", "d", but(func(c *PolarStarConfig) { c.D = 10 })},
		{"polarstar", "d", but(func(c *PolarStarConfig) { c.Supernode, c.D = "iq", 2 })},
		{"random-regular", "degree", to(RandomRegularConfig{8, 8, 1, 1})},
		{"random-regular", "degree", to(RandomRegularConfig{9, 3, 1, 1})},
		{"random-regular", "degree", to(RandomRegularConfig{8, 2, 1, 1})},
		{"random-regular", "degree", to(RandomRegularConfig{8, 1, 1, 1})},
		{"random-regular", "switches", to(RandomRegularConfig{1, 3, 1, 1})},
		{"random-regular", "switches", to(RandomRegularConfig{1000000, 4096, 1, 1})},
		{"random-regular", "terminals", to(RandomRegularConfig{8, 3, 0, 1})},
		{"jellyfish", "degree", but(func(c *JellyfishConfig) { c.Degree = 32 })},
		{"jellyfish", "degree", but(func(c *JellyfishConfig) { c.Degree = 2 })},
		{"xpander", "lift", but(func(c *XpanderConfig) { c.Lifts, c.Lift = "doubling", 6 })},
		{"xpander", "degree", but(func(c *XpanderConfig) { c.Degree = 2 })},
		{"edges", "path", but(func(*EdgesConfig) {})},
		{"edges", "path", but(func(c *EdgesConfig) { c.Path = "nowhere" })},
		{"file", "path", to(FileConfig{"testdata/absent.json"})},
	} {
		_, err := made(c.family, c.set)
		var problem *param.ParamError
		if !errors.As(err, &problem) || problem.Key != c.key {
			t.Errorf("%s: %v, want a problem of %s", c.family, err, c.key)
		}
	}
}

// TestFacts: networks whose closed forms are counted here by hand, or elsewhere.
func TestFacts(t *testing.T) {
	for _, c := range []struct {
		family string
		set    func(any)
		want   Facts
	}{
		{"single-switch", to(SingleSwitchConfig{5}), Facts{1, 5, 0, 0, -1}},
		// 8x8 mesh: 2*8*7 cables, 14 hops corner to corner, 8 cut in the middle.
		{"mesh", to(GridConfig{[]int{8, 8}, 1}), Facts{64, 64, 112, 14, 8}},
		{"torus", to(GridConfig{[]int{8, 8}, 1}), Facts{64, 64, 128, 8, 16}},
		// The multicast paper's torus: 24,000 terminals.
		{"torus", to(GridConfig{[]int{30, 20, 20}, 2}), Facts{12000, 24000, 36000, 35, 800}},
		// Hypercube of 4 dimensions: 16*4/2 cables, 4 hops, half the switches cut.
		{"mesh", to(GridConfig{[]int{2, 2, 2, 2}, 1}), Facts{16, 16, 32, 4, 8}},
		// 4x4, 4 terminals: 16 switches of 3+3 ports to others: 16*6/2 cables. Two
		// halves of a row are 2*2 cables apart, in 4 rows.
		{"hyperx", to(HyperXConfig{[]int{4, 4}, nil, 4, 0}), Facts{16, 64, 48, 2, 16}},
		// Doubled cables in the first dimension only: the second is cut.
		{"hyperx", to(HyperXConfig{[]int{4, 4}, []int{2, 1}, 4, 0}), Facts{16, 64, 16 * 9 / 2, 2, 16}},
		// SST merlin's hyperx_128: 4x4, two cables each, 8 terminals.
		{"hyperx", to(HyperXConfig{[]int{4, 4}, []int{2, 2}, 8, 0}), Facts{16, 128, 96, 2, 32}},
		// 3x3: 2 cables in each of 3 rows, and the middle slice of 3: 2.
		{"hyperx", to(HyperXConfig{[]int{3, 3}, nil, 1, 0}), Facts{9, 9, 18, 2, 8}},
		// K*S*P/4 = 2*32*1024/4 cut.
		{"hyperx", to(HyperXConfig{[]int{32, 32}, []int{2, 2}, 32, 0}), Facts{1024, 32768, 1024 * 124 / 2, 2, 2 * 32 * 1024 / 4}},
		// 1,280 leaves of 32 terminals and 8 cables up; 40 groups of 32 leaves under 8
		// switches; 8*8 tops of 40. Links 1280*8 + 320*8; the top cut is 2560/2.
		{"xgft", to(taperedTree), Facts{1280 + 320 + 64, 40960, 10240 + 2560, 4, 1280}},
		{"fat-tree", to(FatTreeConfig{8, 3}), Facts{32 + 32 + 16, 128, 256, 4, 64}},
		// The fat tree of the multicast paper: 16,000 terminals on 2,000 switches.
		{"fat-tree", to(FatTreeConfig{40, 3}), Facts{2000, 16000, 32000, 4, 8000}},
		// The peer's k = 2: p = 2, a = 4, 9 groups.
		{"dragonfly", to(DragonflyConfig{2, 4, 2, 0, "absolute"}), Facts{36, 72, 9*6 + 36, 3, 4*4 + 4}},
		// 1056 terminals: 33 groups of 8; links 33*28 + 33*32/2; bisection 16^2 + 4^2.
		{"dragonfly", to(DragonflyConfig{4, 8, 4, 0, "absolute"}), Facts{264, 1056, 924 + 528, 3, 272}},
		// Besta and Hoefler's instance: 722 switches of 29 + 15 ports.
		{"slim-fly", to(SlimFlyConfig{Q: 19}), Facts{722, 10830, 10469, 2, -1}},
		// SiCortex's size: 972 switches of 3 + 3 arcs, 6 hops.
		{"kautz", to(KautzConfig{3, 6, 1}), Facts{972, 972, 2916, 6, -1}},
	} {
		x := simtest.Must(made(c.family, c.set))(t)
		g := x.Graph()
		if got := x.Facts(); got != c.want || g.Switches() != got.Switches || g.Terminals() != got.Terminals || g.SwitchLinks() != got.Links {
			t.Errorf("%s: %+v, want %+v; the graph has %d switches, %d terminals, %d links", c.family, got, c.want, g.Switches(), g.Terminals(), g.SwitchLinks())
		}
		CheckGraph(t, g)
		if d := Measure(g).Diameter(); g.Switches() < 2000 && d != c.want.Diameter {
			t.Errorf("%s: diameter %d, want %d", c.family, d, c.want.Diameter)
		}
	}
}

// leadsTo lists the switches at the other ends of a switch's ports to switches.
func leadsTo(g *Graph, s SwitchID) (list []SwitchID) {
	for p, end := g.Ports(s); p < end; p++ {
		if peer, ok := g.PeerPort(p); ok {
			list = append(list, g.PortSwitch[peer])
		}
	}
	return list
}

// TestPorts: where ports lead, as documented.
func TestPorts(t *testing.T) {
	for _, c := range []struct {
		family string
		set    func(any)
		sw     SwitchID
		want   []SwitchID
	}{
		// The 4x3 torus of the drawing: switch 6 is at (2, 1).
		{"torus", to(GridConfig{[]int{4, 3}, 2}), 6, []SwitchID{7, 5, 10, 2}},
		// The 4x3 HyperX of the drawing with two cables in the second dimension.
		{"hyperx", to(HyperXConfig{[]int{4, 3}, []int{1, 2}, 1, 0}), 6, []SwitchID{4, 5, 7, 2, 2, 10, 10}},
	} {
		x := simtest.Must(made(c.family, c.set))(t)
		if got := leadsTo(x.Graph(), c.sw); !slices.Equal(got, c.want) {
			t.Errorf("%s: ports lead to %v, want %v", c.family, got, c.want)
		}
	}
}

// edgesHash is the SHA-256 of a network's cables between switches, a line "u v" each, u
// < v, in ascending order.
func edgesHash(g *Graph) string {
	h := sha256.New()
	n := g.Neighbors()
	for s := range SwitchID(g.Switches()) {
		for _, t := range n.Of(s) {
			if s < t {
				fmt.Fprintf(h, "%d %d\n", s, t)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
