package core_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// counting is what an occupancy reader sees of one port of a switch when the
// last packet of a cycle is routed there.
type counting struct {
	waiting, crossed map[int64]int // by cycle
	most             int
}

// onLine watches the upward port of a switch of a line with two terminals a switch, and counts
// slots until credits are sent, or not.
func onLine(t *testing.T, switches int, at topology.SwitchID, slots bool) (network, *counting) {
	n := newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{switches}, 2 })
	c, port := &counting{waiting: map[int64]int{}, crossed: map[int64]int{}}, n.topo.(topology.Grid).Towards(at, 0, true)
	needs := fabric.Needs{Queues: true, Crossed: true, SensesCredits: slots, HeldSlots: slots}
	n.routing = spy{n.routing, needs, func(v *fabric.View, h *fabric.Head, _ *fabric.Hop) {
		if h.Switch == at {
			c.waiting[v.Cycle()], c.crossed[v.Cycle()] = v.WaitingAll(port), v.Crossed(port, 0)
			c.most = max(c.most, v.WaitingAll(port))
		}
	}}
	return n, c
}

// TestCrossedFlitsWait: two terminals of switch 0 each send 8 flits to switch 1 over a channel that
// takes 4 cycles a flit. The switch, of speedup 2 and without stages, takes both flits of a cycle
// across at once. They arrive in cycles 2 to 9; the channel takes the first in cycle 3, the next in
// 7 and 11. So in cycle k there wait, of the 2(k-2) that came before, all but those that left
// before k; and the one that was routed first in cycle k.
func TestCrossedFlitsWait(t *testing.T) {
	n, c := onLine(t, 2, 0, false)
	config := fabric.DefaultConfig()
	config.Switch.VCs, config.Switch.VCAllocCycles, config.Switch.CrossbarCycles, config.Switch.Speedup = 1, 0, 0, 2
	config.Channels = map[string]fabric.ChannelConfig{"grid": {CyclesPerFlit: 4, Latency: sim.Nanosecond}, "terminal": {Latency: sim.Nanosecond}}
	s := &script{}
	for range 8 {
		s.send(0, fabric.PacketSpec{Birth: 0, Dst: 2, Flits: 1})
		s.send(1, fabric.PacketSpec{Birth: 0, Dst: 3, Flits: 1})
	}
	f := n.play(t, config, s, 300)
	for k, left := range map[int64]int{2: 0, 3: 0, 4: 1, 5: 1, 6: 1, 7: 1, 8: 2, 9: 2} {
		crossed := 2*(int(k)-2) - left
		if c.waiting[k] != crossed+1 || c.crossed[k] != crossed {
			t.Errorf("cycle %d: %d waiting, %d of them crossed; want %d, %d", k, c.waiting[k], c.crossed[k], crossed+1, crossed)
		}
	}
	simtest.ErrorIf(t, len(c.waiting) != 8, "packets were routed in %d cycles, want 8", len(c.waiting))
	simtest.Check(t, f.Audit())
}

// TestHeldSlotsWait: three terminals load the channel from switch 2 to switch 3 of a line, of which
// the one of switch 1 sends half a flit a cycle: less than their channel takes, so that hardly
// anything waits there as long as switch 2 has room. With slots counted until credits are sent, the
// growing round trip shows at switch 1 long before its own queue does. (Its idle port down the line
// has no t_d to take off.)
func TestHeldSlotsWait(t *testing.T) {
	most := map[bool]int{}
	for _, slots := range []bool{false, true} {
		n, c := onLine(t, 4, 1, slots)
		config := fabric.DefaultConfig()
		config.Switch.VCs, config.Switch.BufferFlits = 1, 256
		s := &script{}
		for i := range int64(100) {
			s.send(2, fabric.PacketSpec{Birth: 2 * i, Dst: 6, Flits: 1})
			s.send(4, fabric.PacketSpec{Birth: i, Dst: 6, Flits: 1})
			s.send(5, fabric.PacketSpec{Birth: i, Dst: 7, Flits: 1})
		}
		f := n.play(t, config, s, 4000)
		most[slots] = c.most
		simtest.Check(t, f.Audit())
	}
	if most[false] > 2 || most[true] < 10 {
		t.Errorf("at most %d flits wait at switch 1, %d with held slots", most[false], most[true])
	}
}
