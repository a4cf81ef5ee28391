package topology_test

import (
	"runtime"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

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
