package core_test

import (
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/marking"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// probing has all ports of a network probed, in no order of their switches.
func probing(n network, c *fabric.Config, interval int64, of ...fabric.Quantity) {
	p := fabric.Probe{Interval: interval, Quantities: of}
	for port := range n.topo.Graph().NumPorts() {
		p.Ports = append(p.Ports, topology.PortID(port))
	}
	random := sim.NewStream(1, "ports", 0)
	for i := range p.Ports {
		k := random.IntN(i + 1)
		p.Ports[i], p.Ports[k] = p.Ports[k], p.Ports[i]
	}
	c.Probes = []fabric.Probe{p}
}

// TestProbesByHand: the packets of a line of two switches, of 4 flits each, with speedup 1, one stage each for
// allocation and crossbar, and channels of latency 1. They enter in cycle 1.
//
// Terminals 0 and 1 of the first switch send to terminal 2, of the second. Flits come to the first switch in cycles 2
// to 5 on both inputs, and leave by its upward port in 4 to 7 and, of the second packet, 8 to 11: as cycle c begins,
// 2(c-2) have come, at most 8, and c-4 have left. The first packet's flits cross in 2 to 5, the second's in 6 to 9.
// Each arrives at the next switch 3 cycles later, crosses at once, and its credit is home another 3 later: one taken in
// cycle x is back behind x+6, so that at most 6 are under way.
func TestProbesByHand(t *testing.T) {
	n := newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{2}, 2 })
	up := n.topo.(topology.Grid).Towards(0, 0, true)
	units(t, func(t *testing.T, config fabric.Config) {
		config.Switch.Speedup = 1
		config.Probes = []fabric.Probe{
			{Ports: []topology.PortID{up}, Interval: 1, Quantities: []fabric.Quantity{fabric.Waiting, fabric.Outstanding, fabric.Sent}},
			{Ports: []topology.PortID{0, up}, Interval: 5, Quantities: []fabric.Quantity{fabric.Sent}},
		}
		s := &script{}
		s.Send(0, fabric.PacketSpec{Dst: 2, Flits: 4})
		s.Send(1, fabric.PacketSpec{Dst: 2, Flits: 4})
		f := n.playToEnd(t, config, s)
		seen := f.Samples()
		for c := range len(seen[0].Rows) {
			arrived, left := min(8, 2*max(0, c-2)), min(8, max(0, c-4))
			taken, back := min(8, max(0, c-2)), min(8, max(0, c-8))
			sent := left - min(8, max(0, c-5))
			simtest.EqualSlices(t, seen[0].Rows[c], []uint32{uint32(arrived - left), uint32(taken - back), uint32(sent)}, "cycle %d:", c)
		}
		for c, want := range []uint32{0, 1, 5, 2, 0} { // left before cycles 0, 5, 10, 15, 20
			simtest.ErrorIf(t, seen[1].At(c, 0, 0) != 0 || seen[1].At(c, 0, 1) != want, "cycle %d: %d flits sent, want 0 and %d", 5*c, seen[1].Rows[c], want)
		}
	})
}

// TestProbeUnits: where all times are whole cycles, probes see the same with both units and with
// any number of threads, and no result depends on them.
func TestProbeUnits(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	for i, algorithm := range []string{"min", "ugal-l", "ugal-g"} {
		n := dragonflyNetwork(t, algorithm, 2, 4, 2)
		for _, speedup := range simtest.Some(t, i, 1.0, 2) {
			var want *fabric.Samples
			for _, c := range []struct {
				unit    string
				threads int
			}{{fabric.UnitFlit, 1}, {fabric.UnitFlit, 3}, {fabric.UnitPacket, 1}, {fabric.UnitPacket, 3}} {
				config := holding(fabric.DefaultConfig())
				config.Fabric.Unit, config.Switch.Speedup, config.Switch.CrossbarCycles, config.Switch.VCAllocCycles = c.unit, speedup, i, i%2
				config.Channels = map[string]fabric.ChannelConfig{"global": {CyclesPerFlit: 2}}
				mark(t, &config.Switch, "threshold", marking.Threshold{Flits: 8})
				plan := measure.Plan{Warmup: 300, Window: 700, Threads: c.threads}
				_, bare := n.run(t, config, 0.3, 6, plan)
				probing(n, &config, 7, fabric.Waiting, fabric.Outstanding, fabric.Sent, fabric.Marked)
				_, r := n.run(t, config, 0.3, 6, plan)
				got := r.Samples[0]
				if len(got.Rows) != 100 || got.First != 300 { // 700/7
					t.Fatalf("%d samples from cycle %d on", len(got.Rows), got.First)
				}
				r.Samples = nil
				simtest.ErrorIf(t, describe(r) != describe(bare), "%s, %+v: probes change\n%.300s to\n%.300s", algorithm, c, describe(bare), describe(r))
				if want == nil {
					want = got
				}
				for i := range got.Rows {
					simtest.FatalIf(t, !slices.Equal(got.Rows[i], want.Rows[i]), "%s, speedup %g, %+v: sample %d is another one", algorithm, speedup, c, i)
				}
			}
			for q := range want.Quantities {
				sum := 0
				for i := range want.Rows {
					for port := range want.Ports {
						sum += int(want.At(i, q, port))
					}
				}
				simtest.ErrorIf(t, sum < 500, "%s: %d in all of %s", algorithm, sum, want.Quantities[q])
			}
		}
	}
}

// TestProbeFaults: while cables and switches fail and come back, in the cycle of a sample, too,
// a measured run and its probes are the same on any number of threads, and these change nothing.
func TestProbeFaults(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	for i, c := range failingRuns(t) {
		if c.timing == "lanes" {
			continue
		}
		run := func(threads int, probes bool) (*measure.Result, [][]uint32) {
			f := c.fabric(t, func(config *fabric.Config) {
				if probes {
					probing(c.network, config, 1, fabric.Waiting, fabric.Sent, fabric.Outstanding)
				}
			})
			plan := measure.Plan{Warmup: 100, Window: 500, Threads: threads, Levels: true, Blame: i%2 == 0, Trace: observe.TracePlan{Packets: 30 * (1 - i%2)}}
			r := simtest.Must(measure.Run(t.Context(), f, c.network.traffic(0.3, c.flits), 0.3, plan))(t)
			simtest.ErrorIf(t, r.Faults.Dropped == 0 || f.Threads() != threads, "%s: %+v on %d threads", c.routing, r.Faults, f.Threads())
			if !probes {
				return r, nil
			}
			rows := r.Samples[0].Rows
			r.Samples = nil
			return r, rows
		}
		bare, _ := run(1, false)
		_, want := run(1, true)
		for _, threads := range simtest.Some(t, i, 2, 3) {
			r, rows := run(threads, true)
			if got, want := describe(r), describe(bare); got != want {
				t.Errorf("%s: probes change\n%.300s to\n%.300s", c.routing, want, got)
			}
			simtest.ErrorIf(t, !reflect.DeepEqual(rows, want), "%s: %d threads see another series", c.routing, threads)
		}
	}
}

// TestRoutingsReadWhatIsSent: a routing that declares it reads, of its switch's ports, what has left as the cycle
// begins, with either unit: the sum of what a probe has seen of each cycle until then. One that does not is told.
func TestRoutingsReadWhatIsSent(t *testing.T) {
	plain := newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{4, 3}, 2 })
	units(t, func(t *testing.T, config fabric.Config) {
		config.Channels = map[string]fabric.ChannelConfig{"grid": {CyclesPerFlit: 3}, "terminal": {CyclesPerFlit: 3}}
		reads := map[[2]int64]uint32{} // by cycle and port
		n := network{plain.topo, spy{plain.routing, fabric.Needs{Sent: true, Marked: true}, func(v *fabric.View, _ *fabric.Head, hop *fabric.Hop) {
			reads[[2]int64{v.Cycle(), int64(hop.Port)}] = v.Sent(hop.Port)
			simtest.ErrorIf(t, v.Marked(hop.Port) != 0 || v.CyclesPerFlit(hop.Port) != 3, "there is no marking, and a flit takes 3 cycles")
		}}}
		probing(n, &config, 1, fabric.Sent)
		s, random := &script{}, sim.NewStream(1, "packets", 0)
		for birth := range int64(60) {
			for src := range topology.TerminalID(24) {
				s.Send(src, fabric.PacketSpec{Birth: 10 * birth, Dst: topology.TerminalID(random.IntN(24)), Flits: int32(1 + random.IntN(6))})
			}
		}
		f := n.playToEnd(t, config, s)
		seen := f.Samples()[0]
		all := make([]uint32, len(seen.Ports)) // sent until then
		looks := 0
		for cycle := range seen.Rows {
			for i, port := range seen.Ports {
				all[i] += seen.At(cycle, 0, i)
				if sent, looked := reads[[2]int64{int64(cycle), int64(port)}]; looked {
					looks++
					simtest.FatalIf(t, sent != all[i], "cycle %d: port %d has sent %d flits, the routing reads %d", cycle, port, all[i], sent)
				}
			}
		}
		simtest.ErrorIf(t, looks < 1000 || all[0] == 0, "%d looks, %d flits", looks, all[0])
	})
}

// TestMarksOnAnyNetwork: the same packets are marked on any number of threads, after a
// snapshot and with either unit, on random networks with random policies.
func TestMarksOnAnyNetwork(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	packets, units, trials := 0, 0, 0
	for seed := uint64(0); trials < 8; seed++ {
		tr, whole := routingtest.DrawTrial(t, seed), drawUnitTrial(t, 1000+seed)
		if !markPorts(tr) || !markPorts(whole) {
			continue
		}
		trials++
		heard, _ := heardAndTraced(checkUnicast(t, tr, seed, nil))
		packets += heard
		units += checkUnits(t, whole, 400)
		whole.Config.Fabric.Unit = fabric.UnitPacket
		heard, _ = heardAndTraced(checkUnicast(t, whole, seed, nil))
		packets += heard
	}
	simtest.ErrorIf(t, packets < 1000 || units < 1000, "%d and %d packets are not a test", packets, units)
}

// mark sets a policy of a switch.
func mark[C any](t *testing.T, s *fabric.SwitchConfig, policy string, settings C) {
	t.Helper()
	simtest.Check(t, s.Marking.Choose(policy))
	*s.Marking.Config().(*C) = settings
}

// TestMarksByHand: two terminals of a switch send ten packets of a flit each to a third, which takes a flit a cycle. Of
// those that come in cycle k, counted from 0, both cross in it, and leave from the next cycle on: 2(k+1) have come, k-1
// have left before, from cycle 1 on, so that 2, 4, 5, 6, ... wait. From 6 on, which is cycle 3, 14 are marked.
//
// By policy infiniband, with weight 14 and buffers of 30 flits, a packet is marked beside which more than 30/15 = 2
// flits wait on its lane: from cycle 1 on, in which 4 wait. Of these 18 one of three is marked with a rate of 2, the
// third of them first, which was born in cycle 2: 6. With lanes all but the packet of terminal 1 born in cycle 7 are on
// lane 0, of which 17 of 19 are marked; the one of lane 1 is alone there.
func TestMarksByHand(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 3 })
	needs := fabric.NeedsOf(n.routing)
	needs.Packets = true
	byLevel := spy{n.routing, needs, func(_ *fabric.View, h *fabric.Head, hop *fabric.Hop) { hop.VCs = 1 << h.Level }}
	infiniband := func(rate int) func(*fabric.SwitchConfig) {
		return func(s *fabric.SwitchConfig) {
			s.BufferFlits = 30
			mark(t, s, "infiniband", marking.InfiniBand{Threshold: 14, Rate: rate, VictimMask: "0x0"})
		}
	}
	for _, c := range []struct {
		name  string
		lanes int
		set   func(*fabric.SwitchConfig)
		first int64  // birth of the first that is marked
		want  [2]int // by lane
	}{
		{"threshold", 1, func(s *fabric.SwitchConfig) { mark(t, s, "threshold", marking.Threshold{Flits: 6}) }, 3, [2]int{14, 0}},
		{"one of three", 1, infiniband(2), 2, [2]int{6, 0}},
		{"lanes", 2, infiniband(0), 1, [2]int{17, 0}},
	} {
		units(t, func(t *testing.T, config fabric.Config) {
			config.Switch.VCs = c.lanes
			c.set(&config.Switch)
			s := &script{}
			for birth := range int64(10) {
				s.Send(0, fabric.PacketSpec{Birth: birth, Dst: 2, Flits: 1})
				lane := 0
				if birth == 7 {
					lane = c.lanes - 1
				}
				s.Send(1, fabric.PacketSpec{Birth: birth, Dst: 2, Flits: 1, Level: uint8(lane), Tag: uint64(lane)})
			}
			f := network{n.topo, byLevel}.fabric(t, config)
			simtest.Check(t, f.Attach(fabric.Ends{Source: s, Sink: s}))
			f.Advance(60)
			marked := [2]int{}
			for _, d := range s.Delivered {
				if !d.Marked {
					continue
				}
				marked[d.Tag]++
				simtest.ErrorIf(t, d.Birth < c.first, "%s: the packet of terminal %d born in cycle %d is marked", c.name, d.Src, d.Birth)
			}
			simtest.ErrorIf(t, len(s.Delivered) != 20 || marked != c.want,
				"%s: %v of %d packets marked by lane, want %v of 20", c.name, marked, len(s.Delivered), c.want)
		})
	}
}

// labelled sends uniform traffic whose level and entropy follow from its ends.
type labelled struct{ *measure.OpenLoop }

func labelFor(src, dst topology.TerminalID) (level uint8, entropy uint16) {
	return uint8(src+dst) % 16, uint16(1000*src + dst)
}

func (l labelled) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	ok := l.OpenLoop.Next(t, until, spec)
	if ok {
		spec.Level, spec.Entropy = labelFor(t, spec.Dst)
	}
	return ok
}

// byLabel gives packets virtual channels by their level, holds what it is told of them to
// what they were sent with, and counts what it is told of.
func byLabel(t *testing.T, r fabric.Routing, departs bool, told, marked *atomic.Int64) fabric.Routing {
	needs := fabric.NeedsOf(r)
	needs.Packets, needs.Departs = true, departs
	hold := func(h *fabric.Head) {
		level, entropy := labelFor(h.Src, h.Dst)
		simtest.ErrorIf(t, h.Level != level || h.Entropy != entropy,
			"a packet from %d to %d has level %d and entropy %d, want %d and %d", h.Src, h.Dst, h.Level, h.Entropy, level, entropy)
	}
	sees := spy{r, needs, func(v *fabric.View, h *fabric.Head, hop *fabric.Hop) {
		hold(h)
		if told.Add(1); h.Marked {
			marked.Add(1)
		}
		hop.VCs = 1 << (int(h.Level) % v.VCs())
	}}
	if departs {
		return departing{sees, hold}
	}
	return sees
}

// departing is a routing that is told of a packet before it leaves its terminal, too.
type departing struct {
	spy
	told func(h *fabric.Head)
}

func (r departing) Depart(v *fabric.View, h *fabric.Head) uint32 {
	r.told(h)
	return 1<<v.VCs() - 1
}

// TestLabelsTravel: a routing is told who sent a packet, and of the level, the entropy and the
// mark that it has, at every switch, and where it decides at terminals of all but the mark there: with stages one after the other and overlapping, flits and
// packets, any number of threads; the same packets arrive in the same cycles.
func TestLabelsTravel(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	n := newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims = []int{3, 3} })
	terminals := n.topo.Graph().Terminals()
	for name, set := range map[string]func(*fabric.Config){
		"wormhole":           func(*fabric.Config) {},
		"stages":             func(c *fabric.Config) { c.Switch.VCAllocCycles, c.Switch.RouteCycles = 1, 1 },
		"lanes of terminals": func(c *fabric.Config) { c.Terminal.VLArbLow, c.Switch.FlowControl = "0:1,1:2,2:1", fabric.CutThrough },
		"packets as the unit": func(c *fabric.Config) {
			c.Switch.FlowControl, c.Switch.Hold, c.Fabric.Unit = fabric.CutThrough, true, fabric.UnitPacket
		},
	} {
		t.Run(name, func(t *testing.T) {
			var first receivers
			for threads := 1; threads <= 3; threads++ {
				config := fabric.DefaultConfig()
				config.Switch.VCs, config.Switch.BufferFlits = 3, 8
				set(&config)
				mark(t, &config.Switch, "threshold", marking.Threshold{Flits: 4})
				var told, marked atomic.Int64
				own := network{n.topo, byLabel(t, n.routing, name != "wormhole", &told, &marked)}
				f, got := own.fabric(t, config), make(receivers, terminals)
				f.Split(threads)
				source := labelled{measure.NewOpenLoop(terminals, routingtest.Others(terminals), routingtest.AtRate(0.2), routingtest.Fixed(3), 1)}
				simtest.Check(t, f.Attach(fabric.Ends{Source: source, Sink: got}))
				f.Advance(500)
				hops, arrived := int64(0), 0
				for _, all := range got {
					arrived += len(all)
					for _, d := range all {
						hops += int64(d.Hops)
					}
				}
				simtest.ErrorIf(t, told.Load() < hops || arrived < 500 || marked.Load() == 0,
					"%d packets crossed %d switches; the routing was told of %d, %d of them marked", arrived, hops, told.Load(), marked.Load())
				if first == nil {
					first = got
				}
				for i := range got {
					simtest.ErrorIf(t, !slices.Equal(got[i], first[i]), "terminal %d hears of other packets on %d threads", i, threads)
				}
			}
		})
	}
}

// checkSeries: the intervals lie in order and fill the window, and what they carried adds up to what the window did.
func checkSeries(t *testing.T, f *core.Fabric, r *measure.Result) {
	t.Helper()
	s, last := r.Series, int64(0)
	for _, end := range s.Ends {
		simtest.ErrorIf(t, end <= last, "intervals end at %v", s.Ends)
		last = end
	}
	simtest.ErrorIf(t, last != r.Window || len(s.Flits) != len(s.Ends), "%d intervals of flits end at %v, the window at %d", len(s.Flits), s.Ends, r.Window)
	sum := make([]uint32, len(r.ChannelFlits)/f.VCs())
	want := make([]uint32, len(sum))
	for i, n := range r.ChannelFlits {
		want[i/f.VCs()] += n
	}
	for _, flits := range s.Flits {
		for i, n := range flits {
			sum[i] += n
		}
	}
	simtest.ErrorIf(t, !slices.Equal(sum, want), "the intervals do not add up to the window")
}

// TestSeries: a window of given length is divided to the cycle, one that is found into n to 2n
// intervals of equal length, with a shorter one at the end. Neither changes the run.
func TestSeries(t *testing.T) {
	n := dragonflyNetwork(t, "ugal-l", 2, 4, 2)
	_, off := n.run(t, fabric.DefaultConfig(), 0.4, 2, measure.Plan{Warmup: 200, Window: 1000})
	f, on := n.run(t, fabric.DefaultConfig(), 0.4, 2, measure.Plan{Warmup: 200, Window: 1000, Series: 7})
	checkSeries(t, f, on)
	// floor(1000*i/7)
	simtest.EqualSlices(t, on.Series.Ends, []int64{142, 285, 428, 571, 714, 857, 1000}, "intervals end at")
	simtest.ErrorIf(t, off.Series != nil || off.MeanLatency() != on.MeanLatency() || !reflect.DeepEqual(off.ChannelFlits, on.ChannelFlits),
		"the series changes the run")
	// More intervals than cycles: one each.
	f, short := n.run(t, fabric.DefaultConfig(), 0.4, 2, measure.Plan{Warmup: 200, Window: 5, Series: 50})
	checkSeries(t, f, short)
	simtest.ErrorIf(t, !slices.Equal(short.Series.Ends, ([]int64{1, 2, 3, 4, 5})), "intervals end at %v", short.Series.Ends)
	n = newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{3, 3}, 1 })
	plan := measure.Plan{Precision: 0.004, Budget: 12_000}
	_, off = n.run(t, fabric.DefaultConfig(), 0.3, 2, plan)
	for _, intervals := range []int{1, 3, 10, 400} {
		plan.Series = intervals
		f, on = n.run(t, fabric.DefaultConfig(), 0.3, 2, plan)
		checkSeries(t, f, on)
		ends := on.Series.Ends
		simtest.ErrorIf(t, ends[0]%4 != 0 || intervals < 400 && (len(ends) < intervals || len(ends) > 2*intervals),
			"%d intervals asked for, %d: %v", intervals, len(ends), ends)
		for i, end := range ends[:len(ends)-1] {
			simtest.ErrorIf(t, end != ends[0]*int64(i+1), "intervals end at %v", ends)
		}
		simtest.ErrorIf(t, off.Window != on.Window || off.Window < 1000 || off.MeanLatency() != on.MeanLatency(),
			"window of %d, with a series %d", off.Window, on.Window)
	}
}
