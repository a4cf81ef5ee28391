package core_test

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// arrivalsOf are the cycles in which packets of a script arrive at a terminal of a single switch.
func arrivalsOf(t *testing.T, config fabric.Config, terminals int, dst topology.TerminalID, s *script) (cycles []int64) {
	t.Helper()
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = terminals })
	n.play(t, config, s, 200)
	for _, d := range s.delivered {
		if d.Dst == dst {
			cycles = append(cycles, d.Cycle)
		}
	}
	return cycles
}

// TestCreditsBack: three packets of a terminal for another one of a single switch, one virtual
// channel, speedup 2, all stages 1 step, channels of 1 cycle, credit_cycles 1. The first enters its
// channel in cycle 11, crosses in step 24 in cycle 12 and arrives in cycle 14. Its credit could
// leave at the end of switch allocation, step 25, so leaves in cycle 13 and is back in 15, 4 cycles
// after the flit left: only then does the second one enter. With 2 flits each, the tail's credit is
// back a cycle later, and the tail, which is what arrives, comes a cycle later.
//
// A terminal with a buffer takes the flit in the cycle in which it arrives, 14, and sends the credit
// in the next, 15, which is back in 16 and counts from 17 on: 5 cycles after the head crossed in 12.
func TestCreditsBack(t *testing.T) {
	for _, c := range []struct {
		reuse          string
		vcAlloc, flits int
		buffer         int
		want           []int64
	}{
		{fabric.TailSent, 0, 1, 0, []int64{14, 15, 16}},
		{fabric.CreditsBack, 0, 1, 0, []int64{14, 18, 22}},
		{fabric.CreditsBack, 0, 2, 0, []int64{15, 20, 25}},
		{fabric.CreditsBack, 0, 1, 4, []int64{14, 19, 24}},
	} {
		config, s := fabric.DefaultConfig(), &script{}
		config.Switch.VCs, config.Switch.VCReuse, config.Switch.VCAllocCycles, config.Terminal.BufferFlits = 1, c.reuse, c.vcAlloc, c.buffer
		for range 3 {
			s.send(0, fabric.PacketSpec{Birth: 10, Dst: 1, Flits: int32(c.flits)})
		}
		got := arrivalsOf(t, config, 2, 1, s)
		simtest.ErrorIf(t, !slices.Equal(got, c.want), "%+v: arrive in cycles %v", c, got)
	}
}

// TestInputSpeedup: terminal 5 has a packet for terminal 2 on virtual channel 0 and, a cycle behind,
// one for terminal 3 on channel 1. The core takes a step a cycle. For output 2 terminals 0 and 1
// have one each, which come with the first and go before it, in the round robin of the output, and
// for output 3 terminal 0 has one behind the other, which goes before the second. So both are alone
// at their outputs two steps after the first came: they leave together where a port has two inputs
// of the crossbar, one after the other where it has one.
func TestInputSpeedup(t *testing.T) {
	for inputs, want := range map[int]int64{1: 1, 2: 0} {
		config, last := fabric.DefaultConfig(), map[topology.TerminalID]int64{}
		config.Switch.VCs, config.Switch.Speedup, config.Switch.InputSpeedup = 2, 1, inputs
		for _, dst := range []topology.TerminalID{2, 3} {
			s := &script{}
			s.send(0, fabric.PacketSpec{Birth: 10, Dst: 2, Flits: 1})
			s.send(1, fabric.PacketSpec{Birth: 10, Dst: 2, Flits: 1})
			s.send(5, fabric.PacketSpec{Birth: 10, Dst: 2, Flits: 1})
			s.send(0, fabric.PacketSpec{Birth: 11, Dst: 3, Flits: 1})
			s.send(5, fabric.PacketSpec{Birth: 11, Dst: 3, Flits: 1})
			last[dst] = slices.Max(arrivalsOf(t, config, 6, dst, s))
		}
		got := last[3] - last[2]
		simtest.ErrorIf(t, max(got, -got) != want,
			"%d inputs a port: the last packets arrive in cycles %v, want %d between them", inputs, last, want)
	}
}

// TestPutVCsForward: by the rule, for one packet and one virtual channel after the other. Each packet
// chooses the first that it asks for from its pointer on, and each virtual channel the first queue
// that has chosen it from its own on, both around the end.
func TestPutVCsForward(t *testing.T) {
	random := sim.NewStream(1, "virtual channels", 0)
	const ports, vcs = 4, 3
	config := pipelined()
	config.Switch.VCs, config.Switch.VCAllocator = vcs, fabric.InputFirst
	f := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = ports }).fabric(t, config)
	f.OpenIdle()
	for range 5000 {
		a := f.PutVCsForward(random.IntN)
		chosen := map[uint32]uint32{}
		for queue, r := range a.Asks {
			for i := range uint32(ports * vcs) {
				ov := (a.AcceptOV[queue] + i) % (ports * vcs)
				if ov/vcs == r.Output && r.Set>>(ov%vcs)&1 != 0 {
					chosen[queue] = ov
					break
				}
			}
		}
		want := map[uint32]uint32{}
		for ov := range uint32(ports * vcs) {
			for i := range uint32(ports * vcs) {
				queue := (a.OwnerOV[ov] + i) % (ports * vcs)
				if c, ok := chosen[queue]; ok && c == ov {
					want[queue] = ov
					break
				}
			}
		}
		simtest.FatalIf(t, len(want) != len(a.Matched), "%+v: want %v", a, want)
		for queue, ov := range want {
			got, ok := a.Matched[queue]
			simtest.FatalIf(t, !ok || got != ov, "%+v: want %v", a, want)
		}
	}
}
