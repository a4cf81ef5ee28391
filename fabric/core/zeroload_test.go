package core_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// stages are settings of the switch with the cycles that they cost a flit in each switch: (route + vc_alloc +
// switch_alloc + crossbar) steps of the core, speedup of them a cycle, rounded up to the channel's clock.
var stages = []struct {
	name                            string
	route, vcAlloc, alloc, crossbar int
	speedup                         float64
	cycles                          int64
}{
	{"one cycle each, speedup 1", 0, 1, 1, 1, 1, 3}, // the peer's: 3 + channel
	{"one cycle each, speedup 2", 0, 1, 1, 1, 2, 2}, // 3 steps in 2 cycles: the peer's 2 + channel
	{"routing too, speedup 2", 1, 1, 1, 1, 2, 2},    // 4 steps in 2 cycles
	{"single cycle", 0, 0, 1, 0, 1, 1},
	{"single step", 0, 0, 1, 0, 2, 1}, // half a cycle, rounded up
	{"deep", 2, 3, 4, 5, 1, 14},
	{"fractional speedup", 1, 1, 1, 1, 1.5, 3}, // 4 steps of 2/3 cycle; see below
}

// pipeline is c with the stages of a number.
func pipeline(c fabric.Config, stage int) fabric.Config {
	s, st := &c.Switch, &stages[stage]
	s.RouteCycles, s.VCAllocCycles, s.SwitchAllocCycles, s.CrossbarCycles, s.Speedup = st.route, st.vcAlloc, st.alloc, st.crossbar, st.speedup
	return c
}

// TestZeroLoadLatency sends single packets through an idle network of every family and compares with the sum by hand:
//
//	injection_cycles + latency(terminal)
//	+ for each switch: stages, above, + latency of the channel that it is left by
//	+ (flits - 1) behind the head, one a cycle
//
// The channel latencies are distinct for each class.
func TestZeroLoadLatency(t *testing.T) {
	for _, name := range topology.Registry.Names() {
		config, _ := topology.Registry.Config(name)
		if _, reads := config.(topology.PathConfig); reads || name == "edges" || name == "tiers" {
			continue // needs a file
		}
		t.Run(name, func(t *testing.T) {
			topo := simtest.Must(topology.Registry.Build(name, config, struct{}{}))(t)
			n := network{topo, minimalRouting(t, topo)}
			for i, st := range stages {
				if st.speedup == math.Trunc(st.speedup) { // or the cycle depends on the phase: TestFractionalSpeedup
					n.checkZeroLoad(t, i, 1)
					n.checkZeroLoad(t, i, 5)
				}
			}
		})
	}
}

// minimalRouting is the routing of shortest paths that fits a topology.
func minimalRouting(t *testing.T, topo topology.Topology) fabric.Routing {
	t.Helper()
	name := "table"
	switch topo.(type) {
	case topology.Grouped:
		name = "min"
	case topology.Grid:
		name = "dor"
	case topology.Tree:
		name = "nca"
	}
	config := simtest.Must(routing.Registry.Config(name))(t)
	return simtest.Must(routing.Registry.Build(name, config, routing.Env{Topology: topo, Seed: 1}))(t)
}

// checkZeroLoad holds packets of so many flits through stages of a number to the sum.
func (n network) checkZeroLoad(t *testing.T, stage int, flits int32) {
	t.Helper()
	g, name := n.topo.Graph(), stages[stage].name
	config := pipeline(fabric.DefaultConfig(), stage)
	config.Terminal.InjectionCycles = 4
	config.Channels = map[string]fabric.ChannelConfig{}
	latency := make([]int64, len(g.Classes))
	for i, c := range g.Classes {
		latency[i] = int64(3 + 7*i)
		config.Channels[c.Name] = fabric.ChannelConfig{Latency: sim.Time(latency[i]) * sim.Nanosecond}
	}
	s := &script{}
	const spacing = 2000 // longer than any packet is under way
	r, pairs := sim.NewStream(1, "pairs", 0), 60
	for i := range pairs {
		src, dst := topology.TerminalID(r.IntN(g.Terminals())), topology.TerminalID(r.IntN(g.Terminals()))
		s.Send(src, fabric.PacketSpec{Birth: int64(i)*spacing + int64(i%3), Dst: dst, Flits: flits, Tag: uint64(i)})
	}
	f := n.play(t, config, s, int64(pairs)*spacing)
	simtest.FatalIf(t, len(s.Delivered) != pairs, "%s: %d of %d packets arrived", name, len(s.Delivered), pairs)
	sum := int64(0)
	for _, d := range s.Delivered {
		sum += d.Cycle - d.Birth
		want, hops := int64(4)+latency[g.PortClass[g.TerminalPort[d.Src]]]+int64(flits-1), 0
		n.walk(t, d.Src, d.Dst, f.VCs(), func(p topology.PortID) {
			want += stages[stage].cycles + latency[g.PortClass[p]]
			hops++
		})
		if got := d.Cycle - d.Birth; got != want || d.Hops != hops {
			t.Errorf("%s, %d flits: terminal %d to %d takes %d cycles over %d switches, want %d over %d", name, flits, d.Src, d.Dst, got, d.Hops, want, hops)
		}
	}
	const injection = 4 // cycles that no channel has
	idle, mean := injection+f.IdleLatency(f.ChannelFlits(), float64(flits)), float64(sum)/float64(pairs)
	simtest.ErrorIf(t, math.Abs(idle-mean) > 1e-9*mean, "%s, %d flits: %v cycles in the mean, by the channels that were crossed %v", name, flits, mean, idle)
}

// walk follows a packet by the routing's first choice at every switch. All
// choices of the minimal routings cross the same classes of channels.
func (n network) walk(t *testing.T, src, dst topology.TerminalID, vcs int, visit func(topology.PortID)) {
	g := n.topo.Graph()
	h := fabric.Head{Switch: g.TerminalSwitch(src), In: g.TerminalPort[src], Dst: dst}
	for range 100 {
		first := true
		var hop fabric.Hop
		n.routing.(fabric.Explorer).Explore(vcs, h, func(choice fabric.Hop, state uint32, _ float64) {
			if first {
				first, hop, h.State = false, choice, state
			}
		})
		visit(hop.Port)
		peer, ok := g.PeerPort(hop.Port)
		if !ok {
			return
		}
		h.Switch, h.In = g.PortSwitch[peer], peer
	}
	t.Fatalf("no way from terminal %d to %d", src, dst)
}

// TestFractionalSpeedup: with speedup 1.5, cycle c holds the steps from floor(1.5c): cycles
// alternate between one step and two. A packet that arrives in cycle c is allocated from step
// floor(1.5c) on, and after 4 steps leaves in the first cycle that begins no earlier: even c = 2k:
// step 3k+4 <= floor(1.5x) for x = 2k+3; odd c = 2k+1: step 3k+1+4 for x = 2k+4. Both are 3 cycles.
func TestFractionalSpeedup(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 4 })
	for i, st := range stages {
		if st.speedup != math.Trunc(st.speedup) {
			n.checkZeroLoad(t, i, 3)
		}
	}
}

// TestChannelRate: flits of a packet follow one another by the channel's interval, the remainder
// carried: at 2.5 cycles a flit, 9 flits take 8 intervals = 20 cycles from the first to the last
// departure on each channel; with equal rates everywhere only one of them counts.
func TestChannelRate(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 2 })
	config := pipelined()
	config.Channels = map[string]fabric.ChannelConfig{"terminal": {CyclesPerFlit: 2.5}}
	s := &script{}
	s.Send(0, fabric.PacketSpec{Birth: 10, Dst: 1, Flits: 9})
	n.play(t, config, s, 100)
	// 1 injection + 1 channel + 2 switch + 1 channel = 5 for the head.
	simtest.ErrorIf(t, len(s.Delivered) != 1 || s.Delivered[0].Cycle-10 != 5+20, "delivered %+v, want one packet after 25 cycles", s.Delivered)
}

// TestWokenOnSlowChannel: a terminal that hears of a packet while its channel, at 4
// cycles a flit, is busy with the one before waits for the channel. The first packet, born
// in cycle 10, leaves in cycle 11; the second cannot before cycle 15.
func TestWokenOnSlowChannel(t *testing.T) {
	for _, unit := range []string{fabric.UnitFlit, fabric.UnitPacket} {
		n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 2 })
		config := pipelined()
		config.Fabric.Unit = unit
		if unit == fabric.UnitPacket {
			config.Switch.Hold, config.Switch.FlowControl = true, "cut-through"
		}
		config.Channels = map[string]fabric.ChannelConfig{"terminal": {CyclesPerFlit: 4}}
		s := &script{}
		s.Send(0, fabric.PacketSpec{Birth: 10, Dst: 1, Flits: 1})
		f := n.play(t, config, s, 12)
		s.Send(0, fabric.PacketSpec{Birth: 12, Dst: 1, Flits: 1})
		f.Wake(0)
		f.Advance(100)
		simtest.ErrorIf(t, len(s.Delivered) != 2 || s.Delivered[0].Inject != 11 || s.Delivered[1].Inject != 15,
			"%s: delivered %+v, want packets that leave in cycles 11 and 15", unit, s.Delivered)
	}
}

// TestManyHops: on a line of 600 switches, a terminal on each, a packet from the first to the n-th crosses n of them,
// whatever a flit itself can count; one that comes after it by the same record counts from the beginning.
func TestManyHops(t *testing.T) {
	n := newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{600}, 1 })
	for _, flits := range []int32{1, 3, 12} {
		for _, unit := range []string{fabric.UnitFlit, fabric.UnitPacket} {
			config := fabric.DefaultConfig()
			config.Fabric.Unit = unit
			if unit == fabric.UnitPacket {
				config.Switch.FlowControl = fabric.CutThrough
			}
			s, ends := &script{}, []topology.TerminalID{600, 2, 255, 256, 257, 512, 1}
			for i, end := range ends {
				s.Send(0, fabric.PacketSpec{Birth: int64(i) * 3000, Dst: end - 1, Flits: flits, Tag: uint64(i)})
			}
			n.play(t, config, s, int64(len(ends))*3000)
			for i, d := range s.Delivered {
				simtest.ErrorIf(t, d.Hops != int(ends[i]), "%s, %d flits: %d switches crossed, want %d", unit, flits, d.Hops, ends[i])
			}
			simtest.ErrorIf(t, len(s.Delivered) != len(ends), "%s, %d flits: %d of %d packets arrived", unit, flits, len(s.Delivered), len(ends))
		}
	}
}

// pingPong sends a packet back and forth between terminals 0 and 1 so many
// times: a packet is born when the one before arrives.
type pingPong struct {
	f     *core.Fabric
	left  int
	next  fabric.PacketSpec // of terminal 1 - Dst; Never: none
	times []int64
}

func (p *pingPong) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	if t != 1-p.next.Dst || p.next.Birth > until {
		spec.Birth = p.next.Birth
		if t != 1-p.next.Dst {
			spec.Birth = fabric.Never
		}
		return false
	}
	*spec = p.next
	p.next.Birth = fabric.Never
	return true
}

func (p *pingPong) Deliver(d *fabric.Delivery) {
	p.times = append(p.times, d.Cycle)
	if p.left--; p.left > 0 {
		p.next = fabric.PacketSpec{Birth: d.Cycle, Dst: d.Src, Flits: 3}
		p.f.Wake(d.Dst)
	}
}

// Packets born on arrival: each way of 3 flits over one switch takes injection 1 + terminal channel
// 1 + switch 1 + terminal channel 1 + 2 further flits = 6 cycles, and the run ends after the last.
func TestRunToEnd(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 2 })
	p := &pingPong{f: n.fabric(t, fabric.DefaultConfig()), left: 5, next: fabric.PacketSpec{Dst: 1, Flits: 3}}
	simtest.Check(t, measure.RunToEnd(t.Context(), p.f, fabric.Ends{Source: p, Sink: p}, measure.ToEnd{}))
	for i, c := range p.times {
		if c != int64(6*(i+1)) {
			t.Errorf("arrivals in cycles %v, want every 6", p.times)
			break
		}
	}
	simtest.ErrorIf(t, len(p.times) != 5, "%d arrivals, want 5", len(p.times))
}

// A run ends soon after its context.
func TestRunToEndInterrupted(t *testing.T) {
	n := newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims = []int{4} })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &script{}
	s.Send(0, fabric.PacketSpec{Dst: 2, Flits: 1})
	err := measure.RunToEnd(ctx, n.fabric(t, fabric.DefaultConfig()), fabric.Ends{Source: s, Sink: s}, measure.ToEnd{})
	simtest.ErrorIf(t, !errors.Is(err, context.Canceled), "interrupted: %v", err)
}

// The paths by hand: timings of the default switch and of a slower channel.
func TestTimings(t *testing.T) {
	for _, st := range stages {
		c := fabric.SwitchConfig{RouteCycles: st.route, VCAllocCycles: st.vcAlloc, SwitchAllocCycles: st.alloc, CrossbarCycles: st.crossbar, Speedup: st.speedup}
		simtest.Equal(t, c.Cycles(), st.cycles, "%s: cycles", st.name)
	}
	n := newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims = []int{4} })
	config := fabric.DefaultConfig()
	config.Channels = map[string]fabric.ChannelConfig{"grid": {Latency: 7000, CyclesPerFlit: 2.5}}
	timings, err := config.ChannelTimings(n.topo.Graph())
	if err != nil || len(timings) != 2 || timings[0] != (fabric.ChannelTiming{Latency: 1, CreditLatency: 1, CyclesPerFlit: 1}) || timings[1] != (fabric.ChannelTiming{Latency: 7, CreditLatency: 7, CyclesPerFlit: 2.5}) {
		t.Errorf("%v, %v", timings, err)
	}
	config.Channels["up"] = fabric.ChannelConfig{}
	simtest.Refuse(config.ChannelTimings(n.topo.Graph()))(t, "channel.up")
}
