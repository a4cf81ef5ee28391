package topology

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/weft-sim/weft/sim/param"
)

func init() {
	for _, s := range []struct {
		config XGFTConfig
		tight  bool
	}{
		{XGFTConfig{M: []int{5}, W: []int{1}}, false},             // one switch
		{XGFTConfig{M: []int{2, 4}, W: []int{1, 2}}, true},        // full bisection: 4
		{XGFTConfig{M: []int{4, 4}, W: []int{1, 2}}, true},        // tapered to a half: 4
		{XGFTConfig{M: []int{2, 2, 2}, W: []int{1, 2, 1}}, true},  // tapered at the top: 8 leaf cables, 4 top ones
		{XGFTConfig{M: []int{2, 2, 4}, W: []int{1, 1, 2}}, true},  // tapered at the leaves
		{XGFTConfig{M: []int{1, 3, 2}, W: []int{1, 2, 3}}, false}, // wider above
		{XGFTConfig{M: []int{2, 3, 3}, W: []int{1, 2, 2}}, false}, // nothing to halve
		{XGFTConfig{M: []int{3, 2, 1}, W: []int{1, 2, 2}}, false}, // a useless top
		{XGFTConfig{M: []int{3, 2, 4}, W: []int{1, 2, 3}, Parallel: []int{1, 3, 2}}, false},
		{XGFTConfig{M: []int{2, 4}, W: []int{1, 1}, Parallel: []int{1, 3}}, true}, // half of 12
	} {
		addSample("xgft", fmt.Sprint(s.config.M, s.config.W, s.config.Parallel), s.tight, func(c *XGFTConfig) { *c = s.config })
	}
	for _, s := range []struct {
		k, n  int
		tight bool
	}{{2, 1, false}, {6, 1, false}, {4, 2, true}, {6, 2, true}, {2, 3, true}, {4, 3, true}, {6, 3, false}, {4, 4, false}} {
		addSample("fat-tree", fmt.Sprintf("k=%d,n=%d", s.k, s.n), s.tight, func(c *FatTreeConfig) { *c = FatTreeConfig{s.k, s.n} })
	}
}

func xgft(t testing.TB, c XGFTConfig) *XGFT {
	t.Helper()
	x := build(t, "xgft", func(d *XGFTConfig) { *d = c })
	return x.(*XGFT)
}

// taperedTree is the tree of 40-port switches with 40,960 terminals.
var taperedTree = XGFTConfig{M: []int{32, 32, 40}, W: []int{1, 8, 8}}

// 1,280 leaves of 32 terminals and 8 cables up; 40 groups of 32 leaves under 8
// switches; 8*8 tops of 40. Links 1280*8 + 320*8; the top cut is 2560/2.
func TestTaperedTree(t *testing.T) {
	x := xgft(t, taperedTree)
	if got, want := x.Facts(), (Facts{1280 + 320 + 64, 40960, 10240 + 2560, 4, 1280}); got != want {
		t.Errorf("facts %+v, want %+v", got, want)
	}
	CheckGraph(t, x.Graph())
	for s := range SwitchID(x.Graph().Switches()) {
		if d := x.Graph().Degree(s); d != 40 {
			t.Fatalf("switch %d has %d ports", s, d)
		}
	}
	if d := Measure(x.Graph()).Diameter(); d != 4 {
		t.Errorf("diameter %d", d)
	}
}

// The three-level tree of 8-port switches as InfiniBand netlists wire it: leaf
// l of pod p, port 4+i, goes to middle switch i of the pod, port l; its port
// 4+j goes to top 4*i+j, port p.
func TestFatTreeWiring(t *testing.T) {
	topo := build(t, "fat-tree", func(c *FatTreeConfig) { *c = FatTreeConfig{8, 3} })
	if got, want := topo.Facts(), (Facts{32 + 32 + 16, 128, 256, 4, 64}); got != want {
		t.Errorf("facts %+v, want %+v", got, want)
	}
	g := topo.Graph()
	ends := func(s, port int) [2]int {
		peer, _ := g.PeerPort(g.PortStart[s] + PortID(port))
		return [2]int{int(g.PortSwitch[peer]), g.LocalPort(peer)}
	}
	for pod := range 8 {
		for l := range 4 {
			for i := range 4 {
				if got, want := ends(pod*4+l, 4+i), [2]int{32 + pod*4 + i, l}; got != want {
					t.Errorf("pod %d leaf %d up %d: %v, want %v", pod, l, i, got, want)
				}
			}
		}
		for i := range 4 {
			for j := range 4 {
				if got, want := ends(32+pod*4+i, 4+j), [2]int{64 + 4*i + j, pod}; got != want {
					t.Errorf("pod %d middle %d up %d: %v, want %v", pod, i, j, got, want)
				}
			}
		}
	}
}

// The fat tree of the multicast paper: 16,000 terminals on 2,000 switches.
func TestFatTreeOfPaper(t *testing.T) {
	topo := build(t, "fat-tree", func(c *FatTreeConfig) { *c = FatTreeConfig{40, 3} })
	if got, want := topo.Facts(), (Facts{2000, 16000, 32000, 4, 8000}); got != want {
		t.Errorf("facts %+v, want %+v", got, want)
	}
	g := topo.Graph()
	CheckGraph(t, g)
	if g.Switches() != 2000 || g.Terminals() != 16000 || g.SwitchLinks() != 32000 {
		t.Errorf("%d switches, %d terminals, %d links", g.Switches(), g.Terminals(), g.SwitchLinks())
	}
}

func TestTreesRefuse(t *testing.T) {
	for _, c := range []struct {
		topology, key string
		config        any
	}{
		{"xgft", "m", &XGFTConfig{}},
		{"xgft", "m[1]", &XGFTConfig{M: []int{2, 0}, W: []int{1, 1}}},
		{"xgft", "w", &XGFTConfig{M: []int{2, 2}, W: []int{1}}},
		{"xgft", "w[0]", &XGFTConfig{M: []int{2, 2}, W: []int{2, 1}}},
		{"xgft", "parallel", &XGFTConfig{M: []int{2, 2}, W: []int{1, 1}, Parallel: []int{1}}},
		{"xgft", "parallel[0]", &XGFTConfig{M: []int{2, 2}, W: []int{1, 1}, Parallel: []int{2, 1}}},
		{"xgft", "m", &XGFTConfig{M: []int{65536, 65536, 65536, 65536, 65536}, W: []int{1, 1, 1, 1, 1}}},
		{"xgft", "m", &XGFTConfig{M: []int{4096, 4096}, W: []int{1, 65536}, Parallel: []int{1, 65536}}},
		{"xgft", "m", &XGFTConfig{M: []int{1, 65536, 65536, 65536}, W: []int{1, 65536, 65536, 65536}, Parallel: []int{1, 65536, 65536, 65536}}},
		{"fat-tree", "k", &FatTreeConfig{7, 3}},
		{"fat-tree", "n", &FatTreeConfig{4, 0}},
		{"fat-tree", "n", &FatTreeConfig{64, 16}},
	} {
		_, err := Registry.Build(c.topology, c.config, struct{}{})
		var problem *param.ParamError
		if !errors.As(err, &problem) || problem.Key != c.key {
			t.Errorf("%s %+v: %v, want a problem of %s", c.topology, c.config, err, c.key)
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
	var x *XGFT
	for b.Loop() {
		x = xgft(b, taperedTree)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/1024, "KiB-held")
	runtime.KeepAlive(x)
}

func init() {
	for _, c := range []OFTConfig{{3, 0}, {4, 1}, {5, 2}, {6, 1}, {8, 1}} {
		addSample("oft", fmt.Sprintf("%+v", c), false, func(d *OFTConfig) { *d = c })
	}
}

// One path of two hops between different points, k between a point and its copy.
func TestOFTPaths(t *testing.T) {
	for _, k := range []int{3, 4, 5} {
		g := build(t, "oft", func(c *OFTConfig) { c.K = k }).Graph()
		n, neighbours := k*k-k+1, g.Neighbors()
		for s := range SwitchID(2 * n) {
			paths := make([]int, g.Switches())
			for _, line := range neighbours.Of(s) {
				for _, u := range neighbours.Of(line) {
					paths[u]++
				}
			}
			for u := range SwitchID(2 * n) {
				want := 1
				if int(u)%n == int(s)%n {
					want = k
				}
				if paths[u] != want {
					t.Fatalf("k = %d: %d paths from %d to %d, want %d", k, paths[u], s, u, want)
				}
			}
		}
	}
}

func TestOFTRefuses(t *testing.T) {
	refuses(t, "oft", "k", func(c *OFTConfig) { c.K = 7 })
	refuses(t, "oft", "k", func(c *OFTConfig) { c.K = 2 })
}
