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
	for set, want := range map[string]float64{"uniform traffic.load=1": 1, "worst-case traffic.load=0.25": 0.125} {
		f := enginetest.Load(t, only72+"[switch]\nvcs = 4\nbuffer_flits = 64\n", strings.Fields("traffic.pattern="+set)...)
		bound := forecastOf(t, f).bound
		simtest.Near(t, bound, want, 1e-9, "%s: bound", set)
		o := enginetest.Execute(t, f, engine.Execution{})
		accepted := enginetest.Single(t, o, "accepted_load")
		simtest.ErrorIf(t, accepted > 1.01*bound || accepted < 0.9*bound || len(o.Tables) > 0, "%s: accepted %v, bound %v, %d tables that nobody asked for", set, accepted, bound, len(o.Tables))
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
		forecast := forecastOf(t, f)
		simtest.ErrorIf(t, math.Abs(forecast.bound-c.bound) > 1e-9 || forecast.caps != c.caps, "%s: %v, a bound: %v", c.set, forecast.bound, forecast.caps)
		o := enginetest.Execute(t, f, engine.Execution{})
		got := enginetest.Single(t, o, "accepted_load")
		simtest.ErrorIf(t, got < c.low || c.caps && got > c.bound*1.004, "%s: accepts %v", c.set, got)
		state := o.Results.Rows[0][slices.Index(o.Results.Columns, "state_reason")]
		simtest.ErrorIf(t, (state == measure.ByBound) != (c.bound < 1), "%s: %v", c.set, state)
	}
	f := enginetest.Load(t, file, strings.Fields("topology.type=dragonfly topology.p=2 topology.a=4 topology.h=2 routing.type=ugal-l switch.vcs=3 switch.speedup=1 switch.vc_alloc_cycles=3 traffic.pattern=hot-spot traffic.fraction=0.9")...)
	simtest.Near(t, simtest.Must(f.Points[0].Config().(*trafficConfig).LoadBound(1))(t), 3.0/256, 1e-12, "hot spot:")
	report := simtest.Must(f.Preflight(true))(t)
	simtest.Says(t, fmt.Sprintf("%+v", report.Notes), "0.01172 flits per terminal and cycle is the load that fills the first channel, "+
		"no bound on the mean: switch 0 port 0 is full first;", "whatever the routing)")
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
		"switch.hold=true switch.flow_control=cut-through traffic.packet_flits=[1,4] switch.forwarding=store-and-forward switch.route_cycles=5 switch.vc_alloc_cycles=1",
		"switch.hold=true switch.flow_control=cut-through traffic.packet_flits=4 switch.forwarding=store-and-forward fabric.unit=packet",
	} {
		f := enginetest.Load(t, only72, append(strings.Fields(set), "traffic.load=0.005", "measure.window=100000")...)
		want := forecastOf(t, f)
		simtest.ErrorIf(t, want.least || want.most, "%s: not exact", set)
		o := enginetest.Execute(t, f, engine.Execution{})
		simtest.Near(t, enginetest.Single(t, o, "latency_mean_ns"), want.latency, 0.012*want.latency, "%s: mean latency", set)
		simtest.Near(t, enginetest.Single(t, o, "hops_mean"), want.hops, 0.01*want.hops, "%s: switches in the mean:", set)
	}
}

// TestIdleLatencyBounds: where the formula is only a bound, it says so. On one
// switch, with 2 cycles to and from it:
//
//   - 5 steps at a speedup of 1.5 are cycles of 1, 2, 1 and 2 steps or of 2, 1
//     and 2: 4 or 3 cycles, so 1+2+4+2 = 9 at most, 8.5 in the mean;
//   - at 3 steps, any 2 cycles have them: exactly 7;
//   - 4 flits with a buffer of one wait for three credits: 2 cycles each way, one in the switch, one to be used; a buffer of 6 is enough;
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
		{"switch.speedup=1 traffic.packet_flits=7 switch.buffer_flits=6", false, false, 13, 13, 13.1},
		{"switch.speedup=1 traffic.packet_flits=9 switch.buffer_flits=8 channel.terminal.credit_latency=20ns", true, false, 15, 31, 31.1},
		{"switch.speedup=1 traffic.packet_flits=4 switch.output_buffer_flits=2", true, false, 10, 13, 13.05},
		{"switch.speedup=1 traffic.packet_flits=4 switch.output_buffer_flits=3", false, false, 10, 10, 10.05},
		{"switch.speedup=1 traffic.packet_flits=2 switch.buffer_flits=2", false, false, 8, 8, 8.01},
	} {
		f := enginetest.Load(t, file, strings.Fields(c.set)...)
		forecast := forecastOf(t, f)
		simtest.Alike(t, c.set, forecast.least, c.least, forecast.most, c.most, forecast.latency, c.want)
		got := enginetest.Single(t, enginetest.Execute(t, f, engine.Execution{}), "latency_mean_ns")
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
	simtest.Alike(t, "notes and warnings", len(report.Notes), 0, len(report.Warnings), 1)
	simtest.Says(t, fmt.Sprint(report.Warnings), "has no certificate")
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
	sample := simtest.Must(network.CertifyWithin(o, 36, true))(t)
	simtest.Alike(t, "the first sample", sample.Acyclic, true, sample.Exact, false)
	simtest.Says(t, sample.Text, "no cycle (sample: 1 of 36 destinations)")
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
	p := simtest.Must(network.CertifyWithin(o, 105, true))(t)
	simtest.Alike(t, "the sample of the ring", p.Acyclic, false, p.Exact, false, p.Text, "can deadlock: a cycle of 8 channels (sample: 7 of 8 destinations)")
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
		_, ok := graph.PeerTerminal(topology.PortID(p))
		simtest.ErrorIf(t, ok != (x != 0) || ok && x != split.Port[p], "port %d: load %v, of all %v", p, x, split.Port[p])
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

// TestExpectedCycles: at 0.8, 0.9 and 0.95 of what fills the network 0.08/(1-x)^2 = 2, 8 and 32 times the least; beyond it
// a 30th of the budget, and half of both half-way between.
func TestExpectedCycles(t *testing.T) {
	c := enginetest.Load(t, enginetest.Dragonfly, "traffic.load=0.3", "measure.budget=1000000").Points[0].Config().(*trafficConfig)
	least, _ := c.cycles(1, expectation{bound: 3}, false)
	for share, want := range map[float64]int64{0.8: 2 * least, 0.9: 8 * least, 0.95: 32 * least, 0.975: 16*least + 16_667, 1.25: 33_333} {
		likely, most := c.cycles(1, expectation{bound: 0.3 / share}, false)
		simtest.Near(t, float64(likely), float64(want), 2, "%v of %v, at most %v:", share, least, most)
	}
	expected := func(text string, set ...string) expectation {
		c := enginetest.Load(t, text, set...).Points[0].Config().(*trafficConfig)
		parts := simtest.Must(c.build(1))(t)
		timings := simtest.Must(parts.fabric.ChannelTimings(parts.topology.Graph()))(t)
		return c.mixture(c.Topology.Type.Shared(), c.Network(1), parts, parts.limits(timings), expectation{})
	}
	// Six times the 10 flits in each of 2 + 3 + 2 ports, where the routing fills them before it sees more.
	for name, want := range map[string]int64{"ugal-l": 420, "ugal-g": 0} {
		simtest.Equal(t, expected(only72, "routing.type="+name, "traffic.pattern=worst-case", "traffic.load=0.3", "switch.buffer_flits=10").fill, want, "%s:", name)
	}
	// In a mesh of 4 x 4 2 * 5/4 hops to any terminal, 16/15 as many to another one, and a switch more; replies go as far.
	mesh := expected("[topology]\ntype = \"mesh\"\ndims = [4, 4]\n[routing]\ntype = \"dor\"\n[program]\ntype = \"request-reply\"\n")
	simtest.Near(t, mesh.hops, 1+2.5*16/15, 1e-9, "hops of requests and replies:")
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
	const tree = "kind = \"traffic\"\ntopology = { type = \"xgft\", m = [4, 4], w = [1, 2] }\nrouting = { type = \"nca\" }\ntraffic = { load = 0.3 }\n"
	for _, c := range simtest.Table(t, "testdata/idle.csv") {
		file := func(set string) *experiments.File {
			network := enginetest.Dragonfly
			if strings.HasPrefix(c["beside"], "switch.vcs=1") { // of this network; the others are on a dragonfly
				network = tree
			}
			return enginetest.Load(t, network+"[measure]\nwarmup = 300\nwindow = 600\n", strings.Fields(c["beside"]+" "+set)...)
		}
		f := file(c["set"])
		simtest.Equal(t, enginetest.Idle(f.Warnings), c["warning"], "%s beside %q:", c["set"], c["beside"])
		if c["warning"] != "" {
			with, without := enginetest.Execute(t, f, engine.Execution{}), enginetest.Execute(t, file(""), engine.Execution{})
			simtest.EqualSlices(t, with.Results.Rows[0], without.Results.Rows[0], "%s beside %q changes the results:", c["set"], c["beside"])
		}
	}
	w := enginetest.Load(t, enginetest.Random16, "routing.type=ugal-l", "routing.decision=sequential").Warnings
	simtest.ErrorIf(t, len(w) != 1 || w[0].Key != "routing.decision", "on any graph: %v", w)
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
