package core_test

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestPipelineClosedForm: the queue of a terminal that always has packets of L flits, on
// one virtual channel, passes one in so many steps of the switch core (r of route
// computation, v of virtual-channel allocation, a flit a step):
//
//	serial                             L + r + v
//	overlapped, to outputs in turn     max(L, r, v): each stage has one of the packets
//	overlapped, all to one output      max(L + v, r): its only virtual channel is given
//	                                   away from the step behind a tail, and is used v later
//
// With v = 0 heads take the virtual channel by crossing. So with both stages a step long
// packets of one flit pass at a third of the rate in series, and at the full rate where
// stages overlap. A step is a cycle (speedup 1), and the channels take a flit a cycle.
func TestPipelineClosedForm(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 3 })
	for _, unit := range []string{fabric.UnitFlit, fabric.UnitPacket} {
		for _, pipeline := range []string{fabric.Serial, fabric.Overlapped} {
			for _, outputs := range []int{1, 2} {
				for _, c := range []struct{ l, r, v int }{
					{1, 1, 1}, {1, 0, 1}, {1, 1, 0}, {2, 1, 1}, {1, 3, 0}, {1, 2, 3}, {3, 5, 1}, {4, 2, 7}, {6, 3, 2}, {5, 0, 2},
				} {
					config := fabric.DefaultConfig()
					if unit == fabric.UnitPacket {
						packets(&config)
					}
					s := &config.Switch
					s.RouteCycles, s.VCAllocCycles, s.Speedup, s.VCs, s.Pipeline = c.r, c.v, 1, 1, pipeline
					f, all := n.fabric(t, config), &script{}
					const sent = 40
					for i := range sent {
						all.send(0, fabric.PacketSpec{Birth: 0, Dst: topology.TerminalID(1 + i%outputs), Flits: int32(c.l)})
					}
					f.Attach(fabric.Ends{Source: all, Sink: all})
					f.Advance(sent*20 + 100)
					want := c.l + c.r + c.v
					if pipeline == fabric.Overlapped && outputs == 1 {
						want = max(c.l+c.v, c.r)
					} else if pipeline == fabric.Overlapped {
						want = max(c.l, c.r, c.v)
					}
					queue, output := s.PacketSteps(float64(c.l))
					simtest.ErrorIf(t, max(queue, output*float64(2-outputs)) != float64(want),
						"%s, %d outputs, %+v: PacketSteps %v and %v, want %d", pipeline, outputs, c, queue, output, want)
					simtest.FatalIf(t, len(all.delivered) != sent, "%d of %d packets arrived", len(all.delivered), sent)
					last, before := all.delivered[sent-1].Cycle, all.delivered[sent-21].Cycle
					got := last - before
					simtest.ErrorIf(t, got != int64(20*want),
						"%s, %s, %d outputs, %+v: 20 packets in %d cycles, want %d each", unit, pipeline, outputs, c, got, want)
				}
			}
		}
	}
}

// TestVCsAheadDoNotDeadlock: on a line of two switches with one virtual channel, dimension order is
// free of deadlock. Terminals 0 to 2 are on the first, 3 to 5 on the second, and all traffic is for
// 1 and 4. If virtual channels were given ahead whatever the front waits for, a packet from 0 to 1
// could hold the channel to 1 behind one that waits for the far buffer, which is full of a packet
// to 4; the channel to 4 is held in the same way by a packet from 3 behind one that waits for the
// near buffer and, in the end, for 1. It takes such a switch some hundred packets to stop.
func TestVCsAheadDoNotDeadlock(t *testing.T) {
	n := newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{2}, 3 })
	for _, buffer := range []int{3, 5, 7} {
		config := pipelined()
		config.Switch.Pipeline, config.Switch.VCs, config.Switch.BufferFlits = fabric.Overlapped, 1, buffer
		f, all, r := n.fabric(t, config), &script{}, sim.NewStream(1, "test", buffer)
		const rounds = 1000
		for range rounds {
			for side := range topology.TerminalID(2) {
				near, far := 1+3*side, 4-3*side
				for _, p := range []struct {
					src, dst topology.TerminalID
					most     int
				}{{3 * side, far, 5}, {3 * side, near, 3}, {near + 1, near, 7}, {near, far, 2}} {
					all.send(p.src, fabric.PacketSpec{Dst: p.dst, Flits: int32(1 + r.IntN(p.most))})
				}
			}
		}
		f.Attach(fabric.Ends{Source: all, Sink: all})
		f.Advance(rounds * 30)
		simtest.ErrorIf(t, len(all.delivered) != 8*rounds,
			"buffers of %d flits: %d of %d packets arrived", buffer, len(all.delivered), 8*rounds)
	}
}

// TestTorusOverlapped: what the stages cost a torus. At load 0.3 with both stages a step
// long and speedup 1, serial stages let packets of one flit through at a third of the
// rate of a virtual channel, and the torus saturates; overlapped ones do not.
func TestTorusOverlapped(t *testing.T) {
	accepted := map[string]float64{}
	for _, pipeline := range []string{fabric.Serial, fabric.Overlapped} {
		n := newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{8, 8}, 1 })
		config := fabric.DefaultConfig()
		s := &config.Switch
		s.RouteCycles, s.VCAllocCycles, s.Speedup, s.VCs, s.BufferFlits, s.Pipeline = 1, 1, 1, 2, 16, pipeline
		f := n.fabric(t, config)
		source := n.traffic(0.3, 1)
		r := simtest.Must(measure.Run(t.Context(), f, source, 0.3, measure.Plan{Warmup: 1000, Window: 2000}))(t)
		accepted[pipeline] = float64(r.Accepted)
	}
	a := accepted[fabric.Serial]
	simtest.ErrorIf(t, a > 0.25, "serial: accepts %.3f of 0.3", a)
	a = accepted[fabric.Overlapped]
	simtest.ErrorIf(t, a < 0.29, "overlapped: accepts %.3f of 0.3", a)
}

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
