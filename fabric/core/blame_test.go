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

// blamed runs a network with uniform traffic and checks, for each measured
// packet, that its parts are not negative and add up to its latency, that the
// source queue is what the delivery says, and that the wires are the latencies
// of the channels crossed, of 1 cycle or more, or all alike where the terminals'
// are set. Channels and classes are added up by the cycle as well.
func blamed(t *testing.T, n network, config fabric.Config, load float64, flits int, plan measure.Plan) (*core.Fabric, *observe.Blame, *measure.Meter) {
	t.Helper()
	f := n.fabric(t, config)
	meter := measure.NewMeter(100)
	b := observe.StartBlame(f, meter)
	packets, sum := int64(0), core.Parts{}
	b.OnPacket = func(d *fabric.Delivery, parts *core.Parts) {
		packets++
		sum.Add(parts)
		if got, want := parts.Total(), d.Cycle-d.Birth; got != want {
			t.Errorf("terminal %d to %d: parts add up to %d, latency %d", d.Src, d.Dst, got, want)
		}
		if parts[core.PartSource] != d.Inject-d.Birth {
			t.Errorf("terminal %d to %d: source queue %d, want %d", d.Src, d.Dst, parts[core.PartSource], d.Inject-d.Birth)
		}
		wires := int64(d.Hops + 1)
		if all := config.Channels["terminal"].Latency; all != 0 { // and of all other channels
			if wires *= int64(all / sim.Nanosecond); parts[core.PartWire] > wires {
				t.Errorf("terminal %d to %d: wire %d, want %d", d.Src, d.Dst, parts[core.PartWire], wires)
			}
		}
		if parts[core.PartWire] < wires {
			t.Errorf("terminal %d to %d: wire %d, want %d or more", d.Src, d.Dst, parts[core.PartWire], wires)
		}
		for i, x := range parts {
			if x < 0 {
				t.Errorf("terminal %d to %d: %s %d", d.Src, d.Dst, core.PartNames[i], x)
			}
		}
	}
	source := n.traffic(load, flits)
	f.Attach(source, meter)
	f.Advance(plan.Warmup)
	meter.Open(f.Cycle())
	f.Advance(plan.Window)
	meter.Close(f.Cycle())
	source.Stop(0)
	for i := 0; f.InFlight() > 0; i++ {
		if i == 1000 {
			t.Fatal("does not drain")
		}
		f.Advance(1000)
	}
	if packets == 0 || packets != meter.Packets() || packets != b.Packets[0]+b.Packets[1] {
		t.Errorf("%d packets in parts, %v by class, %d measured", packets, b.Packets, meter.Packets())
	}
	// By class and by channel the same time is summed.
	classes, links := b.Classes[0], core.Parts{}
	classes.Add(&b.Classes[1])
	for i := range b.Links() {
		links.Add(&b.Links()[i])
	}
	if classes != sum || links != sum {
		t.Errorf("packets %v\nclasses %v\nlinks   %v", sum, classes, links)
	}
	return f, b, meter
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
	"input-first": func(c *fabric.Config) { c.Switch.Allocator = allocator.Named("input-first") },
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

// TestBlame holds every setting that changes the way of flits to the identity.
func TestBlame(t *testing.T) {
	for name, set := range timings {
		for _, algorithm := range []string{"min", "val", "ugal-l", "adaptive-escape"} {
			for _, flits := range []int{1, 5} {
				if testing.Short() && flits == 1 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", name, algorithm, flits), func(t *testing.T) {
					for _, load := range simtest.Some(t, 0, 0.3, 1) {
						config := fabric.DefaultConfig()
						config.Switch.BufferFlits = 6
						set(&config)
						blamed(t, dragonflyNetwork(t, algorithm, 2, 4, 2), config, load, flits, measure.Plan{Warmup: 200, Window: 500})
					}
				})
			}
		}
	}
}

// TestBlameLargeDragonfly: every packet of a window of the 1056-terminal
// dragonfly, close to saturation.
func TestBlameLargeDragonfly(t *testing.T) {
	_, _, meter := blamed(t, dragonflyNetwork(t, "min", 4, 8, 4), pipelined(), 0.7, 1, measure.Plan{Warmup: 300, Window: 300})
	if meter.Packets() < 200_000 { // 1056 * 300 * 0.7 = 221,760
		t.Errorf("%d packets", meter.Packets())
	}
}

// TestBlameIdle derives the parts of single packets in an idle network: two
// switches, channels of 10 cycles between them and of 1 to the terminals.
func TestBlameIdle(t *testing.T) {
	for _, c := range []struct {
		name     string
		set      func(*fabric.SwitchConfig)
		switches int
		flits    int32
		want     core.Parts
	}{
		// Speedup 1, one cycle for each stage: in each of two switches a cycle
		// of route computation and of virtual-channel allocation, and two for
		// switch allocation and the crossbar. Wires 1 + 10 + 1.
		{"stages", func(s *fabric.SwitchConfig) { s.Speedup, s.RouteCycles, s.VCAllocCycles = 1, 1, 1 }, 2, 1,
			core.Parts{core.PartRoute: 2, core.PartVC: 2, core.PartSwitch: 4, core.PartWire: 12}},
		// Of 5 flits the last follows 4 cycles behind the first. It arrives in
		// the first switch 4 cycles after the head, which crossed 2 cycles after
		// its own arrival; flits arrive and cross one a cycle, so that the last
		// finds two in front, each a cycle; then it crosses, in 2. The same in
		// the second switch.
		{"long", func(s *fabric.SwitchConfig) { s.Speedup, s.RouteCycles, s.VCAllocCycles = 1, 1, 1 }, 2, 5,
			core.Parts{core.PartSerial: 4 + 2*2, core.PartSwitch: 4, core.PartWire: 12}},
		// More switches than a delivery counts, 255: the same in each of 300,
		// and wires 1 + 299*10 + 1.
		{"far", func(s *fabric.SwitchConfig) { s.Speedup, s.RouteCycles, s.VCAllocCycles = 1, 1, 1 }, 300, 1,
			core.Parts{core.PartRoute: 300, core.PartVC: 300, core.PartSwitch: 600, core.PartWire: 2992}},
		// Its last flit finds two in front in each of them.
		{"far, long", func(s *fabric.SwitchConfig) { s.Speedup, s.RouteCycles, s.VCAllocCycles = 1, 1, 1 }, 300, 5,
			core.Parts{core.PartSerial: 4 + 300*2, core.PartSwitch: 600, core.PartWire: 2992}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNetwork(t, "mesh", "dor", func(g *topology.GridConfig) { g.Dims, g.Terminals = []int{c.switches}, 1 })
			config := fabric.DefaultConfig()
			c.set(&config.Switch)
			config.Terminal.InjectionCycles = 0
			config.Channels = map[string]fabric.ChannelConfig{"grid": {Latency: 10 * sim.Nanosecond}}
			f := n.fabric(t, config)
			meter := measure.NewMeter(100)
			var got core.Parts
			observe.StartBlame(f, meter).OnPacket = func(_ *fabric.Delivery, p *core.Parts) { got = *p }
			meter.Open(0)
			s := &script{}
			s.send(0, fabric.PacketSpec{Birth: 5, Dst: topology.TerminalID(c.switches - 1), Flits: c.flits})
			f.Attach(s, meter)
			f.Advance(6000)
			if got != c.want {
				t.Errorf("parts %v, want %v", got, c.want)
			}
		})
	}
}

// TestBlameLongWaits: four terminals of a switch send a packet to a fifth, whose
// channel takes 10^6 cycles for each: they wait behind the crossbar or, where only one flit
// may be there, in front of it.
func TestBlameLongWaits(t *testing.T) {
	const slow = 1_000_000
	for _, room := range []int{0, 1} {
		n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 5 })
		config := fabric.DefaultConfig()
		config.Switch.OutputBufferFlits = room
		config.Terminal.InjectionCycles = 0
		config.Channels = map[string]fabric.ChannelConfig{"terminal": {CyclesPerFlit: slow}}
		f := n.fabric(t, config)
		meter := measure.NewMeter(100)
		b := observe.StartBlame(f, meter)
		var all []core.Parts
		b.OnPacket = func(d *fabric.Delivery, parts *core.Parts) { all = append(all, *parts) }
		s := &script{}
		for src := range topology.TerminalID(4) {
			s.send(src, fabric.PacketSpec{Birth: 3, Dst: 4, Flits: 1})
		}
		meter.Open(0)
		f.Attach(s, meter)
		f.Advance(4*slow + 100)
		if len(all) != 4 {
			t.Fatalf("%d packets", len(all))
		}
		b.Links() // compares
		for i, p := range all {
			// A cycle to the switch, one from it, and two for the stages within:
			// the first step of the switch, of two in a cycle, is for the first
			// packet, and what follows within a cycle or two of switch
			// allocation, in turn, is not waiting for the channel.
			extra := p[core.PartSwitch] - 1
			p[core.PartSwitch] -= extra
			p[core.PartEjection] += extra
			want := core.Parts{core.PartSwitch: 1, core.PartEjection: int64(i) * slow, core.PartWire: 2}
			if extra < 0 || extra > 2 || p != want {
				t.Errorf("room for %d flits: packet %d: %v and %d cycles more of allocation, want %v", room, i, p, extra, want)
			}
		}
	}
}

// TestBlameCausesNothing: a run with blame is the run without.
func TestBlameCausesNothing(t *testing.T) {
	n := dragonflyNetwork(t, "ugal-l", 2, 4, 2)
	run := func(blame bool) *measure.Result {
		_, result := n.run(t, fabric.DefaultConfig(), 0.4, 2, measure.Plan{Warmup: 500, Window: 1000, Blame: blame})
		return result
	}
	off, on := run(false), run(true)
	if off.MeanLatency() != on.MeanLatency() || off.Cycles != on.Cycles || off.Packets() != on.Packets() {
		t.Errorf("latency %v over %d packets, with blame %v over %d", off.MeanLatency(), off.Packets(), on.MeanLatency(), on.Packets())
	}
	if off.Blame != nil || on.Blame == nil {
		t.Error("blame is kept where not asked for, or not kept where it was")
	}
}

// TestBlameHotSpot: where terminal 0 of a single switch is sent twice what it
// takes, packets wait for its channel, and the channel is what they are charged
// to.
func TestBlameHotSpot(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 3 })
	f := n.fabric(t, fabric.DefaultConfig())
	s := &script{}
	for i := range int64(300) {
		s.send(1, fabric.PacketSpec{Birth: i, Dst: 0, Flits: 3})
		s.send(2, fabric.PacketSpec{Birth: i, Dst: 0, Flits: 3})
	}
	meter := measure.NewMeter(100)
	b := observe.StartBlame(f, meter)
	meter.Open(0)
	f.Attach(s, meter)
	f.Advance(2000)
	hot := n.topo.Graph().TerminalPort[0]
	if b.Packets[0] != 600 || b.Links()[hot][core.PartEjection] < b.Links()[hot].Total()/2 {
		t.Errorf("%d packets; the hot channel is charged %v", b.Packets, b.Links()[hot])
	}
	// Whatever waits in the network waits for that channel, but for the 2
	// cycles that the last of a packet's 3 flits follows the first into it and
	// for the part of the stalls that these and the wire, 1 cycle, are to blame
	// for: 3 of the about 90 cycles that a packet is in the network with 32
	// flits of both terminals in front. Both terminals are the branches, alike.
	all, roots := int64(0), b.Roots()
	for i := range b.Links() {
		all += b.Links()[i].Waiting()
	}
	sum := 0.0
	for _, x := range roots {
		sum += x
	}
	if math.Abs(sum-float64(all)) > 1e-6*sum || roots[hot] < 0.9*sum {
		t.Errorf("the root of %v packet-cycles, of %d in all; roots add up to %v", roots[hot], all, sum)
	}
	ports := n.topo.Graph().NumPorts()
	up := b.Upstream(hot)
	if len(up) != 2 || up[0].Channel+up[1].Channel != 2*ports+3 {
		t.Errorf("branches %v, want the channels of terminals 1 and 2: %d and %d", up, ports+1, ports+2)
	}
}

// BenchmarkBlame measures what blame costs on BenchmarkDragonfly's network with
// every packet measured: the median over pairs of slices of a run with blame and
// one without, turn by turn, since no two longer stretches of time are alike on a
// shared machine. An operation is 20 cycles of each.
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
				f.Attach(n.traffic(load, 1), meter)
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
