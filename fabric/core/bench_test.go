package core_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/mem"
)

// BenchmarkDragonfly runs the 1056-terminal dragonfly under minimal routing
// and uniform traffic, with all statistics. An operation is a cycle.
func BenchmarkDragonfly(b *testing.B) {
	for _, channels := range []struct {
		name          string
		local, global sim.Time
		buffer        int
	}{{"long", 10, 100, 256}, {"short", 1, 10, 32}} {
		for _, load := range []float64{0.1, 0.4, 0.7, 0.95} { // the last one is past saturation
			b.Run(fmt.Sprintf("channels=%s/load=%v", channels.name, load), func(b *testing.B) {
				config := fabric.DefaultConfig()
				config.Switch.VCs = 3
				config.Switch.BufferFlits = channels.buffer
				config.Channels = map[string]fabric.ChannelConfig{
					"local":  {Latency: channels.local * sim.Nanosecond},
					"global": {Latency: channels.global * sim.Nanosecond},
				}
				n := dragonflyNetwork(b, "min", 4, 8, 4)
				n.benchmark(b, config, routingtest.Others(n.topo.Graph().Terminals()), load, 1, 2000)
			})
		}
	}
}

// BenchmarkTiles runs the 16,512-terminal dragonfly on one thread, whole and in tiles. An
// operation is a cycle: -benchtime 500x has windows of full length.
func BenchmarkTiles(b *testing.B) {
	for _, c := range []struct {
		name  string
		state int // of a tile
	}{{"whole", 1 << 40}, {"tiles", 3 << 18}} {
		b.Run(c.name, func(b *testing.B) {
			core.TileFrom(b.Cleanup, c.state, 16)
			config := fabric.DefaultConfig()
			config.Switch.VCs, config.Switch.BufferFlits = 3, 256
			config.Channels = map[string]fabric.ChannelConfig{"local": {Latency: 10 * sim.Nanosecond}, "global": {Latency: 100 * sim.Nanosecond}}
			n := dragonflyNetwork(b, "min", 8, 16, 8)
			n.benchmark(b, config, routingtest.Others(n.topo.Graph().Terminals()), 0.4, 1, 200)
		})
	}
}

// BenchmarkThreads tells by how much threads could be faster than one, were nothing lost at barriers: the bound by
// the flit-hops that domains count in a window. An operation is a window; -benchtime 5x will do.
func BenchmarkThreads(b *testing.B) {
	core.DivideAlways(b.Cleanup)
	for _, size := range []int{4, 8} {
		for _, latency := range []sim.Time{1, 10} {
			for _, threads := range []int{2, 4, 8, 16, 64} {
				config := fabric.DefaultConfig()
				config.Switch.VCs, config.Switch.BufferFlits = 3, 256
				config.Channels = map[string]fabric.ChannelConfig{"local": {Latency: latency * sim.Nanosecond}, "global": {Latency: latency * latency * sim.Nanosecond}}
				n := dragonflyNetwork(b, "min", size, 2*size, size)
				terminals := n.topo.Graph().Terminals()
				b.Run(fmt.Sprintf("terminals=%d/global=%d/threads=%d", terminals, latency*latency, threads), func(b *testing.B) {
					f := n.fabric(b, config)
					f.Split(threads)
					f.Attach(fabric.Ends{Source: measure.NewOpenLoop(terminals, routingtest.Others(terminals), routingtest.AtRate(0.4), routingtest.Fixed(1), 1), Sink: measure.NewMeter(100)})
					f.Advance(300)
					bound, hops := f.Bound(b.N)
					b.ReportMetric(bound, "times-at-most")
					b.ReportMetric(hops, "flit-hops/window")
					b.ReportMetric(float64(f.Lookahead()), "cycles/window")
					b.ReportMetric(float64(f.Domains()), "domains")
				})
			}
		}
	}
}

// BenchmarkAdaptive compares the cost of adaptive decisions with that of minimal
// routing, at the same load, on the dragonfly paper's switch.
func BenchmarkAdaptive(b *testing.B) {
	for _, algorithm := range []string{"min", "val", "ugal-g", "ugal-l", "ugal-l-vc", "ugal-l-vch", "ugal-l-cr", "ugal-pb", "par"} {
		b.Run(algorithm, func(b *testing.B) {
			config := fabric.DefaultConfig()
			config.Switch.VCs, config.Switch.BufferFlits = 4, 16
			n := dragonflyNetwork(b, algorithm, 4, 8, 4)
			n.benchmark(b, config, routingtest.Others(n.topo.Graph().Terminals()), 0.4, 1, 1000)
		})
	}
}

// BenchmarkTree runs three-level trees of 40-port switches at load 0.3: 16,000 terminals with full
// bisection under uniform traffic, and 40,960 with a quarter of the channels up at two levels,
// under traffic that stays close: at load 0.3 the tapered top carries 0.0625 a terminal.
func BenchmarkTree(b *testing.B) {
	for _, tree := range []struct {
		name    string
		build   func() network
		pattern func(terminals int) measure.Pattern
	}{
		{"terminals=16000/traffic=uniform", func() network {
			return newNetwork(b, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 40, 3 })
		}, func(terminals int) measure.Pattern { return routingtest.Others(terminals) }},
		{"terminals=40960/traffic=local", func() network {
			return newNetwork(b, "xgft", "nca", func(c *topology.XGFTConfig) { c.M, c.W = []int{32, 32, 40}, []int{1, 8, 8} })
		}, func(terminals int) measure.Pattern { return local{terminals, 32, 1024} }},
	} {
		b.Run(tree.name, func(b *testing.B) {
			start := time.Now()
			n := tree.build()
			config := fabric.DefaultConfig()
			config.Switch.VCs = 2
			terminals := n.topo.Graph().Terminals()
			b.Logf("%d terminals built in %v", terminals, time.Since(start).Round(time.Millisecond))
			n.benchmark(b, config, tree.pattern(terminals), 0.3, 1, 200)
		})
	}
}

// local sends a third of its packets within the leaf, half of them within the
// pod, the others anywhere.
type local struct{ terminals, leaf, pod int }

func (l local) Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID {
	size := l.terminals
	switch x := r.IntN(100); {
	case x < 33:
		size = l.leaf
	case x < 83:
		size = l.pod
	}
	first := int(src) / size * size
	d := first + r.IntN(size-1)
	if d >= int(src) {
		d++
	}
	return topology.TerminalID(d)
}

// hugePages lets benchmarks have the memory that the command has.
var hugePages = sync.OnceFunc(func() { mem.ReserveHugePages(128 << 20) })

// benchmark measures cycles of the network in steady state, which so many
// cycles of warm-up lead to, with packets of so many flits.
func (n network) benchmark(b *testing.B, config fabric.Config, pattern measure.Pattern, load float64, flits int, warmup int64) {
	hugePages()
	f := n.fabric(b, config)
	f.Tile()
	meter := measure.NewMeter(100)
	f.Attach(fabric.Ends{Source: measure.NewOpenLoop(n.topo.Graph().Terminals(), pattern, routingtest.AtRate(load/float64(flits)), routingtest.Fixed(flits), 1), Sink: meter})
	f.Advance(warmup)
	meter.Open(f.Cycle())
	before, start := f.Counters, cpuTime()
	b.ReportAllocs()
	b.ResetTimer()
	f.Advance(int64(b.N))
	hops := float64(f.FlitHops - before.FlitHops)
	cpu := cpuTime() - start
	b.ReportMetric(float64(cpu.Nanoseconds())/hops, "cpu-ns/flit-hop")
	b.ReportMetric(hops/cpu.Seconds(), "flit-hops/cpu-s")
	b.ReportMetric(hops/float64(b.N), "flit-hops/op")
	b.ReportMetric(hops/float64(f.DeliveredFlits-before.DeliveredFlits), "hops/flit")
	b.ReportMetric(heapMB(), "heap-MB")
	runtime.KeepAlive(f)
}

// heapMB is the heap in use, garbage left out.
func heapMB() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}
