package core_test

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// sharedLink is two switches with one cable between them: flow f goes from terminal f
// at the first to terminal n+f at the second, on lane f.
type sharedLink struct{ graph *topology.Graph }

func newSharedLink(flows int) *sharedLink {
	b := topology.NewBuilder(2, topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "link", Latency: 2})
	for s := range topology.SwitchID(2) {
		for range flows {
			b.AddTerminal(s, 0)
		}
	}
	b.AddLink(0, 1, 1)
	return &sharedLink{b.Freeze()}
}

func (n *sharedLink) flows() int { return n.graph.Terminals() / 2 }

func (n *sharedLink) VCs() int { return n.flows() }

func (n *sharedLink) InjectionVCs(vcs int) uint32 { return 1<<vcs - 1 }

func (n *sharedLink) Needs() fabric.Needs { return fabric.Needs{Departs: true} }

func (n *sharedLink) lane(dst topology.TerminalID) uint32 { return 1 << (int(dst) % n.flows()) }

func (n *sharedLink) Depart(_ *fabric.View, h *fabric.Head) uint32 { return n.lane(h.Dst) }

func (n *sharedLink) Route(_ *fabric.View, h *fabric.Head) fabric.Hop {
	port := n.graph.TerminalPort[h.Dst]
	if h.Switch == 0 {
		port = n.graph.PortStart[1] - 1 // after the terminals' ports
	}
	return fabric.Hop{Port: port, VCs: n.lane(h.Dst)}
}

// flows are sources at the terminals of the first switch, each with packets for its own
// at the second at a load in flits a cycle: births at random, as of a Bernoulli process.
type flows struct {
	size    int32
	loads   []float64
	next    []int64
	stop    int64
	streams []sim.Stream
}

func newFlows(size int, loads []float64) *flows {
	f := &flows{size: int32(size), loads: loads, next: make([]int64, len(loads)), stop: fabric.Never}
	for i, load := range loads {
		f.streams = append(f.streams, sim.NewStream(1, "flows", i))
		if load == 0 {
			f.next[i] = fabric.Never
		}
	}
	return f
}

func (f *flows) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	spec.Birth = fabric.Never
	if int(t) >= len(f.loads) || f.next[t] >= f.stop {
		return false
	}
	if spec.Birth = f.next[t]; spec.Birth > until {
		return false
	}
	*spec = fabric.PacketSpec{Birth: f.next[t], Dst: t + topology.TerminalID(len(f.loads)), Flits: f.size}
	rate := min(f.loads[t]/float64(f.size), 0.999999)
	f.next[t] += 1 + int64(math.Log(1-f.streams[t].Float64())/math.Log(1-rate))
	return true
}

// bySource counts packets and their latencies by source.
type bySource struct {
	packets []int64
	latency []int64
}

func (s *bySource) Deliver(d *fabric.Delivery) {
	s.packets[d.Src]++
	s.latency[d.Src] += d.Cycle - d.Birth
}

// laneConfig is a switch for packets of 4,096 bytes in flits of 64.
func laneConfig(high, low string, limit int) fabric.Config {
	c := fabric.DefaultConfig()
	c.Switch.FlowControl, c.Switch.BufferFlits, c.Switch.OutputBufferFlits = "cut-through", 192, 4
	c.Switch.VLArbHigh, c.Switch.VLArbLow, c.Switch.VLHighLimit = high, low, limit
	return c
}

// shares runs flows at some loads, in packets of 64 flits, and counts what arrives
// after a start.
func shares(t *testing.T, config fabric.Config, loads []float64, cycles int64) *bySource {
	t.Helper()
	n := newSharedLink(len(loads))
	f := simtest.Must(core.New(n.graph, config, n, 1))(t)
	sink := &bySource{make([]int64, 2*len(loads)), make([]int64, 2*len(loads))}
	simtest.Check(t, f.Attach(newFlows(64, loads), sink))
	f.Advance(10_000)
	clear(sink.packets)
	clear(sink.latency)
	f.Advance(cycles)
	return sink
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
			got := shares(t, config, []float64{2, 2}, 64*packets)
			a, b := got.packets[0], got.packets[1]
			if a+b < packets-2 {
				t.Errorf("%s, speedup %v: the link carried %d packets of %d", c.name, speedup, a+b, packets)
			}
			want := packets / (c.ratio + 1)
			if math.Abs(float64(b)-want) > 2 {
				t.Errorf("%s, speedup %v: %d to %d, want %v to 1", c.name, speedup, a, b, c.ratio)
			}
		}
	}
}

// A lane that is alone has the link, whatever its weight.
func TestLanesAreWorkConserving(t *testing.T) {
	got := shares(t, laneConfig("0:255", "1:1", 255), []float64{0, 2}, 64_000)
	if got.packets[1] < 998 {
		t.Errorf("%d packets of 1000", got.packets[1])
	}
}

// A packet of the high table waits for the one under way, and for no other, where
// another lane fills the link.
func TestHighLaneWaitsForOnePacket(t *testing.T) {
	const size = 4
	mean := func(loads []float64) float64 {
		n := newSharedLink(len(loads))
		f := simtest.Must(core.New(n.graph, laneConfig("0:255", "1:64", 255), n, 1))(t)
		sink := &bySource{make([]int64, 2*len(loads)), make([]int64, 2*len(loads))}
		simtest.Check(t, f.Attach(newFlows(size, loads), sink))
		f.Advance(400_000)
		return float64(sink.latency[0]) / float64(sink.packets[0])
	}
	alone, beside := mean([]float64{0.1, 0}), mean([]float64{0.1, 2})
	if beside-alone > size || beside < alone {
		t.Errorf("mean latency %.2f cycles alone, %.2f beside a lane that fills the link", alone, beside)
	}
}

// incast is a switch in the middle with a terminal, the hot spot, and switches around
// it: eight with a sender to it, the first of them with a victim, too, whose packets
// go to the terminal of a ninth.
type incast struct {
	graph  *topology.Graph
	victim topology.TerminalID
	to     topology.TerminalID
	own    bool // the victim has lane 1; else all are on lane 0
}

func newIncast(own bool) *incast {
	b := topology.NewBuilder(10, topology.Class{Name: "x", Latency: 10})
	for s := range topology.SwitchID(10) { // of switch 9 the hot spot
		b.AddTerminal(s, 0)
	}
	b.AddTerminal(0, 0)
	for s := range topology.SwitchID(9) {
		b.AddLink(s, 9, 0)
	}
	return &incast{graph: b.Freeze(), victim: 10, to: 8, own: own}
}

func (n *incast) VCs() int { return 2 }

func (n *incast) InjectionVCs(int) uint32 { return 3 }

func (n *incast) Needs() fabric.Needs { return fabric.Needs{Departs: true} }

func (n *incast) lane(dst topology.TerminalID) uint32 {
	if n.own && dst == n.to {
		return 2
	}
	return 1
}

func (n *incast) Depart(_ *fabric.View, h *fabric.Head) uint32 { return n.lane(h.Dst) }

func (n *incast) Route(_ *fabric.View, h *fabric.Head) fabric.Hop {
	first, end := n.graph.Ports(h.Switch)
	port := n.graph.TerminalPort[h.Dst]
	if n.graph.PortSwitch[port] != h.Switch {
		want := n.graph.PortSwitch[port]
		for p := first; p < end; p++ {
			if q, ok := n.graph.PeerPort(p); ok && (h.Switch != 9 || n.graph.PortSwitch[q] == want) {
				port = p
			}
		}
	}
	return fabric.Hop{Port: port, VCs: n.lane(h.Dst)}
}

// The senders of an incast keep to their loads; the victim's is its own.
type incastSource struct {
	*flows
	network *incast
}

func (s *incastSource) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	made := s.flows.Next(t, until, spec)
	if made {
		if spec.Dst = 9; t == s.network.victim {
			spec.Dst = s.network.to
		}
	}
	return made
}

// A victim's flow on a lane of its own keeps its latency within 5 % of what it is
// alone, while another lane is congested: the senders to the hot spot get an eighth of
// it each, so that the victim's links are idle but for that, yet full of packets that
// wait. On their lane it waits behind them.
func TestVictimOnItsOwnLane(t *testing.T) {
	mean := func(own, congested bool) float64 {
		n := newIncast(own)
		f := simtest.Must(core.New(n.graph, laneConfig("", "0:64,1:64", 0), n, 1))(t)
		loads := make([]float64, 11)
		loads[n.victim] = 0.1
		if congested {
			for s := range 8 {
				loads[s] = 1
			}
		}
		sink := &bySource{make([]int64, 11), make([]int64, 11)}
		simtest.Check(t, f.Attach(&incastSource{newFlows(4, loads), n}, sink))
		f.Advance(20_000)
		clear(sink.packets)
		clear(sink.latency)
		f.Advance(100_000)
		if congested && sink.packets[0]*4 > 100_000/8*11/10 {
			t.Errorf("the first sender sent %d packets: no incast", sink.packets[0])
		}
		return float64(sink.latency[n.victim]) / float64(sink.packets[n.victim])
	}
	alone, own, shared := mean(true, false), mean(true, true), mean(false, true)
	if own > 1.05*alone || shared < 4*alone {
		t.Errorf("mean latency %.2f cycles alone, %.2f on a lane of its own, %.2f on that of the others", alone, own, shared)
	}
	t.Logf("mean latency %.2f cycles alone, %.2f on a lane of its own, %.2f on that of the others", alone, own, shared)
}

// Any number of threads, and a registered allocator, give what they should: every
// packet whole, in the order of its lane.
func TestLanesRegistered(t *testing.T) {
	for _, name := range []string{"wavefront", "islip", "input-first"} {
		config := laneConfig("", "0:128,1:64", 0)
		config.Switch.Allocator = allocator.Named(name)
		if got := shares(t, config, []float64{2, 2}, 64*3000); math.Abs(float64(got.packets[1])-1000) > 2 {
			t.Errorf("%s: %v", name, got.packets)
		}
	}
}

// The audit finds everything at home when the packets of several lanes have arrived.
func TestLanesDrain(t *testing.T) {
	n := newSharedLink(3)
	f := simtest.Must(core.New(n.graph, laneConfig("2:10", "0:64,1:128", 1), n, 1))(t)
	source, sink := newFlows(50, []float64{0.5, 0.5, 0.5}), &bySource{make([]int64, 6), make([]int64, 6)}
	simtest.Check(t, f.Attach(source, sink))
	source.stop = 20_000
	f.Advance(60_000)
	if err := f.Audit(); err != nil || sink.packets[2] == 0 {
		t.Error(err, sink.packets)
	}
}

func TestLaneSettings(t *testing.T) {
	n := newSharedLink(2)
	for _, c := range []struct {
		want   string
		change func(*fabric.SwitchConfig)
	}{
		{"switch.flow_control = wormhole: want cut-through", func(s *fabric.SwitchConfig) { s.FlowControl = "wormhole" }},
		{"switch.output_buffer_flits = 0: want at least 1", func(s *fabric.SwitchConfig) { s.OutputBufferFlits = 0 }},
		{"switch.vlarb_low = 0:1: want a weight for lane 1", func(s *fabric.SwitchConfig) { s.VLArbLow = "0:1" }},
		{"switch.vlarb_low = 0: want LANE:WEIGHT,...: entry 0, \"0\"", func(s *fabric.SwitchConfig) { s.VLArbLow = "0" }},
		{"switch.vl_high_limit = 3: want it left out", func(s *fabric.SwitchConfig) { s.VLArbLow, s.VLHighLimit = "", 3 }},
	} {
		config := laneConfig("", "0:1,1:1", 0)
		c.change(&config.Switch)
		simtest.Refuse(core.New(n.graph, config, n, 1))(t, c.want)
	}
}
