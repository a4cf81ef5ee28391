package core_test

import (
	"math"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

// laned is a network of switches, all of them at most one cable from another in the middle, whose
// packets have a lane by their destination, from their terminal on.
type laned struct {
	graph *topology.Graph
	lanes int
	lane  func(dst topology.TerminalID) int
}

func (n *laned) Graph() *topology.Graph { return n.graph }

func (n *laned) Facts() topology.Facts { return topology.Facts{} }

func (n *laned) VCs() int { return n.lanes }

func (n *laned) InjectionVCs(int) uint32 { return 1<<n.lanes - 1 }

func (n *laned) Needs() fabric.Needs { return fabric.Needs{Departs: true} }

func (n *laned) Depart(_ *fabric.View, h *fabric.Head) uint32 { return 1 << n.lane(h.Dst) }

func (n *laned) Route(_ *fabric.View, h *fabric.Head) fabric.Hop {
	port := n.graph.TerminalPort[h.Dst]
	if home := n.graph.PortSwitch[port]; home != h.Switch {
		first, end := n.graph.Ports(h.Switch)
		for p := first; p < end; p++ {
			if q, ok := n.graph.PeerPort(p); ok {
				if port = p; n.graph.PortSwitch[q] == home {
					break
				}
			}
		}
	}
	return fabric.Hop{Port: port, VCs: 1 << n.lane(h.Dst)}
}

// newSharedLink is two switches with one cable between them: flow f goes from terminal f
// at the first to terminal n+f at the second, on lane f.
func newSharedLink(flows int) *laned {
	b := topology.NewBuilder(2, topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "link", Latency: 2})
	for s := range topology.SwitchID(2) {
		for range flows {
			b.AddTerminal(s, 0)
		}
	}
	b.AddLink(0, 1, 1)
	return &laned{b.Freeze(), flows, func(dst topology.TerminalID) int { return int(dst) % flows }}
}

// stream is a terminal's packets to another at a load in flits a cycle.
type stream struct {
	src, dst topology.TerminalID
	load     float64
	next     int64
	random   sim.Stream
}

// streams sends packets of one size, each stream's born at random as of a Bernoulli process.
type streams struct {
	terminals int
	size      int32
	all       []stream
	stop      int64
}

func newStreams(terminals int, size int32, all ...stream) *streams {
	all = slices.Clone(all)
	for i := range all {
		all[i].random = sim.NewStream(1, "streams", i)
	}
	return &streams{terminals, size, all, fabric.Never}
}

func (s *streams) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	var first *stream
	for i := range s.all {
		if x := &s.all[i]; x.src == t && x.load > 0 && (first == nil || x.next < first.next) {
			first = x
		}
	}
	spec.Birth = fabric.Never
	if first == nil || first.next >= s.stop {
		return false
	}
	if spec.Birth = first.next; spec.Birth > until {
		return false
	}
	*spec = fabric.PacketSpec{Birth: first.next, Dst: first.dst, Flits: s.size}
	rate := min(first.load/float64(s.size), 0.999999)
	first.next += 1 + int64(math.Log(1-first.random.Float64())/math.Log(1-rate))
	return true
}

func (s *streams) Terminals() int { return s.terminals }

func (s *streams) Closed() bool { return false }

func (s *streams) Stop(c int64) { s.stop = c }

func (s *streams) Behind(c int64) bool { return s.BehindBy(c) > 0 && s.stop > c }

func (s *streams) BehindBy(now int64) float64 {
	oldest := now
	for i := range s.all {
		if s.all[i].load > 0 {
			oldest = min(oldest, s.all[i].next)
		}
	}
	return float64(now - oldest)
}

func (s *streams) Archive(*snapshot.Archive) {}

// byDestination counts packets and their latencies by destination.
type byDestination struct{ packets, latency []int64 }

func (s *byDestination) Deliver(d *fabric.Delivery) {
	s.packets[d.Dst]++
	s.latency[d.Dst] += d.Cycle - d.Birth
}

func (s *byDestination) mean(t topology.TerminalID) float64 {
	return float64(s.latency[t]) / float64(s.packets[t])
}

// flows are streams over a shared link.
func flows(size int32, loads ...float64) *streams {
	var all []stream
	for i, load := range loads {
		all = append(all, stream{src: topology.TerminalID(i), dst: topology.TerminalID(len(loads) + i), load: load})
	}
	return newStreams(2*len(loads), size, all...)
}

// over runs streams through a network and counts what arrives in some cycles, after a start.
func over(t *testing.T, n *laned, config fabric.Config, s *streams, start, cycles int64) *byDestination {
	t.Helper()
	f, sink := simtest.Must(core.New(n.graph, config, n, 1))(t), &byDestination{make([]int64, s.terminals), make([]int64, s.terminals)}
	simtest.Check(t, f.Attach(fabric.Ends{Source: s, Sink: sink}))
	f.Advance(start)
	clear(sink.packets)
	clear(sink.latency)
	f.Advance(cycles)
	return sink
}

// laneConfig is a switch for packets of 4,096 bytes in flits of 64.
func laneConfig(high, low string, limit int) fabric.Config {
	c := fabric.DefaultConfig()
	c.Switch.FlowControl, c.Switch.BufferFlits, c.Switch.OutputBufferFlits = "cut-through", 192, 4
	c.Switch.VLArbHigh, c.Switch.VLArbLow, c.Switch.VLHighLimit = high, low, limit
	return c
}

// shares runs flows at some loads, in packets of 64 flits, and counts what arrives, by flow.
func shares(t *testing.T, config fabric.Config, cycles int64, loads ...float64) []int64 {
	t.Helper()
	return over(t, newSharedLink(len(loads)), config, flows(64, loads...), 10_000, cycles).packets[len(loads):]
}

// twoLanes are tables of two lanes that could each fill a channel alone, and how they
// divide it by the arbiter's closed forms.
var twoLanes = []struct {
	name      string
	high, low string
	limit     int
	ratio     float64 // packets of lane 0 for one of lane 1
}{
	{"192 to 64", "", "0:192,1:64", 0, 3},
	{"3 to 1: a packet may start while weight is left", "", "0:3,1:1", 0, 1},
	{"limit 0", "0:64", "1:64", 0, 1},
	{"limit 1", "0:64", "1:64", 1, 1},
	{"limit 5", "0:64", "1:64", 5, 5},
	{"limit 254", "0:64", "1:64", 254, 254},
	{"limit 255 starves", "0:64", "1:64", 255, math.Inf(1)},
}

// The rules of the two tables on a link that both lanes could fill alone: what the
// arbiter's closed forms say, to a packet at each end of the window.
func TestLanesShareALink(t *testing.T) {
	for i, c := range twoLanes {
		for _, speedup := range simtest.Some(t, i, 1.0, 2) {
			config := laneConfig(c.high, c.low, c.limit)
			config.Switch.Speedup = speedup
			const packets = 1024
			got := shares(t, config, 64*packets, 2, 2)
			a, b := got[0], got[1]
			simtest.ErrorIf(t, a+b < packets-2, "%s, speedup %v: the link carried %d packets of %d", c.name, speedup, a+b, packets)
			simtest.ErrorIf(t, math.Abs(float64(b)-(packets/(c.ratio+1))) > 2, "%s, speedup %v: %d to %d, want %v to 1", c.name, speedup, a, b, c.ratio)
		}
	}
}

// A lane that is alone has the link, whatever its weight.
func TestLanesAreWorkConserving(t *testing.T) {
	got := shares(t, laneConfig("0:255", "1:1", 255), 64_000, 0, 2)
	simtest.ErrorIf(t, got[1] < 998, "%d packets of 1000", got[1])
}

// A packet of the high table waits for the one under way, and for no other, where another lane fills the link.
func TestHighLaneWaitsForOnePacket(t *testing.T) {
	const size = 4
	mean := func(beside float64) float64 {
		return over(t, newSharedLink(2), laneConfig("0:255", "1:64", 255), flows(size, 0.1, beside), 0, 400_000).mean(2)
	}
	alone, beside := mean(0), mean(2)
	simtest.ErrorIf(t, beside-alone > size || beside < alone, "mean latency %.2f cycles alone, %.2f beside a lane that fills the link", alone, beside)
}

// newIncast is a switch in the middle with terminal 9, the hot spot, and switches around
// it: eight with a sender to it, the first of them with a victim, terminal 10, too, whose packets
// go to terminal 8 at the ninth, on a lane of their own or on that of all.
func newIncast(own bool) *laned {
	b := topology.NewBuilder(10, topology.Class{Name: "x", Latency: 10})
	for s := range topology.SwitchID(10) { // of switch 9 the hot spot
		b.AddTerminal(s, 0)
	}
	b.AddTerminal(0, 0)
	for s := range topology.SwitchID(9) {
		b.AddLink(s, 9, 0)
	}
	return &laned{b.Freeze(), 2, func(dst topology.TerminalID) int {
		if own && dst == 8 {
			return 1
		}
		return 0
	}}
}

// A victim's flow on a lane of its own keeps its latency within 5 % of what it is alone, while another lane is
// congested: the senders to the hot spot get an eighth of it each, so that the victim's links are idle but for that,
// yet full of packets that wait. On their lane it waits behind them.
func TestVictimOnItsOwnLane(t *testing.T) {
	mean := func(own, congested bool) float64 {
		all := []stream{{src: 10, dst: 8, load: 0.1}}
		for src := topology.TerminalID(0); congested && src < 8; src++ {
			all = append(all, stream{src: src, dst: 9, load: 1})
		}
		got := over(t, newIncast(own), laneConfig("", "0:64,1:64", 0), newStreams(11, 4, all...), 20_000, 100_000)
		simtest.ErrorIf(t, congested && got.packets[9]*4 < 99_000, "the hot spot gets %d packets: no incast", got.packets[9])
		return got.mean(8)
	}
	alone, own, shared := mean(true, false), mean(true, true), mean(false, true)
	simtest.ErrorIf(t, own > 1.05*alone || shared < 4*alone,
		"mean latency %.2f cycles alone, %.2f on a lane of its own, %.2f on that of the others", alone, own, shared)
	t.Logf("mean latency %.2f cycles alone, %.2f on a lane of its own, %.2f on that of the others", alone, own, shared)
}

// Any number of threads, and a registered allocator, give what they should: every
// packet whole, in the order of its lane.
func TestLanesRegistered(t *testing.T) {
	for _, name := range []string{"wavefront", "islip", "input-first"} {
		config := laneConfig("", "0:128,1:64", 0)
		config.Switch.Allocator = allocator.Named(name)
		got := shares(t, config, 64*3000, 2, 2)
		simtest.ErrorIf(t, math.Abs(float64(got[1])-1000) > 2, "%s: %v", name, got)
	}
}

// The audit finds everything at home when the packets of several lanes have arrived. A network with faults, which tracks
// every packet, keeps those that wait.
func TestLanesDrain(t *testing.T) {
	for _, faults := range []bool{false, true} {
		n := newSharedLink(3)
		f := simtest.Must(core.New(n.graph, laneConfig("2:10", "0:64,1:128", 1), n, 1))(t)
		source, sink := flows(50, 0.5, 0.5, 0.5), &script{}
		if faults {
			simtest.Check(t, f.SetFaults(&fabric.FaultPlan{Periods: []topology.Period{{Down: topology.NewDown(n.graph)}}, Routing: []fabric.Routing{n}}))
		}
		simtest.Check(t, f.Attach(fabric.Ends{Source: source, Sink: sink}))
		source.stop = 20_000
		f.Advance(20_000)
		if faults {
			f.ClearLanes()
		}
		f.Advance(40_000)
		err := f.Audit() // 20,000*0.5/50 = 200 of each flow, by chance some fewer
		simtest.ErrorIf(t, err != nil || len(sink.Delivered) < 500 || !f.Settled(), "faults %v: %v, %d packets", faults, err, len(sink.Delivered))
	}
}

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
		simtest.ErrorIf(t, math.Abs(float64(b)-(packets/(c.ratio+1))) > 2, "%s: %d to %d, want %v to 1", c.name, a, b, c.ratio)
	}
}

// The tables of the switches hold for terminals that have none of their own.
func TestTerminalLanesFallBack(t *testing.T) {
	got := over(t, newStar(4, 2), laneConfig("", "0:192,1:64", 0), newStreams(4, 64, stream{src: 0, dst: 2, load: 2}, stream{src: 0, dst: 3, load: 2}), 64_000, 64_000)
	simtest.ErrorIf(t, math.Abs(float64(got.packets[2])-750) > 2 || math.Abs(float64(got.packets[3])-250) > 2, "%v", got.packets)
}

// Four senders fill the channel to terminal 4, on lane 0, four times over. The first of them sends to terminal 5, too,
// on lane 1, a tenth of its channel. In order of birth those packets wait behind the others, at the terminal, without
// end. In queues by lane they keep their latency within 5 % of what it is alone: a packet that is leaving holds up the
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

// Packets of a pair keep their order, and none is lost, made twice or left behind because its terminal sleeps.
func TestTerminalLanesKeepOrder(t *testing.T) {
	n := newStar(6, 3)
	f, s := simtest.Must(core.New(n.graph, adapterConfig("2:1", "0:3,1:1", 1), n, 1))(t), newStreams(6, 7)
	for src := range topology.TerminalID(6) {
		for dst := range topology.TerminalID(6) {
			s.all = append(s.all, stream{src: src, dst: dst, load: 0.2, random: sim.NewStream(1, "streams", int(src*6+dst))})
		}
	}
	births, delivered := map[[2]topology.TerminalID]int64{}, 0
	simtest.Check(t, f.Attach(fabric.Ends{Source: s, Sink: deliver(func(d *fabric.Delivery) {
		pair := [2]topology.TerminalID{d.Src, d.Dst}
		simtest.FatalIf(t, d.Birth < births[pair], "%v: the packet of cycle %d came after that of %d", pair, d.Birth, births[pair])
		births[pair] = d.Birth
		delivered++
	})}))
	s.stop = 20_000
	f.Advance(100_000)
	err := f.Audit()
	simtest.ErrorIf(t, err != nil || f.InFlight() > 0, "%v %v", err, f.InFlight())
	sent, again := 0, newStreams(6, 7, s.all...)
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
	r := run(0.3)
	simtest.ErrorIf(t, r.State == measure.Saturated || r.Packets() == 0, "%v %v", r.State, r.Reason)
	r = run(0.9) // of 19,000 flits born in the window 10,000, and some in buffers, leave for terminal 2, and 1,000 for 3
	simtest.ErrorIf(t, r.State != measure.Saturated || r.Packets() > 3000, "%v %v, %d packets", r.State, r.Reason, r.Packets())
}

// anyLane lets packets to terminal 3 leave their terminal on any lane.
type anyLane struct{ *laned }

func (n anyLane) Depart(v *fabric.View, h *fabric.Head) uint32 {
	if h.Dst == 3 {
		return n.InjectionVCs(0)
	}
	return n.laned.Depart(v, h)
}

// Of the packets that can leave on the lane whose turn it is, here 0, the first-born does, whatever lanes they have: while
// one of 8 flits leaves, two are born, and that to terminal 3 before that to terminal 2.
func TestTerminalLanesFirstBorn(t *testing.T) {
	n, s := newStar(4, 2), &script{}
	n.lane = func(topology.TerminalID) int { return 0 }
	f := simtest.Must(core.New(n.graph, adapterConfig("", "0:255,1:1", 0), anyLane{n}, 1))(t)
	for birth, dst := range []topology.TerminalID{2, 3, 2} {
		s.Send(0, fabric.PacketSpec{Birth: int64(birth), Dst: dst, Flits: int32(8>>(3*birth) | 1)})
	}
	simtest.Check(t, measure.RunToEnd(t.Context(), f, fabric.Ends{Source: s, Sink: s}, measure.ToEnd{}))
	simtest.Equal(t, s.Arrivals(3)[0], s.Arrivals(2)[1]-1, "the packet to terminal 3 arrives, a cycle before that to 2, in cycle")
}

// What is born meanwhile does not hurry a packet that leaves: of two flits on a channel that takes three cycles for one,
// the first enters in cycle 1 and the second in cycle 4, not in 3, when a packet born in 2 could.
func TestTerminalLanesKeepRate(t *testing.T) {
	n, config, s := newStar(4, 2), adapterConfig("", "0:64,1:64", 0), &script{}
	config.Channels = map[string]fabric.ChannelConfig{"terminal": {CyclesPerFlit: 3}}
	f := simtest.Must(core.New(n.graph, config, n, 1))(t)
	s.Send(0, fabric.PacketSpec{Dst: 2, Flits: 2})
	s.Send(0, fabric.PacketSpec{Birth: 2, Dst: 3, Flits: 1})
	simtest.Check(t, f.Attach(fabric.Ends{Source: s, Sink: s}))
	for cycle, want := range []int64{0, 1, 1, 1, 2, 2, 2, 3} {
		f.Advance(1)
		simtest.Equal(t, f.InjectedFlits, want, "flits that have entered by cycle %d:", cycle)
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
	simtest.ErrorIf(t, bounded.mean(5) < 20*unbounded.mean(5) || bounded.packets[4] != unbounded.packets[4],
		"latency %.2f cycles with 8 packets, %.2f with any number; packets to the hot spot %d and %d", bounded.mean(5), unbounded.mean(5), bounded.packets[4], unbounded.packets[4])
}
