package fabric_test

import (
	"fmt"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim"
)

// BenchmarkDragonfly runs the 1056-terminal dragonfly under minimal routing
// and uniform traffic, with all statistics. An operation is a cycle.
func BenchmarkDragonfly(b *testing.B) {
	for _, channels := range []struct {
		name          string
		local, global sim.Time
		buffer        int
	}{{"long", 10, 100, 256}, {"short", 1, 10, 32}} {
		for _, load := range []float64{0.1, 0.4, 0.7} {
			b.Run(fmt.Sprintf("channels=%s/load=%v", channels.name, load), func(b *testing.B) {
				config := pipelined()
				config.Switch.VCs = 3
				config.Switch.BufferFlits = channels.buffer
				config.Channels = map[string]fabric.ChannelConfig{
					"local":  {Latency: channels.local * sim.Nanosecond},
					"global": {Latency: channels.global * sim.Nanosecond},
				}
				dragonflyNetwork(b, "min", 4, 8, 4).benchmark(b, config, load)
			})
		}
	}
}

// benchmark measures cycles of the network in steady state.
func (n network) benchmark(b *testing.B, config fabric.Config, load float64) {
	f := n.fabric(b, config)
	terminals := n.topo.Graph().Terminals()
	meter := fabric.NewMeter(100)
	f.Attach(fabric.NewOpenLoop(terminals, uniform{terminals}, bernoulli{sim.NewGeometric(load)}, fixed(1), 1), meter)
	f.Advance(2000)
	meter.Open(f.Cycle())
	before, start := f.Counters, cpuTime()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		f.Advance(1)
	}
	hops := float64(f.FlitHops - before.FlitHops)
	cpu := cpuTime() - start
	b.ReportMetric(float64(cpu.Nanoseconds())/hops, "cpu-ns/flit-hop")
	b.ReportMetric(hops/cpu.Seconds(), "flit-hops/cpu-s")
}
