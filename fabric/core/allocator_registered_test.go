package core_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/simtest"
)

// Two packets for terminal 2 meet at a switch: one of terminal 0, born in cycle 1, and one of
// terminal 1, born in cycle 0 and sent in cycle 1 behind another packet. Both enter their channels
// in the same cycle. By age that of terminal 1 goes first; a round robin begins with input 0.
func TestAgeIsCountedFromBirth(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 4 })
	for name, first := range map[string]topology.TerminalID{"age": 1, "islip": 0} {
		config, s := fabric.DefaultConfig(), &script{}
		config.Switch.Allocator = allocator.Named(name)
		s.send(0, fabric.PacketSpec{Birth: 1, Dst: 2, Flits: 1})
		s.send(1, fabric.PacketSpec{Birth: 0, Dst: 3, Flits: 1})
		s.send(1, fabric.PacketSpec{Birth: 0, Dst: 2, Flits: 1})
		n.play(t, config, s, 100)
		var sources []topology.TerminalID
		for _, d := range s.delivered {
			if d.Dst == 2 {
				sources = append(sources, d.Src)
			}
		}
		simtest.ErrorIf(t, len(sources) != 2 || sources[0] != first, "%s: from terminals %v, want %d first", name, sources, first)
	}
}

// Every allocator that is registered loses nothing in a loaded network, and needs no
// memory in steady state.
func TestRegisteredAllocators(t *testing.T) {
	for _, name := range allocator.Registry.Names() {
		t.Run(name, func(t *testing.T) {
			n := dragonflyNetwork(t, "min", 2, 4, 2)
			config, meter := fabric.DefaultConfig(), measure.NewMeter(1<<40)
			config.Switch.Allocator = allocator.Named(name)
			f := n.fabric(t, config)
			source := n.traffic(0.4, 1)
			f.Attach(fabric.Ends{Source: source, Sink: meter})
			meter.Open(0)
			if f.Advance(2000); !check.On { // the checked build needs memory for its checks
				f.Advance(18_000)
				allocations := testing.AllocsPerRun(5, func() { f.Advance(1000) })
				simtest.ErrorIf(t, allocations > 0, "%v allocations of memory in 1000 cycles", allocations)
			}
			source.Stop(f.Cycle())
			f.Advance(1000)
			simtest.ErrorIf(t, f.InFlight() != 0 || f.InjectedFlits != f.DeliveredFlits || f.Packets == 0,
				"%d packets in flight, counters %+v", f.InFlight(), f.Counters)
		})
	}
}
