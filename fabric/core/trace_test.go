package core_test

import (
	"reflect"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestTraceZeroLoad follows a packet of 3 flits over a row of 3 switches, born in cycle 100. Terminals wait 4 cycles
// and their channels take 3, those between switches 10; the stages take 2, 3, 4 and 5 cycles. By hand:
//
//	104       head enters the channel, the tail 2 cycles later, as everywhere
//	104+3     arrives at the first switch, in front of an empty queue
//	107+2     routed; 109+3: holds a virtual channel, and wins the switch
//	112+4+5   through allocation and crossbar, onto a free channel
//	121+10    arrives at the second switch, at the third after 14+10 more
//	155+14    enters its terminal's channel; 172: the head arrives, 174: the tail
func TestTraceZeroLoad(t *testing.T) {
	n := newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{3}, 1 })
	config := fabric.DefaultConfig()
	s := &config.Switch
	s.RouteCycles, s.VCAllocCycles, s.SwitchAllocCycles, s.CrossbarCycles, s.Speedup = 2, 3, 4, 5, 1
	config.Terminal.InjectionCycles = 4
	config.Channels = map[string]fabric.ChannelConfig{"terminal": {Latency: 3 * sim.Nanosecond}, "grid": {Latency: 10 * sim.Nanosecond}}
	f, meter := n.fabric(t, config), measure.NewMeter(100)
	meter.Open(0)
	tr, source := observe.StartTrace(f, meter, observe.TracePlan{Packets: 5}), &script{}
	source.Send(0, fabric.PacketSpec{Birth: 100, Dst: 2, Flits: 3, Tag: 7})
	f.Attach(fabric.Ends{Source: source, Sink: meter})
	f.Advance(300)
	simtest.FatalIf(t, len(tr.Packets()) != 1, "%d packets", len(tr.Packets()))
	p, g := tr.Packets()[0], f.Graph()
	path := p.Path
	p.Path = nil
	want := observe.PacketTrace{
		Delivery: fabric.Delivery{Src: 0, Dst: 2, Birth: 100, Inject: 104, Cycle: 174, Hops: 3, Flits: 3, Tag: 7},
		Number:   1, InjectTail: 106, HeadCycle: 172,
	}
	simtest.ErrorIf(t, !reflect.DeepEqual(*p, want), "got  %+v\nwant %+v", *p, want)
	in := g.TerminalPort[0]
	for i, h := range path {
		arrive := int64(107 + 24*i)
		n.walk(t, 0, 2, f.VCs(), func(port topology.PortID) {
			if int(g.PortSwitch[port]) == i {
				want := observe.TraceHop{
					In: in, Out: port, OutVC: h.OutVC, InVC: h.InVC, VCs: 1<<f.VCs() - 1,
					Arrive: arrive, Front: arrive, Routed: arrive + 2, Held: arrive + 5, Cross: arrive + 5, Ready: arrive + 14, Depart: arrive + 14,
					TailArrive: arrive + 2, TailCross: arrive + 7, TailDepart: arrive + 16,
				}
				simtest.ErrorIf(t, !reflect.DeepEqual(h, want), "switch %d: got  %+v\nwant %+v", i, h, want)
				in, _ = g.PeerPort(port)
			}
		})
	}
	p.Path = path
	// 4 + 26 + 3 * 14 on its way, and 2 flits behind the first.
	var d observe.Division
	tr.Divide(p, &d)
	simtest.ErrorIf(t, d.Way != 72 || d.Serial != 2 || d.Source != 0 || len(d.Waits) != 3 || d.Waits[0]+d.Waits[1]+d.Waits[2] != 0, "divided %+v", d)
	// 4; 3+10+10+3; nothing in front; 3 times each stage; nothing; 2 flits.
	got := p.Stages()
	simtest.ErrorIf(t, len(path) != 3 || got != [observe.NumStages]int64{4, 26, 0, 6, 9, 0, 27, 0, 2}, "%d switches, stages %v", len(path), got)
}

// checkTrace: a packet's life is in order, hop follows hop by the cables of the network, and
// its stages add up to its latency.
func checkTrace(t *testing.T, f *core.Fabric, p *observe.PacketTrace) {
	t.Helper()
	g, sum := f.Graph(), int64(0)
	for i, x := range p.Stages() {
		sum += x
		simtest.ErrorIf(t, x < 0, "%s takes %d cycles: %+v", observe.StageNames[i], x, p)
	}
	simtest.ErrorIf(t, sum != p.Cycle-p.Birth, "stages add up to %d, latency %d: %+v", sum, p.Cycle-p.Birth, p)
	simtest.FatalIf(t, len(p.Path) != p.Hops || p.Path[0].In != g.TerminalPort[p.Src] || p.Path[p.Hops-1].Out != g.TerminalPort[p.Dst] || p.VC != p.Path[0].InVC,
		"path %+v", p)
	tail := p.InjectTail
	for i, h := range p.Path {
		if i > 0 {
			last := p.Path[i-1]
			peer, ok := g.PeerPort(last.Out)
			simtest.ErrorIf(t, !ok || peer != h.In || last.OutVC != h.InVC, "switch %d of the path does not follow: %+v", i, p)
		}
		simtest.ErrorIf(t, h.VCs>>h.OutVC&1 == 0 || g.PortSwitch[h.In] != g.PortSwitch[h.Out], "impossible decision: %+v", h)
		// The tail is never ahead of the head or of itself.
		simtest.ErrorIf(t, h.Cross < h.Held || h.Cross > h.Ready || h.TailArrive <= tail || h.TailCross < h.TailArrive || h.TailDepart < h.TailCross || h.TailDepart < h.Depart+int64(p.Flits)-1,
			"out of order: %+v", h)
		awake := h.Routed
		for _, w := range h.Waits {
			simtest.ErrorIf(t, w.From < awake || w.To < w.From || w.To > h.Cross || w.Part != core.PartCredit && w.Part != core.PartVC,
				"out of order: %+v", h)
			awake = w.To
		}
		tail = h.TailDepart
	}
	simtest.ErrorIf(t, p.Cycle <= tail, "arrives before it leaves: %+v", p)
}

// checkDivision: the parts of a packet's division add up to its latency and none is negative.
func (x *observedRun) checkDivision(t *testing.T, p *observe.PacketTrace) {
	t.Helper()
	var d observe.Division
	x.tracer.Divide(p, &d)
	sum := d.Way + d.Serial + d.Source
	for _, w := range d.Waits {
		sum += w
		simtest.ErrorIf(t, w < 0, "%+v: waits %v", p, d.Waits)
	}
	simtest.ErrorIf(t, sum != p.Cycle-p.Birth || d.Way <= 0 || d.Serial < int64(x.flits-1) || d.Source < 0 || len(d.Waits) != p.Hops, "%+v: %+v", p, d)
}

// quickest counts the pairs of terminals between which packets went, and those whose quickest
// packet has waited for nothing by its division.
func (x *observedRun) quickest() (pairs, free int) {
	var d observe.Division
	quickest := map[[2]topology.TerminalID]*observe.PacketTrace{}
	for _, p := range x.tracer.Packets() {
		pair := [2]topology.TerminalID{p.Src, p.Dst}
		if before, known := quickest[pair]; !known || p.Cycle-p.Birth < before.Cycle-before.Birth {
			quickest[pair] = p
		}
	}
	for _, p := range quickest {
		if x.tracer.Divide(p, &d); p.Cycle-p.Birth == d.Way+d.Serial {
			free++
		}
	}
	return len(quickest), free
}

// compare: a packet of one flit that is never behind another in a queue has spent the same time on everything by its
// trace and by blame. What waits for the channel before the crossbar because there is no room behind it counts as
// switch allocation in a trace. It counts such packets, and the cycles in which they had no credit.
func (x *observedRun) compare(t *testing.T) (compared int, stalled int64) {
	for _, p := range x.tracer.Packets() {
		s, b := p.Stages(), x.accounts[packetKey{p.Src, p.Inject}]
		if s[observe.StageBuffer] > 0 || p.Flits > 1 {
			continue
		}
		compared++
		stalled += b[core.PartCredit]
		got := core.Parts{s[observe.StageSource], s[observe.StageRoute], s[observe.StageVC], s[observe.StageSwitch] + s[observe.StageOutput], s[observe.StageCredit], 0, 0, s[observe.StageWire]}
		b[core.PartSwitch] += b[core.PartSerial] + b[core.PartEjection]
		b[core.PartSerial], b[core.PartEjection] = 0, 0
		simtest.ErrorIf(t, got != b, "trace %v, blame %v: %+v", got, b, p)
	}
	return compared, stalled
}

// TestTraceChoice: what is recorded is what was asked for, found among all packets by brute force.
func TestTraceChoice(t *testing.T) {
	n := dragonflyNetwork(t, "min", 2, 4, 2)
	run := func(plan observe.TracePlan) []*observe.PacketTrace {
		_, r := n.run(t, pipelined(), 0.5, 2, measure.Plan{Warmup: 200, Window: 400, Trace: plan})
		return r.Traces
	}
	all := run(observe.TracePlan{Packets: 1 << 20})
	same := func(what string, got []*observe.PacketTrace, want []*observe.PacketTrace) {
		t.Helper()
		simtest.ErrorIf(t, len(want) == 0 || !reflect.DeepEqual(got, want), "%s: %d packets, want %d", what, len(got), len(want))
	}
	same("first", run(observe.TracePlan{Packets: 9}), all[:9])
	only := make([]bool, n.topo.Graph().Terminals())
	only[3], only[5] = true, true
	var from, to, third []*observe.PacketTrace
	count, number := map[topology.TerminalID]int{}, map[topology.TerminalID]int{}
	for _, p := range all {
		number[p.Src]++
		simtest.ErrorIf(t, p.Number != number[p.Src], "packet %d of terminal %d is called %d", number[p.Src], p.Src, p.Number)
		if only[p.Src] {
			from = append(from, p)
		}
		if only[p.Dst] {
			to = append(to, p)
		}
		if count[p.Src]%3 == 0 {
			third = append(third, p)
		}
		count[p.Src]++
	}
	same("sources", run(observe.TracePlan{Packets: 1 << 20, Sources: only}), from)
	same("destinations", run(observe.TracePlan{Packets: 1 << 20, Destinations: only}), to)
	same("every third", run(observe.TracePlan{Packets: 1 << 20, Every: 3}), third)

	// The slowest are as slow as the others at most.
	slowest := run(observe.TracePlan{Packets: 9, Slowest: true})
	least := slowest[0].Cycle - slowest[0].Birth
	for _, p := range slowest {
		least = min(least, p.Cycle-p.Birth)
	}
	slower := 0
	for _, p := range all {
		if p.Cycle-p.Birth > least {
			slower++
		}
	}
	simtest.ErrorIf(t, len(slowest) != 9 || slower > 8,
		"%d packets, of which the least slow takes %d cycles; %d packets are slower", len(slowest), least, slower)
}
