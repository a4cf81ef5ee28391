package traffic

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/simtest"
)

// only72 is a dragonfly of 72 terminals under fixed measurement.
const only72 = enginetest.Dragonfly + `
[measure]
warmup = 1000
window = 4000
`

// forecastOf computes what preflight says of the only point of f.
func forecastOf(t *testing.T, f *experiments.File) forecast {
	t.Helper()
	c := f.Points[0].Config().(*trafficConfig)
	parts := simtest.Must(c.build(f.Seed))(t)
	load, _ := simtest.Must2(c.loads(c.Topology.Type.Shared(), c.Network(f.Seed), parts, exactEnds))(t)
	g := parts.topology.Graph()
	timings := simtest.Must(parts.fabric.ChannelTimings(g))(t)
	x := newForecast(load, g, &parts.fabric, timings, parts.sizes)
	x.throughput = newThroughput(load, parts.limits(timings), c.weighted(parts, func(m traffic.Matrix) (*routing.Load, error) {
		return c.walked(c.Topology.Type.Shared(), "weighted loads", c.Network(f.Seed), parts.opened(), m, 0)
	}))
	return x
}

// TestBound: MIN saturates at no more than the bound and comes within 10 % of it. In the worst case
// the eight terminals of a group share its one channel to the next: 1/8. Under uniform traffic,
// terminals' channels are the first to be full: 1; iSLIP with speedup 2 and buffers of 64 flits
// carries nine tenths. What a window counts may exceed what entered in it by the drain of buffers,
// at most the flits in flight at its beginning: less than 1 % here.
func TestBound(t *testing.T) {
	for _, c := range []struct {
		pattern      string
		load, wanted float64
	}{{"uniform", 1, 1}, {"worst-case", 0.25, 0.125}} {
		f := enginetest.Load(t, only72+"[switch]\nvcs = 4\nbuffer_flits = 64\n[traffic]\npattern = \""+c.pattern+"\"\n", "traffic.load="+fmt.Sprint(c.load))
		bound := forecastOf(t, f).bound
		simtest.ErrorIf(t, math.Abs(bound-c.wanted) > 1e-9, "%s: bound %v, want %v", c.pattern, bound, c.wanted)
		accepted := single(t, enginetest.Execute(t, f, engine.Execution{}), "accepted_load")
		simtest.ErrorIf(t, accepted > 1.01*bound || accepted < 0.9*bound, "%s: accepted %v, bound %v", c.pattern, accepted, bound)
	}
}

// TestFirstChannel: what check calls a bound no run exceeds, at a load of 1, and what it does
// not call so can be exceeded.
//
//   - Four switches have six terminals each and three cables to every other. All send to the
//     terminals of one other switch, by a hash of the pair to one of the three cables: where
//     three pairs meet on a cable, 1/3 fills it, while others go on, to 0.48 in the mean.
//   - In the worst case of MIN all of a group use its one channel to the next: 1/8 is a bound.
//   - A queue takes max(L, r, v) = 3 steps for a packet of one flit: 1/3, on one virtual
//     channel; of three flits: 1. At 2 steps a cycle and in series, L + r + v = 4 steps: 1/2.
//   - The three virtual channels of an output take L + v = 4 steps each: 3/4 of a hot
//     terminal's channel. 71 terminals send nine tenths there, and of the rest a 71st: 64 flits
//     a cycle and 3/256. The hot one itself may send all that it has: no bound on the mean.
//     Nothing else is known under an adaptive routing.
func TestFirstChannel(t *testing.T) {
	const file = "kind = \"traffic\"\n[traffic]\nload = 1.0\n[measure]\nwarmup = 4000\nwindow = 8000\n"
	const pair = " topology.type=mesh topology.dims=[2] topology.terminals=1 routing.type=dor switch.vcs=1 switch.speedup=1"
	for _, c := range []struct {
		set   string
		bound float64
		caps  bool
		low   float64 // of the accepted load
	}{
		{"topology.type=hyperx topology.dims=[4] topology.trunks=[3] topology.terminals=6 routing.type=table traffic.pattern=switch-permutation switch.vcs=4", 1.0 / 3, false, 0.45},
		{"topology.type=dragonfly topology.p=2 topology.a=4 topology.h=2 routing.type=min traffic.pattern=worst-case", 1.0 / 8, true, 0.12},
		{"switch.route_cycles=3" + pair, 1.0 / 3, true, 0.33},
		{"switch.route_cycles=3 traffic.packet_flits=3" + pair, 1, true, 0.98},
		{"switch.route_cycles=2 switch.vc_alloc_cycles=1 switch.pipeline=serial" + pair + " switch.speedup=2", 0.5, true, 0.49},
	} {
		f := enginetest.Load(t, file, strings.Fields(c.set)...)
		if got := forecastOf(t, f); math.Abs(got.bound-c.bound) > 1e-9 || got.caps != c.caps {
			t.Errorf("%s: %v, a bound: %v", c.set, got.bound, got.caps)
		}
		o := enginetest.Execute(t, f, engine.Execution{})
		got := single(t, o, "accepted_load")
		simtest.ErrorIf(t, got < c.low || c.caps && got > c.bound*1.004, "%s: accepts %v", c.set, got)
		state := o.Results.Rows[0][slices.Index(o.Results.Columns, "state_reason")]
		simtest.ErrorIf(t, (state == measure.ByBound) != (c.bound < 1), "%s: %v", c.set, state)
	}
	f := enginetest.Load(t, file, strings.Fields("topology.type=dragonfly topology.p=2 topology.a=4 topology.h=2 routing.type=ugal-l switch.vcs=3 switch.speedup=1 switch.vc_alloc_cycles=3 traffic.pattern=hot-spot traffic.fraction=0.9")...)
	simtest.Near(t, simtest.Must(f.Points[0].Config().(*trafficConfig).LoadBound(1))(t), 3.0/256, 1e-12, "hot spot:")
	report := simtest.Must(f.Preflight(true))(t)
	if !slices.ContainsFunc(report.Notes, func(n experiments.Note) bool {
		return strings.HasPrefix(n.Text, "0.01172 flits per terminal and cycle is the load that fills the first channel, no bound on the mean: switch 0 port 0 is full first;") && strings.HasSuffix(n.Text, "whatever the routing)")
	}) {
		t.Errorf("hot spot: %+v", report.Notes)
	}
}

// TestIdleLatency: at a load of 0.5 % the mean latency is the predicted one. 9,000 packets and more
// leave an error of the mean below 0.4 %, queues add as much: 1.2 % in all.
func TestIdleLatency(t *testing.T) {
	for _, set := range []string{
		"",
		"routing.type=val",
		"traffic.pattern=worst-case",
		"traffic.packet_flits=4 switch.route_cycles=2 switch.speedup=1",
		"channel.global.latency=70ns terminal.injection_cycles=9",
		"channel.local.cycles_per_flit=2 channel.global.cycles_per_flit=2 channel.terminal.cycles_per_flit=2 traffic.packet_flits=3",
		"switch.hold=true switch.flow_control=cut-through traffic.packet_flits=4 fabric.unit=packet",
		"switch.hold=true switch.flow_control=cut-through traffic.packet_flits=4 switch.forwarding=store-and-forward",
		"switch.hold=true switch.flow_control=cut-through traffic.packet_flits=4 switch.forwarding=store-and-forward fabric.unit=packet",
	} {
		f := enginetest.Load(t, only72, append(strings.Fields(set), "traffic.load=0.005", "measure.window=100000")...)
		want := forecastOf(t, f)
		simtest.ErrorIf(t, want.least || want.most, "%s: not exact", set)
		o := enginetest.Execute(t, f, engine.Execution{})
		got := single(t, o, "latency_mean_ns")
		simtest.ErrorIf(t, math.Abs(got/want.latency-1) > 0.012, "%s: mean latency %v, predicted %v", set, got, want.latency)
		simtest.Near(t, single(t, o, "hops_mean"), want.hops, 0.01*want.hops, "%s: switches in the mean:", set)
	}
}

// TestIdleLatencyBounds: where the formula is only a bound, it says so. On one
// switch, with 2 cycles to and from it:
//
//   - 5 steps at a speedup of 1.5 are cycles of 1, 2, 1 and 2 steps or of 2, 1
//     and 2: 4 or 3 cycles, so 1+2+4+2 = 9 at most, 8.5 in the mean;
//   - at 3 steps, any 2 cycles have them: exactly 7;
//   - 4 flits with a buffer of one wait for three credits, of 2 cycles each way, a
//     cycle in the switch and one to be used: far above 1+2+2+2 + 3;
//   - crossing takes two cycles: with room for two flits behind the crossbar, one may
//     be granted every other cycle, 1+2+2+2 + 3*2, with room for three every cycle;
//     towards a terminal there always is that room.
func TestIdleLatencyBounds(t *testing.T) {
	const file = "kind = \"traffic\"\n[topology]\ntype = \"single-switch\"\n[routing]\ntype = \"table\"\n[channel.terminal]\nlatency = \"2ns\"\n" +
		"[traffic]\nload = 0.002\n[measure]\nwarmup = 100\nwindow = 100000\n"
	for _, c := range []struct {
		set         string
		least, most bool
		want        float64 // of the forecast
		low, high   float64 // of the simulation
	}{
		{"switch.speedup=1.5 switch.route_cycles=3", false, true, 9, 8.4, 8.6},
		{"switch.speedup=1.5 switch.route_cycles=1", false, false, 7, 7, 7.01},
		{"switch.speedup=1 traffic.packet_flits=4 switch.buffer_flits=1", true, false, 10, 15, 30},
		{"switch.speedup=1 traffic.packet_flits=4 switch.buffer_flits=4", false, false, 10, 10, 10.05},
		{"switch.speedup=1 traffic.packet_flits=4 switch.output_buffer_flits=2", true, false, 10, 13, 13.05},
		{"switch.speedup=1 traffic.packet_flits=4 switch.output_buffer_flits=3", false, false, 10, 10, 10.05},
		{"switch.speedup=1 traffic.packet_flits=2 switch.buffer_flits=2", false, false, 8, 8, 8.01},
	} {
		f := enginetest.Load(t, file, strings.Fields(c.set)...)
		if got := forecastOf(t, f); got.least != c.least || got.most != c.most || got.latency != c.want {
			t.Errorf("%s: %v cycles, at least %v, at most %v", c.set, got.latency, got.least, got.most)
		}
		got := single(t, enginetest.Execute(t, f, engine.Execution{}), "latency_mean_ns")
		simtest.ErrorIf(t, got < c.low || got > c.high, "%s: mean latency %v", c.set, got)
	}
}

func init() {
	routing.Register("blind", "for tests: min, whose decisions cannot be listed", routing.Use{On: routing.Groups}, struct{}{}, func(_ struct{}, env routing.Env) (fabric.Routing, error) {
		r, err := routing.Registry.New("min", env)
		return struct{ fabric.Routing }{r}, err
	})
}

// TestUncertified: a routing that cannot list its decisions is no proof, and no obstacle.
func TestUncertified(t *testing.T) {
	report := simtest.Must(enginetest.Load(t, only72, "routing.type=blind").Preflight(false))(t)
	if len(report.Notes) != 0 || len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0].Message, "has no certificate") {
		t.Errorf("%+v", report)
	}
}

// unstaged hides that a routing can be followed goal by goal.
type unstaged struct {
	fabric.Routing
	fabric.Explorer
	routing.TerminalBlind
}

// TestSample: a certificate that stops at its budget says so, and finds the cycles of what it has
// seen; channel loads then follow what they may, or nothing. To a destination leads a hop at least
// from each of the 36 switches, so that a budget of 36 is spent after the first.
func TestSample(t *testing.T) {
	f := enginetest.Load(t, only72)
	c := f.Points[0].Config().(*trafficConfig)
	parts := simtest.Must(c.build(1))(t)
	o := parts.opened()
	o.Routing = unstaged{o.Routing, o.Routing.(fabric.Explorer), o.Routing.(routing.TerminalBlind)}
	sample, err := network.CertifyWithin(o, 36, true)
	if err != nil || !sample.Acyclic || sample.Exact || !strings.HasSuffix(sample.Text, "no cycle (sample: 1 of 36 destinations)") {
		t.Errorf("%+v", sample)
	}
	n := c.Network(1)
	simtest.Must(c.Topology.Type.Shared().Get("certificate "+n.Fingerprint(), func() (any, error) { return sample, nil }))(t)
	simtest.Must2(c.loads(c.Topology.Type.Shared(), n, parts, exactEnds))(t)
	defer func(hops int) { loadHops = hops }(loadHops)
	loadHops = 1 // fewer than the 36 switches have that lead to each of them
	simtest.Refuse2(c.loads(c.Topology.Type.Shared(), n, parts, exactEnds))(t, "too many paths")
	ring := enginetest.Load(t, "[topology]\ntype = \"torus\"\ndims = [8]\n[routing]\ntype = \"dor\"\nvc_rule = \"none\"\n")
	o = simtest.Must(ring.Points[0].Config().(*trafficConfig).Network(1).Open())(t)
	// To each of 8 destinations lead 17 hops: 9 of sources, since the one opposite goes either way,
	// 4 behind hops up and 4 behind hops down the ring. 105 are spent after 7, and one step of the
	// cycle is on the way to three destinations: all 8 steps have been seen.
	if p, err := network.CertifyWithin(o, 105, true); err != nil || p.Acyclic || p.Exact || p.Text != "can deadlock: a cycle of 8 channels (sample: 7 of 8 destinations)" {
		t.Errorf("%+v", p)
	}
}

// TestEvenLoads: where there are too many pairs to hash, the loads are those of flows
// that split evenly, and nothing but the terminals' own channels counts as proven. The
// certificate is that of all shortest paths at any size.
func TestEvenLoads(t *testing.T) {
	const text = "[topology]\ntype = \"random-regular\"\nswitches = 24\ndegree = 4\n[routing]\ntype = \"table\"\nties = "
	var proven *routing.Load
	loads := func(ties string, most int) (*routing.Load, bool, network.Certificate) {
		f := enginetest.Load(t, text+ties+"\n")
		c := f.Points[0].Config().(*trafficConfig)
		parts := simtest.Must(c.build(1))(t)
		l, even := simtest.Must2(c.loads(c.Topology.Type.Shared(), c.Network(1), parts, most))(t)
		proven = c.terminalLoads(parts)
		proof := simtest.Must(c.Network(1).Prove(c.Topology.Type.Shared()))(t)
		return l, even, proof
	}
	exact, even, hashed := loads(`"hashed"`, 1000)
	simtest.ErrorIf(t, even, "few terminals, but split evenly")
	split, even, _ := loads(`"hashed"`, 10)
	random, _, all := loads(`"random"`, 10)
	simtest.ErrorIf(t, !even || !slices.Equal(split.Port, random.Port) || slices.Equal(split.Port, exact.Port),
		"even %v: %v\nrandom %v\nexact %v", even, split.Port, random.Port, exact.Port)
	simtest.Alike(t, "certificate", hashed, all, hashed.Exact, true, hashed.Acyclic, true)
	f := enginetest.Load(t, text+`"random"`+"\n")
	network := simtest.Must(f.TopologyOf(f.Points[0]))(t)
	graph := network.Graph()
	bound, worst := proven.Bound(nil)
	simtest.ErrorIf(t, math.Abs(bound-1) > 1e-12 || worst != topology.NoPort || !slices.Equal(proven.Injection, split.Injection),
		"bound %v at port %d", bound, worst)
	for p, x := range proven.Port {
		if _, ok := graph.PeerTerminal(topology.PortID(p)); ok != (x != 0) || ok && x != split.Port[p] {
			t.Errorf("port %d: load %v, of all %v", p, x, split.Port[p])
		}
	}
}

// TestBisection: the bound of the cut is not below the channel loads' bound of
// any routing, which a perfect network reaches.
func TestBisection(t *testing.T) {
	for _, topology := range []string{
		"dragonfly topology.p=2 topology.a=4 topology.h=2", "dragonfly topology.p=1 topology.a=3 topology.h=1",
		"torus topology.dims=[4,6]", "torus topology.dims=[5,3]", "mesh topology.dims=[4,4]", "mesh topology.dims=[3,2,2]",
		"fat-tree topology.k=4", "xgft topology.m=[4,4] topology.w=[1,2]", "random-regular topology.switches=24 topology.degree=4",
	} {
		judged := 0
		for _, name := range routing.Registry.Names() {
			f, err := experiments.Load("x", "", experiments.Options{Set: append(strings.Fields("topology.type="+topology), "routing.type="+name)})
			if err != nil {
				continue // the topology does not carry it
			}
			c := f.Points[0].Config().(*trafficConfig)
			parts := simtest.Must(c.build(1))(t)
			load, _, err := c.loads(c.Topology.Type.Shared(), c.Network(1), parts, exactEnds)
			if err != nil {
				continue // adaptive
			}
			judged++
			bound, _ := load.Bound(nil)
			cut, n := float64(parts.topology.Facts().Bisection), float64(parts.topology.Graph().Terminals())
			simtest.ErrorIf(t, cut > 0 && cut*4*(n-1)/(n*n) < bound*(1-1e-9),
				"%s: bisection bounds by %v, the channel loads of %s by %v", topology, cut*4*(n-1)/(n*n), name, bound)
		}
		simtest.ErrorIf(t, judged == 0, "%s: no routing", topology)
	}
}

// TestNearShare: 1,440,000 packets tell loads apart to 1/1,200, so that a step of 1/100 makes a share of
// 1 - exp(-12*100/1,200) = 0.6321 near; four times as many packets of 1 - exp(-0.5) = 0.3935. Those of an
// adaptive routing tell no more apart than 3,500,000 do, 1/1,871: 1 - exp(-0.6414) = 0.4734.
func TestNearShare(t *testing.T) {
	for _, c := range []struct {
		sent     float64
		adaptive bool
		want     float64
	}{{1.44e6, false, 0.6321}, {5.76e6, false, 0.3935}, {1.44e6, true, 0.6321}, {5.76e6, true, 0.4734}} {
		simtest.Near(t, nearShare(100, c.sent, c.adaptive), c.want, 1e-4, "%g packets, adaptive %v:", c.sent, c.adaptive)
	}
}

// TestSearchedLoads: of 0.01 to 1 the halves are tried down to what the network keeps up to, 0.12. A bound
// that is proven ends the search at its load.
func TestSearchedLoads(t *testing.T) {
	c := enginetest.Load(t, only72).Points[0].Config().(*trafficConfig)
	simtest.EqualSlices(t, c.searchedLoads(0.125, 0), []float64{0.5, 0.25, 0.12, 0.18, 0.15, 0.13}, "")
	simtest.EqualSlices(t, c.searchedLoads(0.125, 0.125), []float64{0.06, 0.09, 0.11, 0.12}, "")
}

// TestIdleSettings: a setting that changes nothing beside the others is named, once, with the
// reason; and it changes nothing: the results are those of the file without it. Where it
// changes something, at its default, or where another point makes use of it, nothing is said.
func TestIdleSettings(t *testing.T) {
	const marks = "switch.marking=threshold switch.mark_flits=1"
	const onTree = "switch.vcs=1" // of this network; the others are on a dragonfly
	const tree = "kind = \"traffic\"\ntopology = { type = \"xgft\", m = [4, 4], w = [1, 2] }\nrouting = { type = \"nca\" }\ntraffic = { load = 0.3 }\n"
	const renumbered = "routing.global_vc changes nothing: virtual channels of global channels have other numbers only, in the same order"
	const unmarked = "switch.marking changes nothing: no packet is marked: threshold is 0, or packet_size above that of all packets"
	for _, c := range []struct {
		beside, set string
		want        string // "": nothing
	}{
		{"", marks, "switch.marking changes nothing: nothing reacts to marks: neither the routing nor what the terminals do"},
		{"program.type=closed-loop", marks, "switch.marking changes nothing: nothing reacts to marks: neither the routing nor what the terminals do"},
		{"program.type=infiniband", marks, ""},
		{"measure.queues=100ns measure.queue_samples=marked", marks, ""},
		{"", "switch.marking=none", ""},
		{"", "switch.flow_control=cut-through", "switch.flow_control changes nothing: packets have one flit, and heads take a virtual channel by winning the switch"},
		{"switch.vc_alloc_cycles=1", "switch.flow_control=cut-through", ""},
		{"traffic.packet_flits=[1,4]", "switch.flow_control=cut-through", ""},
		{"program.type=request-reply", "switch.flow_control=cut-through", ""},
		{"", "switch.pipeline=serial", "switch.pipeline changes nothing: route_cycles and vc_alloc_cycles are 0"},
		{"switch.route_cycles=1", "switch.pipeline=serial", ""},
		{"", "switch.credits_undelayed=local", "switch.credits_undelayed changes nothing: no credits are delayed: switch.credit_sensing is off"},
		{"switch.credit_sensing=on", "switch.credits_undelayed=local", ""},
		{"", "switch.credit_sensing=off", "switch.credit_sensing changes nothing: it is off, as the routing does not rely on it"},
		{"routing.type=ugal-l-cr", "switch.credit_sensing=off", ""},
		{"", "switch.input_speedup=2", ""},
		{onTree, "switch.input_speedup=2", "switch.input_speedup changes nothing: an input has one virtual channel"},
		{onTree, "routing.down=hashed", "routing.down changes nothing: one cable at most leads down from a switch to a leaf"},
		{onTree, "routing.up=hashed", ""},
		{onTree + " topology.w=[1,1]", "routing.up=hashed", "routing.up changes nothing: one port at most of a switch leads up"},
		{"", "recovery.retries=3", "recovery.retries changes nothing: nothing fails"},
		{"", "fault.x.seed=3", "fault.x.seed changes nothing: nothing fails"},
		{"fault.x.fraction=0.1 fault.x.at=500 recovery.reroute=10 routing.type=table", "recovery.timeout=1us", "recovery.timeout changes nothing: recovery.retries is 0"},
		{"routing.type=ugal-l", "routing.decision=sequential", "routing.decision changes nothing: terminals decide, which see what the cycle before has left (routing.decided_at)"},
		{"routing.type=ugal-l routing.decided_at=switch", "routing.decision=sequential", ""},
		{"routing.type=par", "routing.decision=sequential", ""},
		{"", "routing.spread_vcs=true", "routing.spread_vcs changes nothing: there are no more virtual channels than the routing needs"},
		{"switch.vcs=6", "routing.spread_vcs=true", ""},
		{"", "routing.gateway=hashed", "routing.gateway changes nothing: one channel at most joins two groups"},
		{"topology.g=5", "routing.gateway=hashed", ""},
		{"routing.type=ugal-l", "routing.gateway=hashed", "routing.gateway changes nothing: one channel at most joins two groups"},
		{"routing.type=val", "routing.gateway=hashed", "routing.gateway changes nothing: one channel at most joins two groups"},
		{"routing.type=val topology.g=5", "routing.gateway=hashed", ""},
		{"", "routing.global_vc=same", renumbered},
		{"routing.type=val", "routing.global_vc=same", renumbered},
		{"measure.links=true", "routing.global_vc=same", ""},
		{"trace.packets=3", "routing.global_vc=same", ""},
		{"switch.input_speedup=2", "routing.global_vc=same", ""},
		{"switch.vcs=6 routing.spread_vcs=true", "routing.global_vc=same", ""},
		{"fault.x.fraction=0.01 routing.type=ugal-l", "routing.global_vc=same", ""},
		{"traffic.packet_flits=[1,4] switch.flow_control=cut-through switch.output_buffer_flits=8 switch.vlarb_low=0:10,1:4", "routing.global_vc=same", ""},
		{onTree + " topology.w=[1,1] switch.vcs=4 routing.type=table", "routing.ties=random", "routing.ties changes nothing: packets have one way on at most from each switch"},
		{onTree + " topology.w=[1,1] switch.vcs=4 routing.type=table", "routing.ties=least-occupied", ""},
		{onTree + " topology.w=[1,1] switch.vcs=4 routing.type=fatpaths", "routing.ties=random", ""},
		{onTree + " switch.vcs=4 routing.type=table", "routing.ties=random", ""},
		{"switch.speedup=1", "switch.credits_per_cycle=4", "switch.credits_per_cycle changes nothing: an input frees one slot at most in a cycle"},
		{"switch.speedup=1 switch.input_speedup=2", "switch.credits_per_cycle=4", ""},
		{"switch.speedup=1.5", "switch.credits_per_cycle=4", ""},
		// Packets of 7 flits have 7 * 64 B, one unit less than cc_sw_cong_setting_packet_size = 8.
		{"program.type=infiniband traffic.packet_flits=7", "switch.marking=infiniband", unmarked},
		{"program.type=infiniband traffic.packet_flits=8", "switch.marking=infiniband", ""},
		{"program.type=infiniband traffic.packet_flits=7 program.cnp_flits=8", "switch.marking=infiniband", ""},
		{"program.type=infiniband traffic.packet_flits=8", "switch.marking=infiniband switch.cc_sw_cong_setting_threshold=0", unmarked},
		{"", "measure.budget=5000", "measure.budget changes nothing: measure.warmup and measure.window are given"},
		{"measure.window=0", "measure.budget=5000", ""},
		{"", "traffic.packet_weights=[3]", "traffic.packet_weights changes nothing: packets have one size"},
		{"traffic.packet_flits=[1,4]", "traffic.packet_weights=[3,1]", ""},
		{"", "measure.load_precision=0.1", "measure.load_precision changes nothing: measure.find looks for no load"},
		{"measure.find=saturation measure.load_precision=0.5", "traffic.load=0.3", "traffic.load changes nothing: measure.find looks for the load"},
		{"program.type=closed-loop", "traffic.load=0.3", "traffic.load changes nothing: the program is closed and offers no load"},
		{"program.type=closed-loop", "traffic.process=on-off", "traffic.process changes nothing: the program is closed and offers no load"},
		{"", "measure.queue_ports=global", "measure.queue_ports changes nothing: measure.queues is 0"},
		{"", "trace.every=7", "trace.every changes nothing: trace.packets is 0"},
	} {
		file := func(set string) *experiments.File {
			network := enginetest.Dragonfly
			if strings.HasPrefix(c.beside, onTree) {
				network = tree
			}
			return enginetest.Load(t, network+"[measure]\nwarmup = 300\nwindow = 600\n", append(strings.Fields(c.beside), strings.Fields(set)...)...)
		}
		f := file(c.set)
		var said []string
		for _, w := range f.Warnings {
			if w.Idle {
				said = append(said, w.Key+" "+w.Message)
			}
		}
		simtest.Equal(t, strings.Join(said, "; "), c.want, "%s beside %q:", c.set, c.beside)
		if c.want == "" {
			continue
		}
		rows := func(f *experiments.File) []string {
			o := enginetest.Execute(t, f, engine.Execution{})
			return o.Results.Rows[0]
		}
		with, without := rows(f), rows(file(""))
		simtest.EqualSlices(t, with, without, "%s beside %q changes the results:", c.set, c.beside)
	}
	if w := enginetest.Load(t, enginetest.Random16, "routing.type=ugal-l", "routing.decision=sequential").Warnings; len(w) != 1 || w[0].Key != "routing.decision" {
		t.Errorf("on any graph: %v", w)
	}
	// A setting that some point uses is not named, one that none does is named once.
	const swept = enginetest.Dragonfly + "[sweep]\n\"program.type\" = [\"open-loop\", \"infiniband\"]\n"
	for set, want := range map[string]string{"switch.marking=threshold": "", "switch.pipeline=serial": "switch.pipeline"} {
		var said []string
		for _, w := range enginetest.Load(t, swept, set).Warnings {
			said = append(said, w.Key)
		}
		simtest.Equal(t, strings.Join(said, " "), want, "%s:", set)
	}
}
