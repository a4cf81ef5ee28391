package core_test

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// newStar is a switch with terminals: packets to terminal t take lane t % lanes.
func newStar(terminals, lanes int) *laned {
	b := topology.NewBuilder(1, topology.Class{Name: "terminal", Latency: 15})
	for range terminals {
		b.AddTerminal(0, 0)
	}
	return &laned{b.Freeze(), lanes, func(dst topology.TerminalID) int { return int(dst) % lanes }}
}

// adapterConfig arbitrates at terminals; the switch, which has nothing to decide in a
// star whose outputs are not loaded, mixes lanes flit by flit.
func adapterConfig(high, low string, limit int) fabric.Config {
	c := laneConfig("", "", 0)
	c.Terminal.VLArbHigh, c.Terminal.VLArbLow, c.Terminal.VLHighLimit = high, low, limit
	return c
}

// A terminal with more to send on two lanes than its channel carries divides it as the
// closed forms say, with packets of 4,096 bytes in flits of 64.
func TestTerminalLanesShareAChannel(t *testing.T) {
	for _, c := range twoLanes {
		const packets = 1024
		n := newStar(4, 2)
		got := over(t, n, adapterConfig(c.high, c.low, c.limit), newStreams(4, 64, stream{src: 0, dst: 2, load: 2}, stream{src: 0, dst: 3, load: 2}), 64*packets, 64*packets)
		a, b := got.packets[2], got.packets[3]
		simtest.ErrorIf(t, a+b < packets-1, "%s: the channel carried %d packets of %d", c.name, a+b, packets)
		want := packets / (c.ratio + 1)
		simtest.ErrorIf(t, math.Abs(float64(b)-want) > 2, "%s: %d to %d, want %v to 1", c.name, a, b, c.ratio)
	}
}

// The tables of the switches hold for terminals that have none of their own.
func TestTerminalLanesFallBack(t *testing.T) {
	got := over(t, newStar(4, 2), laneConfig("", "0:192,1:64", 0), newStreams(4, 64, stream{src: 0, dst: 2, load: 2}, stream{src: 0, dst: 3, load: 2}), 64_000, 64_000)
	simtest.ErrorIf(t, math.Abs(float64(got.packets[2])-750) > 2 || math.Abs(float64(got.packets[3])-250) > 2, "%v", got.packets)
}

// Four senders fill the channel to terminal 4, on lane 0, four times over. The first of
// them sends to terminal 5, too, on lane 1, a tenth of its channel. In order of birth those
// packets wait behind the others, at the terminal, without end. In queues by lane they
// keep their latency within 5 % of what it is alone: a packet that is leaving holds up the
// next one for 2.5 cycles on average, a quarter of the time.
func TestVictimFromTheSameTerminal(t *testing.T) {
	mean := func(config fabric.Config, congested bool) float64 {
		all := []stream{{src: 0, dst: 5, load: 0.1}}
		if congested {
			for src := range topology.TerminalID(4) {
				all = append(all, stream{src: src, dst: 4, load: 1})
			}
		}
		return over(t, newStar(6, 2), config, newStreams(6, 4, all...), 50_000, 50_000).mean(5)
	}
	lanes, fifo := adapterConfig("", "0:64,1:64", 0), laneConfig("", "", 0)
	alone, own, shared := mean(lanes, false), mean(lanes, true), mean(fifo, true)
	t.Logf("mean latency %.2f cycles alone, %.2f in queues by lane, %.2f in order of birth", alone, own, shared)
	same := mean(fifo, false)
	simtest.ErrorIf(t, same != alone, "alone, %.2f cycles with queues by lane and %.2f without", alone, same)
	simtest.ErrorIf(t, own > 1.05*alone || own < alone || shared < 100*alone,
		"mean latency %.2f cycles alone, %.2f in queues by lane, %.2f in order of birth", alone, own, shared)
}

// Packets of a pair keep their order, and none is lost, made twice or left behind because
// its terminal sleeps.
func TestTerminalLanesKeepOrder(t *testing.T) {
	n := newStar(6, 3)
	f := simtest.Must(core.New(n.graph, adapterConfig("2:1", "0:3,1:1", 1), n, 1))(t)
	s := newStreams(6, 7)
	for src := range topology.TerminalID(6) {
		for dst := range topology.TerminalID(6) {
			s.all = append(s.all, stream{src: src, dst: dst, load: 0.2, random: sim.NewStream(1, "streams", int(src*6+dst))})
		}
	}
	births := map[[2]topology.TerminalID]int64{}
	delivered := 0
	simtest.Check(t, f.Attach(fabric.Ends{Source: s, Sink: deliver(func(d *fabric.Delivery) {
		pair := [2]topology.TerminalID{d.Src, d.Dst}
		simtest.FatalIf(t, d.Birth < births[pair],
			"%v: the packet of cycle %d came after that of %d", pair, d.Birth, births[pair])
		births[pair] = d.Birth
		delivered++
	})}))
	s.stop = 20_000
	f.Advance(100_000)
	if err := f.Audit(); err != nil || f.InFlight() > 0 {
		t.Error(err, f.InFlight())
	}
	sent := 0
	again := newStreams(6, 7, s.all...)
	again.stop = s.stop
	for i := range again.all {
		again.all[i].next = 0
	}
	for src := range topology.TerminalID(6) {
		spec := fabric.PacketSpec{}
		for again.Next(src, s.stop, &spec) {
			sent++
		}
	}
	simtest.ErrorIf(t, delivered != sent, "%d packets were born and %d delivered", sent, delivered)
}

type deliver func(*fabric.Delivery)

func (f deliver) Deliver(d *fabric.Delivery) { f(d) }

// A run that is measured drains what its window sent, judges a backlog in the lanes as
// one at the sources, and leaves nothing behind.
func TestTerminalLanesInARun(t *testing.T) {
	run := func(load float64) *measure.Result {
		t.Helper()
		n := newStar(4, 2)
		f := simtest.Must(core.New(n.graph, adapterConfig("", "0:64,1:64", 0), n, 1))(t)
		s := newStreams(4, 4, stream{src: 0, dst: 2, load: load}, stream{src: 1, dst: 2, load: load}, stream{src: 0, dst: 3, load: 0.1})
		return simtest.Must(measure.Run(t.Context(), f, s, load/2, measure.Plan{Warmup: 2000, Window: 10_000}))(t)
	}
	if r := run(0.3); r.State == measure.Saturated || r.Packets() == 0 {
		t.Error(r.State, r.Reason)
	}
	if r := run(0.9); r.State != measure.Saturated {
		t.Error(r.State, r.Reason)
	}
}

// Beyond the packets that a terminal looks ahead, one that waits holds up those behind
// it again, so that memory is bounded; nothing else changes.
func TestTerminalLanesAreBounded(t *testing.T) {
	send := func() *byDestination {
		s := newStreams(6, 4, stream{src: 0, dst: 5, load: 0.1})
		for src := range topology.TerminalID(4) {
			s.all = append(s.all, stream{src: src, dst: 4, load: 1, random: sim.NewStream(1, "streams", 1+int(src))})
		}
		return over(t, newStar(6, 2), adapterConfig("", "0:64,1:64", 0), s, 20_000, 20_000)
	}
	unbounded := send()
	core.MostWaiting(t.Cleanup, 8)
	bounded := send()
	if bounded.mean(5) < 20*unbounded.mean(5) || bounded.packets[4] != unbounded.packets[4] {
		t.Errorf("latency %.2f cycles with 8 packets, %.2f with any number; packets to the hot spot %d and %d", bounded.mean(5), unbounded.mean(5), bounded.packets[4], unbounded.packets[4])
	}
}
