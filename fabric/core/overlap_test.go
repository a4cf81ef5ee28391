package core_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestPipelineClosedForm: the queue of a terminal that always has packets of L flits, on one virtual channel, passes
// one in so many steps of the switch core (r of route computation, v of virtual-channel allocation, a flit a step):
//
//	serial                             L + r + v
//	overlapped, to outputs in turn     max(L, r, v): each stage has one of the packets
//	overlapped, all to one output      max(L + v, r): its only virtual channel is given
//	                                   away from the step behind a tail, and is used v later
//
// With v = 0 heads take the virtual channel by crossing. So with both stages a step long packets of one flit pass at a
// third of the rate in series, and at the full rate where stages overlap. A step is a cycle (speedup 1), and the
// channels take a flit a cycle. It is so from the first packet on: all take as long in every stage, which come one
// behind the other.
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
						all.Send(0, fabric.PacketSpec{Birth: 0, Dst: topology.TerminalID(1 + i%outputs), Flits: int32(c.l)})
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
					simtest.FatalIf(t, len(all.Delivered) != sent, "%d of %d packets arrived", len(all.Delivered), sent)
					got := all.Delivered[sent-1].Cycle - all.Delivered[0].Cycle
					simtest.ErrorIf(t, got != int64((sent-1)*want),
						"%s, %s, %d outputs, %+v: %d packets in %d cycles, want %d each", unit, pipeline, outputs, c, sent-1, got, want)
				}
			}
		}
	}
}

// TestVCsAheadDoNotDeadlock: on a line of two switches with one virtual channel, dimension order is free of deadlock.
// Terminals 0 to 2 are on the first, 3 to 5 on the second, and all traffic is for 1 and 4. If virtual channels were
// given ahead whatever the front waits for, a packet from 0 to 1 could hold the channel to 1 behind one that waits for
// the far buffer, which is full of a packet to 4; the channel to 4 is held in the same way by a packet from 3 behind
// one that waits for the near buffer and, in the end, for 1. It takes such a switch some hundred packets to stop.
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
					all.Send(p.src, fabric.PacketSpec{Dst: p.dst, Flits: int32(1 + r.IntN(p.most))})
				}
			}
		}
		f.Attach(fabric.Ends{Source: all, Sink: all})
		f.Advance(rounds * 30)
		simtest.ErrorIf(t, len(all.Delivered) != 8*rounds, "buffers of %d flits: %d of %d packets arrived", buffer, len(all.Delivered), 8*rounds)
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
		f, source := n.fabric(t, config), n.traffic(0.3, 1)
		r := simtest.Must(measure.Run(t.Context(), f, source, 0.3, measure.Plan{Warmup: 1000, Window: 2000}))(t)
		accepted[pipeline] = float64(r.Accepted)
	}
	a := accepted[fabric.Serial]
	simtest.ErrorIf(t, a > 0.25, "serial: accepts %.3f of 0.3", a)
	a = accepted[fabric.Overlapped]
	simtest.ErrorIf(t, a < 0.29, "overlapped: accepts %.3f of 0.3", a)
}

// arrivalsOf are the cycles in which packets of a script arrive at a terminal of a single switch.
func arrivalsOf(t *testing.T, config fabric.Config, terminals int, dst topology.TerminalID, s *script) []int64 {
	t.Helper()
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = terminals })
	n.play(t, config, s, 200)
	return s.Arrivals(dst)
}

// TestCreditsBack: three packets of a terminal for another one of a single switch, one virtual channel, speedup 2, all
// stages 1 step, channels of 1 cycle, credit_cycles 1. The first enters its channel in cycle 11, crosses in step 24 in
// cycle 12 and arrives in cycle 14. Its credit could leave at the end of switch allocation, step 25, so leaves in cycle
// 13 and is back in 15, 4 cycles after the flit left: only then does the second one enter. With 2 flits each, the
// tail's credit is back a cycle later, and the tail, which is what arrives, comes a cycle later.
//
// A terminal with a buffer takes the flit in the cycle in which it arrives, 14, and sends the credit in the next, 15,
// which is back in 16 and counts from 17 on: 5 cycles after the head crossed in 12.
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
			s.Send(0, fabric.PacketSpec{Birth: 10, Dst: 1, Flits: int32(c.flits)})
		}
		simtest.EqualSlices(t, arrivalsOf(t, config, 2, 1, s), c.want, "%+v: arrive in cycles", c)
	}
}

// TestInputSpeedup: terminal 5 has a packet for terminal 2 on virtual channel 0 and, a cycle behind, one for terminal 3
// on channel 1. The core takes a step a cycle. For output 2 terminals 0 and 1 have one each, which come with the first
// and go before it, in the round robin of the output, and for output 3 terminal 0 has one behind the other, which goes
// before the second. So both are alone at their outputs two steps after the first came: they leave together where a
// port has two inputs of the crossbar, one after the other where it has one.
func TestInputSpeedup(t *testing.T) {
	for inputs, want := range map[int]int64{1: 1, 2: 0} {
		config, last := fabric.DefaultConfig(), map[topology.TerminalID]int64{}
		config.Switch.VCs, config.Switch.Speedup, config.Switch.InputSpeedup = 2, 1, inputs
		for _, dst := range []topology.TerminalID{2, 3} {
			s := &script{}
			s.Send(0, fabric.PacketSpec{Birth: 10, Dst: 2, Flits: 1})
			s.Send(1, fabric.PacketSpec{Birth: 10, Dst: 2, Flits: 1})
			s.Send(5, fabric.PacketSpec{Birth: 10, Dst: 2, Flits: 1})
			s.Send(0, fabric.PacketSpec{Birth: 11, Dst: 3, Flits: 1})
			s.Send(5, fabric.PacketSpec{Birth: 11, Dst: 3, Flits: 1})
			last[dst] = slices.Max(arrivalsOf(t, config, 6, dst, s))
		}
		got := last[3] - last[2]
		simtest.ErrorIf(t, max(got, -got) != want, "%d inputs a port: the last packets arrive in cycles %v, want %d between them", inputs, last, want)
	}
}

// TestVCsObserved: round robins of virtual-channel allocation are played out for all packets where somebody looks on,
// otherwise only for those that meet others, at once where each asks for one channel. The same packets arrive in the same
// cycles, of decisions for one channel or several at random.
func TestVCsObserved(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 8 })
	for _, pipeline := range []string{fabric.Serial, fabric.Overlapped} {
		var got [2]receivers
		for i := range got {
			random, config := sim.NewStream(1, "decisions", 0), fabric.DefaultConfig()
			config.Switch.VCs, config.Switch.VCAllocCycles, config.Switch.Pipeline = 3, 2, pipeline
			draws := network{n.topo, spy{n.routing, fabric.Needs{}, func(_ *fabric.View, _ *fabric.Head, hop *fabric.Hop) { hop.VCs = 1 + uint32(random.IntN(7)) }}}
			f := draws.fabric(t, config)
			if got[i] = make(receivers, 8); i > 0 {
				f.Count()
			}
			simtest.Check(t, f.Attach(fabric.Ends{Source: n.traffic(0.7, 2), Sink: got[i]}))
			f.Advance(5000)
		}
		for dst := range got[0] {
			simtest.EqualSlices(t, got[1][dst], got[0][dst], "%s: observed, terminal %d gets", pipeline, dst)
		}
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
		a, chosen := f.PutVCsForward(random.IntN), map[uint32]uint32{}
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

// counting is what an occupancy reader sees of one port of a switch when the last packet of a cycle is routed there.
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

// TestCrossedFlitsWait: two terminals of switch 0 each send 8 flits to switch 1 over a channel that takes 4 cycles a
// flit. The switch, of speedup 2 and without stages, takes both flits of a cycle across at once. They arrive in cycles
// 2 to 9; the channel takes the first in cycle 3, the next in 7 and 11. So in cycle k there wait, of the 2(k-2) that
// came before, all but those that left before k; and the one that was routed first in cycle k.
func TestCrossedFlitsWait(t *testing.T) {
	n, c := onLine(t, 2, 0, false)
	config := fabric.DefaultConfig()
	config.Switch.VCs, config.Switch.VCAllocCycles, config.Switch.CrossbarCycles, config.Switch.Speedup = 1, 0, 0, 2
	config.Channels = map[string]fabric.ChannelConfig{"grid": {CyclesPerFlit: 4, Latency: sim.Nanosecond}, "terminal": {Latency: sim.Nanosecond}}
	s := &script{}
	for range 8 {
		s.Send(0, fabric.PacketSpec{Birth: 0, Dst: 2, Flits: 1})
		s.Send(1, fabric.PacketSpec{Birth: 0, Dst: 3, Flits: 1})
	}
	f := n.play(t, config, s, 300)
	for k, left := range map[int64]int{2: 0, 3: 0, 4: 1, 5: 1, 6: 1, 7: 1, 8: 2, 9: 2} {
		crossed := 2*(int(k)-2) - left
		simtest.ErrorIf(t, c.waiting[k] != crossed+1 || c.crossed[k] != crossed,
			"cycle %d: %d waiting, %d of them crossed; want %d, %d", k, c.waiting[k], c.crossed[k], crossed+1, crossed)
	}
	simtest.ErrorIf(t, len(c.waiting) != 8, "packets were routed in %d cycles, want 8", len(c.waiting))
	simtest.Check(t, f.Audit())
}

// TestHeldSlotsWait: three terminals load the channel from switch 2 to switch 3 of a line, of which the one of switch 1
// sends half a flit a cycle: less than their channel takes, so that hardly anything waits there as long as switch 2 has
// room. With slots counted until credits are sent, the growing round trip shows at switch 1 long before its own queue
// does. (Its idle port down the line has no t_d to take off.)
func TestHeldSlotsWait(t *testing.T) {
	most := map[bool]int{}
	for _, slots := range []bool{false, true} {
		n, c := onLine(t, 4, 1, slots)
		config := fabric.DefaultConfig()
		config.Switch.VCs, config.Switch.BufferFlits = 1, 256
		s := &script{}
		for i := range int64(100) {
			s.Send(2, fabric.PacketSpec{Birth: 2 * i, Dst: 6, Flits: 1})
			s.Send(4, fabric.PacketSpec{Birth: i, Dst: 6, Flits: 1})
			s.Send(5, fabric.PacketSpec{Birth: i, Dst: 7, Flits: 1})
		}
		f := n.play(t, config, s, 4000)
		most[slots] = c.most
		simtest.Check(t, f.Audit())
	}
	simtest.ErrorIf(t, most[false] > 2 || most[true] < 10, "at most %d flits wait at switch 1, %d with held slots", most[false], most[true])
}

// dependencyGraph is the whole channel dependency graph of n.
func (n network) dependencyGraph(t testing.TB, vcs int) (certify.Certificate, map[topology.Dependency]bool) {
	t.Helper()
	return routingtest.Certificate(t, n.topo, n.routing, vcs)
}

// checkWaits holds a wait-for cycle to its meaning: each wants the channel that the next one holds,
// and every step is a dependency of the certificate's graph.
func checkWaits(t *testing.T, g map[topology.Dependency]bool, waits []core.Wait) {
	t.Helper()
	simtest.ErrorIf(t, len(waits) < 2, "a cycle of %d", len(waits))
	for i, w := range waits {
		next := waits[(i+1)%len(waits)]
		simtest.ErrorIf(t, w.Wants != next.Holds, "step %d wants %+v, the next holds %+v", i, w.Wants, next.Holds)
		simtest.ErrorIf(t, !g[w.Dependency()], "step %d, %+v, is not in the certificate's graph", i, w.Dependency())
	}
}

// TestDeadlocks: what the certificate refuses does deadlock under load, in all forms of flow control, and the
// watchdog's cycle is one of the certificate's graph. Short buffers make the deadlock a matter of a few hundred cycles.
func TestDeadlocks(t *testing.T) {
	noDatelines := func(dims ...int) network {
		return unsafeNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = dims, 2 }, func(c *routing.DORConfig) { c.Rule = "none" })
	}
	for _, c := range []struct {
		name  string
		net   network
		vcs   int
		flits int
		set   func(*fabric.Config)
	}{
		{"torus without datelines", noDatelines(8), 1, 1, nil},
		{"torus without datelines, wormhole", noDatelines(8, 2), 2, 5, nil},
		{"torus without datelines, cut-through", noDatelines(8), 2, 2, func(c *fabric.Config) { c.Switch.FlowControl = "cut-through" }},
		{"torus without datelines, packets", noDatelines(8), 2, 2, packets},
		{"VAL with two virtual channels", unsafeNetwork(t, "dragonfly", "val", func(c *topology.DragonflyConfig) { c.P, c.A, c.H = 4, 4, 2 },
			func(c *routing.ValConfig) {}), 2, 4, nil},
		{"PAR with two virtual channels", unsafeNetwork(t, "dragonfly", "par", func(c *topology.DragonflyConfig) { c.P, c.A, c.H = 4, 4, 2 },
			func(c *routing.UGALSettings) {}), 2, 4, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			certificate, g := c.net.dependencyGraph(t, c.vcs)
			simtest.FatalIf(t, certificate.Acyclic(), "certified")
			config := fabric.DefaultConfig()
			config.Fabric.AllowDeadlock = true
			config.Switch.VCs, config.Switch.BufferFlits = c.vcs, 2
			if c.set != nil {
				c.set(&config)
			}
			f, source := c.net.fabric(t, config), c.net.traffic(1, c.flits)
			_, err := measure.Run(t.Context(), f, source, 1, measure.Plan{Warmup: 5000, Window: 20000})
			var deadlock *core.DeadlockError
			simtest.FatalIf(t, !errors.As(err, &deadlock), "no deadlock: %v", err)
			checkWaits(t, g, deadlock.Waits)
			again := f.WaitForCycle()
			simtest.ErrorIf(t, len(again) != len(deadlock.Waits), "looking changes what is seen: %d buffers, then %d", len(deadlock.Waits), len(again))
		})
	}
}

// TestNoWaits: a network that drains has no wait-for cycle at its end.
func TestNoWaits(t *testing.T) {
	f, _ := dragonflyNetwork(t, "min", 2, 4, 2).run(t, fabric.DefaultConfig(), 0.9, 1, measure.Plan{Warmup: 200, Window: 500})
	waits := f.WaitForCycle()
	simtest.ErrorIf(t, waits != nil, "%+v", waits)
}

// unsafeNetwork builds a network whose routing may lack virtual channels.
func unsafeNetwork[C, R any](t testing.TB, family, algorithm string, set func(*C), choose func(*R)) network {
	t.Helper()
	topo := simtest.Must(param.Make(topology.Registry, family, struct{}{}, set))(t)
	r := simtest.Must(param.Make(routing.Registry, algorithm, routing.Env{Topology: topo, Seed: 1, VCs: 1, AllowDeadlock: true}, choose))(t)
	return network{topo, r}
}
