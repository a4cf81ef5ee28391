package core_test

import (
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
	if a := accepted[fabric.Serial]; a > 0.25 {
		t.Errorf("serial: accepts %.3f of 0.3", a)
	}
	if a := accepted[fabric.Overlapped]; a < 0.29 {
		t.Errorf("overlapped: accepts %.3f of 0.3", a)
	}
}
