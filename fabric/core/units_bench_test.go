package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// BenchmarkUnits compares packets as the unit with flits, of wormhole switches and of
// switches that hold their ports, on packets of 2 and 4 KiB of flits of 64 B. All are
// simulated in turn, 1000 cycles each in an operation, so that what else the machine does
// meets them alike. A packet-hop is a packet that crosses a switch.
func BenchmarkUnits(b *testing.B) {
	tree := func(k int) func() network {
		return func() network {
			return newNetwork(b, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = k, 3 })
		}
	}
	for _, net := range []struct {
		name   string
		warmup int64
		load   float64
		build  func() network
	}{
		{"dragonfly-1056", 3000, 0.5, func() network { return dragonflyNetwork(b, "min", 4, 8, 4) }},
		{"fat-tree-16", 3000, 0.5, tree(4)},
		{"fat-tree-128", 3000, 0.5, tree(8)},
		{"fat-tree-1024", 3000, 0.5, tree(16)},
		{"fat-tree-16000", 800, 0.3, tree(40)},
	} {
		for _, flits := range []int{32, 64} {
			b.Run(fmt.Sprintf("%s/flits=%d", net.name, flits), func(b *testing.B) {
				config := fabric.DefaultConfig()
				config.Switch.BufferFlits = 2 * flits
				whole := config
				packets(&whole)
				sides := []*side{{name: "flits", config: config}, {name: "flits-hold", config: holding(config)}, {name: "packets", config: whole}}
				net.build().sideBySide(b, sides, net.load, flits, net.warmup)
			})
		}
	}
}

// side is one of several simulations of a network.
type side struct {
	name   string
	config fabric.Config
	fabric *core.Fabric
	hops   int64 // of flits
	cpu    time.Duration
}

// sideBySide simulates all sides in turn, and reports the time of each for a packet-hop.
func (n network) sideBySide(b *testing.B, sides []*side, load float64, flits int, warmup int64) {
	hugePages()
	for _, s := range sides {
		s.fabric = n.fabric(b, s.config)
		meter := measure.NewMeter(100)
		source := n.traffic(load, flits)
		simtest.Check(b, s.fabric.Attach(fabric.Ends{Source: source, Sink: meter}))
		s.fabric.Advance(warmup)
		meter.Open(s.fabric.Cycle())
		s.hops = -s.fabric.FlitHops
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		for _, s := range sides {
			start := cpuTime()
			s.fabric.Advance(1000)
			s.cpu += cpuTime() - start
		}
	}
	for _, s := range sides {
		hops := float64(s.hops+s.fabric.FlitHops) / float64(flits)
		b.ReportMetric(float64(s.cpu.Nanoseconds())/hops, s.name+"-cpu-ns/packet-hop")
		b.ReportMetric(hops/s.cpu.Seconds()/1e6, s.name+"-Mhops/cpu-s")
	}
}
