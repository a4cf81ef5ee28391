package core_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// observedRun is a network with uniform traffic of which every packet is measured, by blame and
// in traces, from a cycle on, and what both say.
type observedRun struct {
	f        *core.Fabric
	blame    *observe.Blame
	meter    *measure.Meter
	tracer   *observe.Tracer
	accounts map[packetKey]core.Parts
	sum      core.Parts // of all packets
	flits    int
}

// packetKey tells packets by their terminal and the cycle in which they enter the network.
type packetKey struct {
	src    topology.TerminalID
	inject int64
}

// observeRun runs a network until it is empty and checks what observers say: for each measured packet, that its parts
// are not negative and add up to its latency, that the source queue is what the delivery says, and that the wires are
// the latencies of the channels crossed, of 1 cycle or more, or all alike where the terminals' are set. Channels and
// classes are added up by the cycle as well. Every trace is in order, and its stages and its division add up to the
// latency. Flits and credits are conserved.
func observeRun(t *testing.T, n network, config fabric.Config, load float64, flits int, plan measure.Plan) *observedRun {
	t.Helper()
	f, meter := n.fabric(t, config), measure.NewMeter(100)
	x := &observedRun{f: f, blame: observe.StartBlame(f, meter), meter: meter, accounts: map[packetKey]core.Parts{}, flits: flits}
	x.tracer = observe.StartTrace(f, meter, observe.TracePlan{Packets: 1 << 20})
	x.blame.OnPacket = func(d *fabric.Delivery, parts *core.Parts) {
		x.sum.Add(parts)
		x.accounts[packetKey{d.Src, d.Inject}] = *parts
		got, want := parts.Total(), d.Cycle-d.Birth
		simtest.ErrorIf(t, got != want, "terminal %d to %d: parts add up to %d, latency %d", d.Src, d.Dst, got, want)
		simtest.Equal(t, parts[core.PartSource], d.Inject-d.Birth, "terminal %d to %d: source queue", d.Src, d.Dst)
		wires := int64(d.Hops + 1)
		if all := config.Channels["terminal"].Latency; all != 0 { // and of all other channels
			wires *= int64(all / sim.Nanosecond)
			simtest.ErrorIf(t, parts[core.PartWire] > wires, "terminal %d to %d: wire %d, want %d", d.Src, d.Dst, parts[core.PartWire], wires)
		}
		simtest.ErrorIf(t, parts[core.PartWire] < wires, "terminal %d to %d: wire %d, want %d or more", d.Src, d.Dst, parts[core.PartWire], wires)
		simtest.ErrorIf(t, slices.Min(parts[:]) < 0, "terminal %d to %d: parts %v", d.Src, d.Dst, parts)
	}
	source := n.traffic(load, flits)
	f.Attach(fabric.Ends{Source: source, Sink: meter})
	f.Advance(plan.Warmup)
	meter.Open(f.Cycle())
	f.Advance(plan.Window)
	meter.Close(f.Cycle())
	source.Stop(0)
	for i := 0; f.InFlight() > 0; i++ {
		simtest.FatalIf(t, i == 1000, "does not drain")
		f.Advance(1000)
	}
	simtest.Check(t, f.Audit())
	simtest.ErrorIf(t, f.InjectedFlits != f.DeliveredFlits || f.DeliveredFlits != f.Packets*int64(flits), "%+v: want packets of %d flits", f.Counters, flits)
	b := x.blame
	if packets := meter.Packets(); packets == 0 || packets != b.Packets[0]+b.Packets[1] || int(packets) != len(x.tracer.Packets()) || packets != int64(len(x.accounts)) {
		t.Errorf("%d packets in parts, %v by class, %d in traces, %d measured", len(x.accounts), b.Packets, len(x.tracer.Packets()), packets)
	}
	// By class and by channel the same time is summed.
	classes, links := b.Classes[0], core.Parts{}
	classes.Add(&b.Classes[1])
	for i := range b.Links() {
		links.Add(&b.Links()[i])
	}
	simtest.ErrorIf(t, classes != x.sum || links != x.sum, "packets %v\nclasses %v\nlinks   %v", x.sum, classes, links)
	for _, p := range x.tracer.Packets() {
		checkTrace(t, f, p)
		x.checkDivision(t, p)
	}
	return x
}

// timings are settings that change the way of flits.
var timings = map[string]func(*fabric.Config){
	"default":   func(*fabric.Config) {},
	"pipelined": func(c *fabric.Config) { c.Switch.VCAllocCycles = 1 },
	"deep": func(c *fabric.Config) {
		c.Switch.RouteCycles, c.Switch.VCAllocCycles, c.Switch.CrossbarCycles = 3, 2, 3
	},
	"deep, serial": func(c *fabric.Config) {
		c.Switch.RouteCycles, c.Switch.VCAllocCycles, c.Switch.CrossbarCycles, c.Switch.Pipeline = 3, 2, 3, fabric.Serial
	},
	"cut, serial": func(c *fabric.Config) {
		c.Switch.FlowControl, c.Switch.VCAllocCycles, c.Switch.Pipeline = "cut-through", 1, fabric.Serial
	},
	"fraction":    func(c *fabric.Config) { c.Switch.Speedup, c.Switch.VCAllocCycles = 1.4, 1 },
	"routing":     func(c *fabric.Config) { c.Switch.RouteCycles, c.Switch.Speedup = 3, 1 },
	"iterations":  func(c *fabric.Config) { c.Switch.Iterations, c.Switch.VCAllocCycles = 3, 1 },
	"single step": func(c *fabric.Config) { c.Switch.VCAllocCycles, c.Switch.CrossbarCycles = 0, 0 },
	"input-first": func(c *fabric.Config) { c.Switch.Allocator = allocator.Named("input-first") },
	"credits back": func(c *fabric.Config) {
		c.Switch.VCReuse, c.Switch.VCAllocCycles, c.Switch.VCAllocator = fabric.CreditsBack, 1, fabric.InputFirst
		c.Channels = map[string]fabric.ChannelConfig{"global": {Latency: 2 * sim.Nanosecond}}
	},
	"two inputs a port": func(c *fabric.Config) {
		c.Switch.InputSpeedup, c.Switch.VCReuse, c.Switch.Allocator = 2, fabric.CreditsBack, allocator.Named("input-first-output")
	},
	"cut-through": func(c *fabric.Config) { c.Switch.FlowControl = "cut-through" },
	"cut, stages": func(c *fabric.Config) { c.Switch.FlowControl, c.Switch.VCAllocCycles = "cut-through", 1 },
	"hold":        func(c *fabric.Config) { c.Switch.FlowControl, c.Switch.Hold = "cut-through", true },
	"hold, stages": func(c *fabric.Config) {
		c.Switch.FlowControl, c.Switch.Hold, c.Switch.VCAllocCycles = "cut-through", true, 1
	},
	"packets":               func(c *fabric.Config) { packets(c) },
	"packets, stages":       func(c *fabric.Config) { packets(c); c.Switch.RouteCycles, c.Switch.VCAllocCycles = 2, 1 },
	"packets, stored":       func(c *fabric.Config) { packets(c); c.Switch.Forwarding = "store-and-forward" },
	"packets, output queue": func(c *fabric.Config) { packets(c); c.Switch.OutputBufferFlits = 4 },
	"packets, slow channel": func(c *fabric.Config) {
		packets(c)
		c.Channels = map[string]fabric.ChannelConfig{"local": {CyclesPerFlit: 1.75, Latency: 9 * sim.Nanosecond}}
	},
	"stored": func(c *fabric.Config) {
		c.Switch.FlowControl, c.Switch.Hold, c.Switch.Forwarding = "cut-through", true, "store-and-forward"
	},
	"output queue": func(c *fabric.Config) { c.Switch.OutputBufferFlits = 2 },
	"equal wires": func(c *fabric.Config) {
		three := fabric.ChannelConfig{Latency: 3 * sim.Nanosecond}
		c.Channels = map[string]fabric.ChannelConfig{"terminal": three, "local": three, "global": three}
	},
	"slow channel": func(c *fabric.Config) {
		c.Channels = map[string]fabric.ChannelConfig{"local": {CyclesPerFlit: 1.75, Latency: 9 * sim.Nanosecond}}
	},
}

// TestBlame holds every setting that changes the way of flits to the identities, at low load and
// beyond saturation; blame and traces, which keep their accounts otherwise, say the same; and the
// quickest packets of many pairs at low load have waited for nothing.
func TestBlame(t *testing.T) {
	type traffic struct {
		flits int
		load  float64
	}
	compared, stalled, pairs, free := 0, int64(0), 0, 0
	for name, set := range timings {
		for _, algorithm := range []string{"min", "val", "ugal-l", "adaptive-escape"} {
			t.Run(fmt.Sprintf("%s/%s", name, algorithm), func(t *testing.T) {
				for _, c := range simtest.Some(t, 0, traffic{1, 0.2}, traffic{1, 1}, traffic{5, 0.2}, traffic{5, 1}) {
					config := fabric.DefaultConfig()
					config.Switch.BufferFlits = 6
					set(&config)
					x := observeRun(t, dragonflyNetwork(t, algorithm, 2, 4, 2), config, c.load, c.flits, measure.Plan{Warmup: 50, Window: 650})
					a, b := x.compare(t)
					compared, stalled = compared+a, stalled+b
					if c.load < 1 {
						a, b := x.quickest()
						pairs, free = pairs+a, free+b
					}
				}
			})
		}
	}
	simtest.ErrorIf(t, compared < 10_000 || stalled < 1000 || free < pairs/4 || pairs < 1000,
		"%d packets compared, %d cycles of credit stall; %d of %d quickest packets without waiting", compared, stalled, free, pairs)
}

// TestBlameLargeDragonfly: every packet of a window of the 1056-terminal dragonfly, close to saturation.
func TestBlameLargeDragonfly(t *testing.T) {
	x := observeRun(t, dragonflyNetwork(t, "min", 4, 8, 4), pipelined(), 0.7, 1, measure.Plan{Warmup: 100, Window: 100})
	if x.meter.Packets() < 70_000 { // 1056 * 100 * 0.7 = 73,920
		t.Errorf("%d packets", x.meter.Packets())
	}
}

// TestBlameIdle derives the parts of single packets in an idle network: two
// switches, channels of 10 cycles between them and of 1 to the terminals.
func TestBlameIdle(t *testing.T) {
	for _, c := range []struct {
		name     string
		switches int
		flits    int32
		want     core.Parts
	}{
		// Speedup 1, one cycle for each stage: in each of two switches a cycle
		// of route computation and of virtual-channel allocation, and two for
		// switch allocation and the crossbar. Wires 1 + 10 + 1.
		{"stages", 2, 1,
			core.Parts{core.PartRoute: 2, core.PartVC: 2, core.PartSwitch: 4, core.PartWire: 12}},
		// Of 5 flits the last follows 4 cycles behind the first. It arrives in the first switch 4
		// cycles after the head, which crossed 2 cycles after its own arrival; flits arrive and
		// cross one a cycle, so that the last finds two in front, each a cycle; then it crosses, in
		// 2. The same in the second switch.
		{"long", 2, 5,
			core.Parts{core.PartSerial: 4 + 2*2, core.PartSwitch: 4, core.PartWire: 12}},
		// More switches than a delivery counts, 255: the same in each of 300,
		// and wires 1 + 299*10 + 1.
		{"far", 300, 1,
			core.Parts{core.PartRoute: 300, core.PartVC: 300, core.PartSwitch: 600, core.PartWire: 2992}},
		// Its last flit finds two in front in each of them.
		{"far, long", 300, 5,
			core.Parts{core.PartSerial: 4 + 300*2, core.PartSwitch: 600, core.PartWire: 2992}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNetwork(t, "mesh", "dor", func(g *topology.GridConfig) { g.Dims, g.Terminals = []int{c.switches}, 1 })
			config := fabric.DefaultConfig()
			config.Switch.Speedup, config.Switch.RouteCycles, config.Switch.VCAllocCycles = 1, 1, 1
			config.Terminal.InjectionCycles = 0
			config.Channels = map[string]fabric.ChannelConfig{"grid": {Latency: 10 * sim.Nanosecond}}
			f, meter := n.fabric(t, config), measure.NewMeter(100)
			var got core.Parts
			observe.StartBlame(f, meter).OnPacket = func(_ *fabric.Delivery, p *core.Parts) { got = *p }
			meter.Open(0)
			s := &script{}
			s.Send(0, fabric.PacketSpec{Birth: 5, Dst: topology.TerminalID(c.switches - 1), Flits: c.flits})
			f.Attach(fabric.Ends{Source: s, Sink: meter})
			f.Advance(6000)
			simtest.ErrorIf(t, got != c.want, "parts %v, want %v", got, c.want)
		})
	}
}

// TestBlameLongWaits: four terminals of a switch send a packet to a fifth, whose channel takes 10^6 cycles for each:
// they wait behind the crossbar or, where only one flit may be there, in front of it.
func TestBlameLongWaits(t *testing.T) {
	const slow = 1_000_000
	for _, room := range []int{0, 1} {
		n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 5 })
		config := fabric.DefaultConfig()
		config.Switch.OutputBufferFlits = room
		config.Terminal.InjectionCycles = 0
		config.Channels = map[string]fabric.ChannelConfig{"terminal": {CyclesPerFlit: slow}}
		f, meter := n.fabric(t, config), measure.NewMeter(100)
		b := observe.StartBlame(f, meter)
		var all []core.Parts
		b.OnPacket = func(d *fabric.Delivery, parts *core.Parts) { all = append(all, *parts) }
		s := &script{}
		for src := range topology.TerminalID(4) {
			s.Send(src, fabric.PacketSpec{Birth: 3, Dst: 4, Flits: 1})
		}
		meter.Open(0)
		f.Attach(fabric.Ends{Source: s, Sink: meter})
		f.Advance(4*slow + 100)
		simtest.FatalIf(t, len(all) != 4, "%d packets", len(all))
		b.Links() // compares
		for i, p := range all {
			// A cycle to the switch, one from it, and two for the stages within: the first step of
			// the switch, of two in a cycle, is for the first packet, and what follows within a
			// cycle or two of switch allocation, in turn, is not waiting for the channel.
			extra := p[core.PartSwitch] - 1
			p[core.PartSwitch] -= extra
			p[core.PartEjection] += extra
			want := core.Parts{core.PartSwitch: 1, core.PartEjection: int64(i) * slow, core.PartWire: 2}
			simtest.ErrorIf(t, extra < 0 || extra > 2 || p != want,
				"room for %d flits: packet %d: %v and %d cycles more of allocation, want %v", room, i, p, extra, want)
		}
	}
}

// TestObserversCauseNothing: a run with blame or traces is the run without.
func TestObserversCauseNothing(t *testing.T) {
	n := dragonflyNetwork(t, "ugal-l", 2, 4, 2)
	run := func(plan measure.Plan) *measure.Result {
		plan.Warmup, plan.Window = 500, 1000
		_, r := n.run(t, fabric.DefaultConfig(), 0.4, 2, plan)
		simtest.ErrorIf(t, (r.Blame != nil) != plan.Blame || len(r.Traces) != plan.Trace.Packets,
			"%+v: what is asked for is not kept, or what is not is", plan)
		r.Blame, r.Traces = nil, nil
		return r
	}
	off := describe(run(measure.Plan{}))
	for _, plan := range []measure.Plan{{Blame: true}, {Trace: observe.TracePlan{Packets: 50}}} {
		on := describe(run(plan))
		simtest.ErrorIf(t, on != off, "%+v: %.300s\nwithout %.300s", plan, on, off)
	}
}

// TestBlameHotSpot: where terminal 0 of a single switch is sent twice what it takes, packets wait
// for its channel, and the channel is what they are charged to.
func TestBlameHotSpot(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 3 })
	f, s := n.fabric(t, fabric.DefaultConfig()), &script{}
	for i := range int64(300) {
		s.Send(1, fabric.PacketSpec{Birth: i, Dst: 0, Flits: 3})
		s.Send(2, fabric.PacketSpec{Birth: i, Dst: 0, Flits: 3})
	}
	meter := measure.NewMeter(100)
	b := observe.StartBlame(f, meter)
	meter.Open(0)
	f.Attach(fabric.Ends{Source: s, Sink: meter})
	f.Advance(2000)
	hot := n.topo.Graph().TerminalPort[0]
	simtest.ErrorIf(t, b.Packets[0] != 600 || b.Links()[hot][core.PartEjection] < b.Links()[hot].Total()/2,
		"%d packets; the hot channel is charged %v", b.Packets, b.Links()[hot])
	// Whatever waits in the network waits for that channel, but for the 2 cycles that the last of a
	// packet's 3 flits follows the first into it and for the part of the stalls that these and the
	// wire, 1 cycle, are to blame for: 3 of the about 90 cycles that a packet is in the network
	// with 32 flits of both terminals in front. Both terminals are the branches, alike.
	all, roots := int64(0), b.Roots()
	for i := range b.Links() {
		all += b.Links()[i].Waiting()
	}
	sum := 0.0
	for _, x := range roots {
		sum += x
	}
	simtest.ErrorIf(t, math.Abs(sum-float64(all)) > 1e-6*sum || roots[hot] < 0.9*sum,
		"the root of %v packet-cycles, of %d in all; roots add up to %v", roots[hot], all, sum)
	ports, up := n.topo.Graph().NumPorts(), b.Upstream(hot)
	simtest.ErrorIf(t, len(up) != 2 || up[0].Channel+up[1].Channel != 2*ports+3,
		"branches %v, want the channels of terminals 1 and 2: %d and %d", up, ports+1, ports+2)
}

// BenchmarkBlame measures what blame costs on BenchmarkDragonfly's network with every packet measured: the median over
// pairs of slices of a run with blame and one without, turn by turn, since no two longer stretches of time are alike on
// a shared machine. An operation is 20 cycles of each.
func BenchmarkBlame(b *testing.B) {
	for _, load := range []float64{0.1, 0.4, 0.7} {
		b.Run(fmt.Sprintf("load=%v", load), func(b *testing.B) {
			n := dragonflyNetwork(b, "min", 4, 8, 4)
			var runs [2]*core.Fabric
			for blame := range runs {
				f, meter := n.fabric(b, fabric.DefaultConfig()), measure.NewMeter(100)
				if blame == 1 {
					observe.StartBlame(f, meter)
				}
				f.Attach(fabric.Ends{Source: n.traffic(load, 1), Sink: meter})
				meter.Open(0)
				f.Advance(500)
				runs[blame] = f
			}
			var ratios, plain []float64
			b.ResetTimer()
			for range b.N {
				var took [2]float64
				for blame, f := range runs {
					start, before := cpuTime(), f.FlitHops
					f.Advance(20)
					took[blame] = float64((cpuTime() - start).Nanoseconds()) / float64(f.FlitHops-before)
				}
				ratios, plain = append(ratios, took[1]/took[0]), append(plain, took[0])
			}
			slices.Sort(ratios)
			slices.Sort(plain)
			b.ReportMetric(plain[len(plain)/2], "cpu-ns/flit-hop")
			b.ReportMetric(ratios[len(ratios)/2], "times-with-blame")
		})
	}
}
