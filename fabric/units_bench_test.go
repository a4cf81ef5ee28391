package fabric_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// BenchmarkUnits compares packets as the unit with flits, those of switches that hold
// their ports and wormhole, on packets of 2 and 4 KiB of flits of 64 B. An operation is
// 100 cycles; a packet-hop is a packet that crosses a switch.
func BenchmarkUnits(b *testing.B) {
	for _, net := range []struct {
		name   string
		warmup int64
		load   float64
		build  func() network
	}{
		{"dragonfly-1056", 3000, 0.5, func() network { return dragonflyNetwork(b, "min", 4, 8, 4) }},
		{"fat-tree-1024", 3000, 0.5, func() network {
			return newNetwork(b, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 16, 3 })
		}},
		{"fat-tree-128", 3000, 0.5, func() network {
			return newNetwork(b, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 8, 3 })
		}},
		{"fat-tree-16", 3000, 0.5, func() network {
			return newNetwork(b, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 3 })
		}},
		{"fat-tree-16000", 600, 0.3, func() network {
			return newNetwork(b, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 40, 3 })
		}},
	} {
		for _, flits := range []int{32, 64} {
			for _, unit := range []string{"flit", "flit-hold", "packet"} {
				b.Run(fmt.Sprintf("%s/flits=%d/%s", net.name, flits, unit), func(b *testing.B) {
					config := fabric.DefaultConfig()
					config.Switch.BufferFlits = 2 * flits
					switch unit {
					case "packet":
						packets(&config)
					case "flit-hold":
						config = holding(config)
					}
					net.build().benchmarkPackets(b, config, net.load, flits, net.warmup)
				})
			}
		}
	}
}

func (n network) benchmarkPackets(b *testing.B, config fabric.Config, load float64, flits int, warmup int64) {
	hugePages()
	f := n.fabric(b, config)
	meter, terminals := fabric.NewMeter(100), n.topo.Graph().Terminals()
	source := fabric.NewOpenLoop(terminals, uniform{terminals}, bernoulli{sim.NewGeometric(load / float64(flits))}, fixed(flits), 1)
	if err := f.Attach(source, meter); err != nil {
		b.Fatal(err)
	}
	f.Advance(warmup)
	meter.Open(f.Cycle())
	before, start := f.Counters, cpuTime()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		f.Advance(100)
	}
	hops := float64(f.FlitHops-before.FlitHops) / float64(flits)
	cpu := cpuTime() - start
	b.ReportMetric(float64(cpu.Nanoseconds())/hops, "cpu-ns/packet-hop")
	b.ReportMetric(hops/cpu.Seconds(), "packet-hops/cpu-s")
	b.ReportMetric(heapMB(), "heap-MB")
	runtime.KeepAlive(f)
}
