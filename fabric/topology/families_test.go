package topology_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/fabric/topology/metrics"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

// sample is settings of a family for the conformance suite, besides the defaults and random ones.
type sample struct {
	family string
	// tight says that the documentation claims the bisection to be the true minimum on these
	// samples, not only an upper bound.
	tight   bool
	configs []any
}

var samples = slices.Concat(gridSamples(), dragonflySamples(), []sample{
	{"single-switch", false, topologytest.Sets(topology.SingleSwitchConfig{1})},
	{"hyperx", true, topologytest.Sets([]topology.HyperXConfig{
		{[]int{2}, nil, 1, 0}, {[]int{5}, []int{3}, 2, 0}, {[]int{3, 3}, nil, 1, 0}, {[]int{4, 4}, nil, 2, 0},
		{[]int{3, 4}, nil, 1, 0}, {[]int{4, 3}, []int{1, 3}, 2, 0}, {[]int{5, 3}, []int{1, 2}, 1, 0}, {[]int{2, 2, 2, 2}, nil, 1, 0},
		{[]int{2, 3, 3}, []int{2, 1, 1}, 1, 0}, {[]int{4, 3}, nil, 2, 2}}...)},
	{"hyperx", false, topologytest.Sets(topology.HyperXConfig{[]int{3, 3, 3}, []int{1, 2, 3}, 2, 0}, topology.HyperXConfig{[]int{6, 5}, nil, 3, 0})},
	{"xgft", true, topologytest.Sets([]topology.XGFTConfig{
		{M: []int{2, 4}, W: []int{1, 2}},                              // full bisection: 4
		{M: []int{4, 4}, W: []int{1, 2}},                              // tapered to a half: 4
		{M: []int{2, 2, 2}, W: []int{1, 2, 1}},                        // tapered at the top: 8 leaf cables, 4 top ones
		{M: []int{2, 2, 4}, W: []int{1, 1, 2}},                        // tapered at the leaves
		{M: []int{2, 4}, W: []int{1, 1}, Parallel: []int{1, 3}}}...)}, // half of 12
	{"xgft", false, topologytest.Sets([]topology.XGFTConfig{
		{M: []int{5}, W: []int{1}},             // one switch
		{M: []int{1, 3, 2}, W: []int{1, 2, 3}}, // wider above
		{M: []int{2, 3, 3}, W: []int{1, 2, 2}}, // nothing to halve
		{M: []int{3, 2, 1}, W: []int{1, 2, 2}}, // a useless top
		{M: []int{3, 2, 4}, W: []int{1, 2, 3}, Parallel: []int{1, 3, 2}}}...)},
	{"fat-tree", true, topologytest.Sets([]topology.FatTreeConfig{{4, 2}, {6, 2}, {2, 3}, {4, 3}}...)},
	{"fat-tree", false, topologytest.Sets([]topology.FatTreeConfig{{2, 1}, {6, 1}, {6, 3}, {4, 4}}...)},
	{"trimmed-tree", true, topologytest.Sets([]topology.TrimmedTreeConfig{
		{2, 4, 2, 2, 2, 1, "alternating"}, // 2 cables up each group
		{4, 2, 1, 1, 2, 1, "blocks"}}...)},
	{"trimmed-tree", false, topologytest.Sets([]topology.TrimmedTreeConfig{
		{1, 7, 3, 2, 1, 1, "alternating"}, {1, 2, 2, 2, 1, 2, "blocks"},
		{3, 10, 4, 3, 5, 2, "alternating"}, // 10 cables on 3 middles: 4, 3, 3
		{3, 10, 4, 3, 5, 2, "blocks"}}...)},
	{"megafly", false, topologytest.Sets([]topology.MegaflyConfig{
		{2, 2, 2, 2, 0, "absolute"}, {1, 2, 2, 2, 4, "relative"}, {3, 1, 2, 1, 0, "circulant"},
		{1, 3, 3, 1, 3, "absolute"}, {1, 2, 1, 1, 2, "absolute"}, {2, 1, 3, 3, 7, "relative"}, {1, 1, 1, 1, 0, "absolute"}}...)},
	{"random-regular", false, topologytest.Sets([]topology.RandomRegularConfig{{2, 1, 1, 1}, {3, 2, 1, 1}, {4, 3, 2, 1}, {8, 3, 1, 5}, {7, 4, 1, 2}, {33, 8, 3, 9}, {9, 8, 1, 1}}...)},
	{"pk", false, topologytest.Sets([]topology.PKConfig{
		{M: 3, Cascades: 1}, {M: 3, Cascades: 2}, {M: 3, Cascades: 2, Terminals: 14}, {M: 3, Cascades: 3, Inner: []int{14}},
		{M: 4, Cascades: 2}, {M: 9, Cascades: 1}}...)},
	{"pcc", false, topologytest.Sets([]topology.PCCConfig{{M: 5, Sigma: 1}, {M: 4, Sigma: 2}, {M: 6, Sigma: 2}}...)},
	{"file", false, topologytest.Sets(topology.FileConfig{"testdata/two.json"})},
})

func gridSamples() (list []sample) {
	for _, family := range []string{"torus", "mesh"} {
		list = append(list, sample{family, true, topologytest.Sets([]topology.GridConfig{
			{[]int{2}, 1}, {[]int{3}, 2}, {[]int{4}, 1}, {[]int{5}, 1},
			{[]int{2, 2}, 1}, {[]int{3, 2}, 1}, {[]int{5, 2}, 2}, {[]int{2, 7}, 1},
			{[]int{3, 3}, 1}, {[]int{3, 4}, 2}, {[]int{5, 3}, 1}, {[]int{4, 5}, 1},
			{[]int{2, 2, 2, 2}, 1}, {[]int{3, 3, 2}, 1}, {[]int{2, 4, 2}, 1}, {[]int{3, 2, 3}, 1}}...)},
			sample{family, false, topologytest.Sets([]topology.GridConfig{{[]int{4, 3, 5}, 2}, {[]int{3, 3, 3}, 3}, {[]int{2, 3, 2, 4}, 1}}...)})
	}
	return list
}

func dragonflySamples() []sample {
	// Two groups of 4: whole groups are the best halves, 4 cables against 2*4 local ones.
	list := []sample{{"dragonfly", true, topologytest.Sets(topology.DragonflyConfig{1, 4, 1, 2, "absolute"})}}
	for _, arrangement := range []string{"absolute", "relative", "circulant"} {
		list = append(list, sample{"dragonfly", false, topologytest.Sets([]topology.DragonflyConfig{
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

// TestRefusals: settings that are refused, by the key of the problem.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		family, key string
		set         func(any)
	}{
		{"single-switch", "terminals", topologytest.To(topology.SingleSwitchConfig{0})},
		{"mesh", "dims", topologytest.To(topology.GridConfig{nil, 1})},
		{"mesh", "dims[1]", topologytest.To(topology.GridConfig{[]int{4, 1}, 1})},
		{"mesh", "terminals", topologytest.To(topology.GridConfig{[]int{4, 4}, 0})},
		{"mesh", "dims", topologytest.To(topology.GridConfig{[]int{32767, 32767, 32767}, 1})},
		{"mesh", "dims", topologytest.To(topology.GridConfig{[]int{20000, 20000}, 1})},
		{"mesh", "dims", topologytest.To(topology.GridConfig{[]int{32767, 3}, 1})},
		{"hyperx", "dims", topologytest.To(topology.HyperXConfig{nil, nil, 1, 0})},
		{"hyperx", "dims[1]", topologytest.To(topology.HyperXConfig{[]int{4, 1}, nil, 1, 0})},
		{"hyperx", "trunks", topologytest.To(topology.HyperXConfig{[]int{4, 4}, []int{1}, 1, 0})},
		{"hyperx", "trunks[0]", topologytest.To(topology.HyperXConfig{[]int{4, 4}, []int{0, 1}, 1, 0})},
		{"hyperx", "terminals", topologytest.To(topology.HyperXConfig{[]int{4, 4}, nil, 0, 0})},
		{"hyperx", "dims", topologytest.To(topology.HyperXConfig{[]int{4096, 4096, 4096, 4096, 4096, 4096}, nil, 1, 0})},
		{"hyperx", "dims", topologytest.To(topology.HyperXConfig{[]int{400, 400, 20}, nil, 1, 0})},
		{"hyperx", "row_cycles", topologytest.To(topology.HyperXConfig{[]int{300}, nil, 1, 1})},
		{"xgft", "m", topologytest.To(topology.XGFTConfig{})},
		{"xgft", "m[1]", topologytest.To(topology.XGFTConfig{M: []int{2, 0}, W: []int{1, 1}})},
		{"xgft", "w", topologytest.To(topology.XGFTConfig{M: []int{2, 2}, W: []int{1}})},
		{"xgft", "w[0]", topologytest.To(topology.XGFTConfig{M: []int{2, 2}, W: []int{2, 1}})},
		{"xgft", "parallel", topologytest.To(topology.XGFTConfig{M: []int{2, 2}, W: []int{1, 1}, Parallel: []int{1}})},
		{"xgft", "parallel[0]", topologytest.To(topology.XGFTConfig{M: []int{2, 2}, W: []int{1, 1}, Parallel: []int{2, 1}})},
		{"xgft", "m", topologytest.To(topology.XGFTConfig{M: []int{65536, 65536, 65536, 65536, 65536}, W: []int{1, 1, 1, 1, 1}})},
		{"xgft", "m", topologytest.To(topology.XGFTConfig{M: []int{4096, 4096}, W: []int{1, 65536}, Parallel: []int{1, 65536}})},
		{"xgft", "m", topologytest.To(topology.XGFTConfig{M: []int{1, 65536, 65536, 65536}, W: []int{1, 65536, 65536, 65536}, Parallel: []int{1, 65536, 65536, 65536}})},
		{"fat-tree", "k", topologytest.To(topology.FatTreeConfig{7, 3})},
		{"fat-tree", "n", topologytest.To(topology.FatTreeConfig{4, 0})},
		{"fat-tree", "n", topologytest.To(topology.FatTreeConfig{64, 16})},
		{"trimmed-tree", "groups", topologytest.To(topology.TrimmedTreeConfig{0, 4, 2, 2, 2, 1, "blocks"})},
		{"trimmed-tree", "top_cables", topologytest.To(topology.TrimmedTreeConfig{2, 4, 2, 2, 2, 3, "blocks"})},
		{"trimmed-tree", "tops", topologytest.To(topology.TrimmedTreeConfig{2, 4, 2, 5, 2, 2, "blocks"})},
		{"trimmed-tree", "groups", topologytest.To(topology.TrimmedTreeConfig{65536, 65536, 1, 65536, 65536, 65536, "blocks"})},
		{"trimmed-tree", "groups", topologytest.To(topology.TrimmedTreeConfig{65536, 65536, 65536, 1, 65536, 1, "blocks"})},
		{"trimmed-tree", "top_wiring", topologytest.To(topology.TrimmedTreeConfig{2, 4, 2, 2, 2, 1, "relative"})},
		{"dragonfly", "p", topologytest.To(topology.DragonflyConfig{0, 8, 4, 0, "absolute"})},
		{"dragonfly", "g", topologytest.To(topology.DragonflyConfig{4, 8, 4, 1, "absolute"})},
		{"dragonfly", "g", topologytest.To(topology.DragonflyConfig{4, 8, 4, 34, "absolute"})},
		{"dragonfly", "g", topologytest.To(topology.DragonflyConfig{4096, 4096, 4096, 0, "absolute"})},
		{"dragonfly", "arrangement", topologytest.To(topology.DragonflyConfig{4, 8, 4, 0, "palmtree"})},
		{"megafly", "g", topologytest.But(func(c *topology.MegaflyConfig) { c.G = 6 })},
		{"megafly", "g", topologytest.But(func(c *topology.MegaflyConfig) { c.G = 1 })},
		{"megafly", "arrangement", topologytest.But(func(c *topology.MegaflyConfig) { c.Arrangement = "palmtree" })},
		{"random-regular", "degree", topologytest.To(topology.RandomRegularConfig{8, 8, 1, 1})},
		{"random-regular", "degree", topologytest.To(topology.RandomRegularConfig{9, 3, 1, 1})},
		{"random-regular", "degree", topologytest.To(topology.RandomRegularConfig{8, 2, 1, 1})},
		{"random-regular", "degree", topologytest.To(topology.RandomRegularConfig{8, 1, 1, 1})},
		{"random-regular", "switches", topologytest.To(topology.RandomRegularConfig{1, 3, 1, 1})},
		{"random-regular", "switches", topologytest.To(topology.RandomRegularConfig{1000000, 4096, 1, 1})},
		{"random-regular", "terminals", topologytest.To(topology.RandomRegularConfig{8, 3, 0, 1})},
		{"file", "path", topologytest.To(topology.FileConfig{"testdata/absent.json"})},
	} {
		topologytest.Refuses(t, c.family, c.key, c.set)
	}
}

// TestFacts: networks whose closed forms are counted here by hand, or elsewhere.
func TestFacts(t *testing.T) {
	for _, c := range []struct {
		family string
		set    func(any)
		want   topology.Facts
	}{
		{"single-switch", topologytest.To(topology.SingleSwitchConfig{5}), topology.Facts{1, 5, 0, 0, -1}},
		// 8x8 mesh: 2*8*7 cables, 14 hops corner to corner, 8 cut in the middle.
		{"mesh", topologytest.To(topology.GridConfig{[]int{8, 8}, 1}), topology.Facts{64, 64, 112, 14, 8}},
		{"torus", topologytest.To(topology.GridConfig{[]int{8, 8}, 1}), topology.Facts{64, 64, 128, 8, 16}},
		// The multicast paper's torus: 24,000 terminals.
		{"torus", topologytest.To(topology.GridConfig{[]int{30, 20, 20}, 2}), topology.Facts{12000, 24000, 36000, 35, 800}},
		// Hypercube of 4 dimensions: 16*4/2 cables, 4 hops, half the switches cut.
		{"mesh", topologytest.To(topology.GridConfig{[]int{2, 2, 2, 2}, 1}), topology.Facts{16, 16, 32, 4, 8}},
		// 4x4, 4 terminals: 16 switches of 3+3 ports to others: 16*6/2 cables. Two
		// halves of a row are 2*2 cables apart, in 4 rows.
		{"hyperx", topologytest.To(topology.HyperXConfig{[]int{4, 4}, nil, 4, 0}), topology.Facts{16, 64, 48, 2, 16}},
		// Doubled cables in the first dimension only: the second is cut.
		{"hyperx", topologytest.To(topology.HyperXConfig{[]int{4, 4}, []int{2, 1}, 4, 0}), topology.Facts{16, 64, 16 * 9 / 2, 2, 16}},
		// SST merlin's hyperx_128: 4x4, two cables each, 8 terminals.
		{"hyperx", topologytest.To(topology.HyperXConfig{[]int{4, 4}, []int{2, 2}, 8, 0}), topology.Facts{16, 128, 96, 2, 32}},
		// 3x3: 2 cables in each of 3 rows, and the middle slice of 3: 2.
		{"hyperx", topologytest.To(topology.HyperXConfig{[]int{3, 3}, nil, 1, 0}), topology.Facts{9, 9, 18, 2, 8}},
		// K*S*P/4 = 2*32*1024/4 cut.
		{"hyperx", topologytest.To(topology.HyperXConfig{[]int{32, 32}, []int{2, 2}, 32, 0}), topology.Facts{1024, 32768, 1024 * 124 / 2, 2, 2 * 32 * 1024 / 4}},
		// 1,280 leaves of 32 terminals and 8 cables up; 40 groups of 32 leaves under 8
		// switches; 8*8 tops of 40. Links 1280*8 + 320*8; the top cut is 2560/2.
		{"xgft", topologytest.To(taperedTree), topology.Facts{1280 + 320 + 64, 40960, 10240 + 2560, 4, 1280}},
		{"fat-tree", topologytest.To(topology.FatTreeConfig{8, 3}), topology.Facts{32 + 32 + 16, 128, 256, 4, 64}},
		// The fat tree of the multicast paper: 16,000 terminals on 2,000 switches.
		{"fat-tree", topologytest.To(topology.FatTreeConfig{40, 3}), topology.Facts{2000, 16000, 32000, 4, 8000}},
		// The peer's k = 2: p = 2, a = 4, 9 groups.
		{"dragonfly", topologytest.To(topology.DragonflyConfig{2, 4, 2, 0, "absolute"}), topology.Facts{36, 72, 9*6 + 36, 3, 4*4 + 4}},
		// 1056 terminals: 33 groups of 8; links 33*28 + 33*32/2; bisection 16^2 + 4^2.
		{"dragonfly", topologytest.To(topology.DragonflyConfig{4, 8, 4, 0, "absolute"}), topology.Facts{264, 1056, 924 + 528, 3, 272}},
	} {
		topologytest.CheckFacts(t, c.family, c.set, c.want)
	}
}

// TestPorts: where ports lead, as documented.
func TestPorts(t *testing.T) {
	for _, c := range []struct {
		family string
		set    func(any)
		sw     topology.SwitchID
		want   []topology.SwitchID
	}{
		// The 4x3 torus of the drawing: switch 6 is at (2, 1).
		{"torus", topologytest.To(topology.GridConfig{[]int{4, 3}, 2}), 6, []topology.SwitchID{7, 5, 10, 2}},
		// The 4x3 HyperX of the drawing with two cables in the second dimension.
		{"hyperx", topologytest.To(topology.HyperXConfig{[]int{4, 3}, []int{1, 2}, 1, 0}), 6, []topology.SwitchID{4, 5, 7, 2, 2, 10, 10}},
	} {
		x := simtest.Must(topologytest.Make(c.family, c.set))(t)
		simtest.EqualSlices(t, topologytest.LeadsTo(x.Graph(), c.sw), c.want, "%s: ports lead to", c.family)
	}
}

// TestConformance holds every registered topology to the conformance suite, and to the samples.
func TestConformance(t *testing.T) {
	for _, name := range topology.Registry.Names() {
		t.Run(name, func(t *testing.T) {
			topologytest.Conform(t, name)
			for _, s := range samples {
				for _, config := range s.configs {
					if s.family == name {
						t.Run(fmt.Sprintf("%+v", config), func(t *testing.T) {
							topologytest.Check(t, name, topologytest.Sample{Config: config, TightBisection: s.tight})
						})
					}
				}
			}
		})
	}
}

func xgft(t testing.TB, c topology.XGFTConfig) *topology.XGFT {
	t.Helper()
	x := topologytest.Build(t, "xgft", func(d *topology.XGFTConfig) { *d = c })
	return x.(*topology.XGFT)
}

// taperedTree is the tree of 40-port switches with 40,960 terminals.
var taperedTree = topology.XGFTConfig{M: []int{32, 32, 40}, W: []int{1, 8, 8}}

func TestTaperedTree(t *testing.T) {
	x := xgft(t, taperedTree)
	for s := range topology.SwitchID(x.Graph().Switches()) {
		d := x.Graph().Degree(s)
		simtest.FatalIf(t, d != 40, "switch %d has %d ports", s, d)
	}
}

// The three-level tree of 8-port switches as InfiniBand netlists wire it: leaf l of pod p, port
// 4+i, goes to middle switch i of the pod, port l; its port 4+j goes to top 4*i+j, port p.
func TestFatTreeWiring(t *testing.T) {
	g := topologytest.Build(t, "fat-tree", func(c *topology.FatTreeConfig) { *c = topology.FatTreeConfig{8, 3} }).Graph()
	ends := func(s, port int) [2]int {
		peer, _ := g.PeerPort(g.PortStart[s] + topology.PortID(port))
		return [2]int{int(g.PortSwitch[peer]), g.LocalPort(peer)}
	}
	for pod := range 8 {
		for l := range 4 {
			for i := range 4 {
				simtest.Equal(t, ends(pod*4+l, 4+i), [2]int{32 + pod*4 + i, l}, "pod %d leaf %d up %d:", pod, l, i)
			}
		}
		for i := range 4 {
			for j := range 4 {
				simtest.Equal(t, ends(32+pod*4+i, 4+j), [2]int{64 + 4*i + j, pod}, "pod %d middle %d up %d:", pod, i, j)
			}
		}
	}
}

// BenchmarkBuildTree builds the tree of 40,960 terminals and reports the heap
// that the finished topology holds.
func BenchmarkBuildTree(b *testing.B) {
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var x *topology.XGFT
	for b.Loop() {
		x = xgft(b, taperedTree)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/1024, "KiB-held")
	runtime.KeepAlive(x)
}

func randomRegular(t testing.TB, c topology.RandomRegularConfig) *topology.Graph {
	t.Helper()
	return topologytest.Build(t, "random-regular", func(d *topology.RandomRegularConfig) { *d = c }).Graph()
}

// The random network of the multicast paper: 2,048 switches, 20 ports to
// terminals, 20 to other switches. Regular and simple; neighbours in order.
func TestRandomRegularOfPaper(t *testing.T) {
	g := randomRegular(t, topology.RandomRegularConfig{2048, 20, 20, 1})
	topologytest.CheckGraph(t, g)
	simtest.ErrorIf(t, g.Terminals() != 40960, "%d terminals", g.Terminals())
	n := g.Neighbors()
	for s := range topology.SwitchID(g.Switches()) {
		simtest.FatalIf(t, len(n.Of(s)) != 20 || g.Degree(s) != 40, "switch %d has %d neighbours on %d ports", s, len(n.Of(s)), g.Degree(s))
		simtest.FatalIf(t, !slices.Equal(topologytest.LeadsTo(g, s), n.Of(s)),
			"ports of switch %d lead to %v, its neighbours are %v", s, topologytest.LeadsTo(g, s), n.Of(s))
	}
}

// All 70 labelled 3-regular simple graphs of 6 switches are connected (the two shapes are K33 with
// 10 labellings and the prism with 60), so that over 7,000 seeds each is expected 100 times.
// Chi-square with 69 degrees of freedom has mean 69 and standard deviation sqrt(138) = 11.7.
func TestRandomRegularIsUniform(t *testing.T) {
	counts := map[string]int{}
	for seed := range 7000 {
		n := randomRegular(t, topology.RandomRegularConfig{6, 3, 1, uint64(seed)}).Neighbors()
		key := ""
		for s := range topology.SwitchID(6) {
			key += fmt.Sprint(n.Of(s))
		}
		counts[key]++
	}
	simtest.FatalIf(t, len(counts) != 70, "%d different graphs, want 70", len(counts))
	chi := 0.0
	for _, n := range counts {
		chi += math.Pow(float64(n)-100, 2) / 100
	}
	simtest.ErrorIf(t, chi > 69+4*11.7, "chi-square %.1f, expected 69 +- 11.7", chi)
}

func dragonfly(t testing.TB, p, a, h, g int, arrangement string) *topology.Dragonfly {
	t.Helper()
	return topologytest.Build(t, "dragonfly", func(c *topology.DragonflyConfig) { *c = topology.DragonflyConfig{p, a, h, g, arrangement} }).(*topology.Dragonfly)
}

// The peer's k = 2: p = 2, a = 4, 9 groups of which each pair has one cable:
// group G's global port j leads to group j if j < G, else to j+1; ports are
// terminals, local (complete, self skipped), global.
func TestDragonflyMatchesBookSim(t *testing.T) {
	d := dragonfly(t, 2, 4, 2, 0, "absolute")
	g := d.Graph()
	for s := range topology.SwitchID(36) {
		group, local := int(s)/4, int(s)%4
		for i := range 7 { // radix 4p-1
			p := g.PortStart[s] + topology.PortID(i)
			peer, ok := g.PeerPort(p)
			switch {
			case i < 2:
				terminal, _ := g.PeerTerminal(p)
				simtest.FatalIf(t, ok || int(terminal) != 2*int(s)+i, "switch %d port %d: terminal %d", s, i, terminal)
			case i < 5:
				want := i - 2
				if want >= local {
					want++
				}
				simtest.FatalIf(t, int(g.PortSwitch[peer]) != group*4+want, "switch %d port %d: local switch %d, want %d", s, i, g.PortSwitch[peer]%4, want)
			default:
				j := local*2 + i - 5
				want, wantJ := j, group-1 // the other end is in a smaller group: it counts us as its port group-1
				if j >= group {
					want, wantJ = j+1, group
				}
				u := g.PortSwitch[peer]
				gotJ := int(u)%4*2 + g.LocalPort(peer) - 5
				simtest.FatalIf(t, int(u)/4 != want || gotJ != wantJ, "group %d global port %d: group %d port %d, want %d port %d", group, j, u/4, gotJ, want, wantJ)
			}
		}
	}
}

// First principles on a = 2, h = 2, g = 5: where port j of group 1 leads.
func TestDragonflyArrangements(t *testing.T) {
	for arrangement, want := range map[string][4]int{
		"absolute":  {0, 2, 3, 4},
		"relative":  {2, 3, 4, 0},
		"circulant": {2, 0, 3, 4}, // +1, -1, +2, -2
	} {
		d := dragonfly(t, 1, 2, 2, 0, arrangement)
		g := d.Graph()
		for j, group := range want {
			peer, _ := g.PeerPort(g.PortStart[2+j/2] + topology.PortID(2+j%2))
			simtest.Equal(t, d.GroupOf(g.PortSwitch[peer]), group, "%s: port %d of group 1 leads to group", arrangement, j)
		}
	}
}

// Cables are spread evenly over the pairs of groups, and ports stay free only
// when their number is odd: then one in each group.
func TestDragonflySpreadsEvenly(t *testing.T) {
	for _, arrangement := range []string{"absolute", "relative", "circulant"} {
		for a := 1; a <= 4; a++ {
			for h := 1; h <= 4; h++ {
				for g := 2; g <= a*h+1; g++ {
					d := dragonfly(t, 1, a, h, g, arrangement)
					used, least, most := 0, a*h, 0
					for from := range g {
						for to := range g {
							if from != to {
								n := len(d.Gateways(from, to))
								used, least, most = used+n, min(least, n), max(most, n)
							}
						}
					}
					free := 0
					if a*h*g%2 == 1 {
						free = g
					}
					simtest.ErrorIf(t, most-least > 1 || used != a*h*g-free,
						"%s a=%d h=%d g=%d: %d to %d cables a pair, %d of %d ports used", arrangement, a, h, g, least, most, used, a*h*g)
				}
			}
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	b.Run("dragonfly/terminals=16512", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			dragonfly(b, 8, 16, 8, 0, "absolute")
		}
	})
}

// The reference data's two networks: pairs of leaves by distance, counted there. Capacity: balanced
// groups (p = l = s = h = 2, g = 5): 4*5/(2*2*4) = 5/4 by the global channels, 2*10/(2*9) = 10/9 by
// those up; of 3, 9*10/(3*3*9) = 10/9 by the former, 3*30/(3*29) by the latter. Twice the
// terminals: half of that. One global port (g = 3): 2*3/(2*2*2) = 3/4 by the global ones.
func TestMegafly(t *testing.T) {
	for _, c := range []struct {
		config topology.MegaflyConfig
		pairs  string
		mean   float64
		links  int
		most   float64 // capacity
	}{
		{topology.MegaflyConfig{3, 3, 3, 3, 0, "absolute"}, "[30 0 60 810]", 2.931034, 135, 30. / 29},
		{topology.MegaflyConfig{2, 2, 2, 2, 0, "absolute"}, "[10 0 10 80]", 2.888889, 30, 10. / 9},
		{topology.MegaflyConfig{4, 2, 2, 2, 0, "absolute"}, "[10 0 10 80]", 2.888889, 30, 5. / 9},
		{topology.MegaflyConfig{2, 2, 2, 1, 0, "absolute"}, "[6 0 6 24]", 2.8, 15, 3. / 4},
	} {
		x := topologytest.Build(t, "megafly", func(d *topology.MegaflyConfig) { *d = c.config }).(*topology.Megafly)
		m := metrics.Measure(x.Graph())
		simtest.ErrorIf(t, fmt.Sprint(m.Pairs) != c.pairs || math.Abs(m.MeanDistance-c.mean) > 5e-7 || m.Links != c.links, "%+v: %+v", c.config, m)
		simtest.Near(t, x.Forms().UniformCapacity, c.most, 1e-12, "%+v:", c.config)
	}
	// Radix 36: 18 leaves and 18 spines a group, 18 terminals and 18 global ports:
	// 324*325 terminals on 11,700 switches.
	f := topologytest.Build(t, "megafly", func(d *topology.MegaflyConfig) { *d = topology.MegaflyConfig{18, 18, 18, 18, 0, "absolute"} }).Facts()
	simtest.ErrorIf(t, f.Terminals != 105300 || f.Switches != 11700, "%+v", f)
}
