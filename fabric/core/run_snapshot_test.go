package core_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
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
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// describe is everything that a result says.
func describe(r *measure.Result) string {
	text := fmt.Sprintf("%d %d %d %v %v %v %v %s %+v %v %d %d %v", r.Warmup, r.Window, r.Cycles, r.Closed, r.Offered, r.Accepted, r.State, r.Reason, r.Evidence, r.Settled, r.Packets(), r.Latency().Max(), r.HalfWidth())
	text += fmt.Sprintln(r.MeanLatency(), r.MeanHops(), r.MeanNetworkLatency(), r.MinimalFraction(), r.ChannelFlits, r.Levels(), r.Faults)
	if r.Series != nil {
		text += fmt.Sprintln(*r.Series)
	}
	for _, s := range r.Samples {
		text += fmt.Sprintln(s.First, s.Rows)
	}
	if r.Blame != nil {
		text += observed(r.Blame, r.Traces)
	}
	return text
}

// course is a network and what is to happen in it.
type course struct {
	name    string
	network network
	config  fabric.Config
	load    float64
	flits   int
	plan    measure.Plan
}

func (c *course) run(t testing.TB, plan measure.Plan) (*measure.Result, error) {
	t.Helper()
	return measure.Run(t.Context(), c.network.fabric(t, c.config), c.network.traffic(c.load, c.flits), c.load, plan)
}

func courses(t testing.TB) []course {
	dragonfly := dragonflyNetwork(t, "ugal-l", 2, 4, 2)
	torus := newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims = []int{4, 4} })
	held := fabric.DefaultConfig()
	packets(&held)
	found, given := measure.Plan{Precision: 0.05, Budget: 6000, Levels: true, Series: 6}, measure.Plan{Warmup: 730, Window: 1210, Series: 7}
	seen, slowest := given, found
	seen.Blame, seen.Levels, seen.Trace = true, true, observe.TracePlan{Packets: 30, Every: 3}
	slowest.Blame, slowest.Trace = true, observe.TracePlan{Packets: 20, Slowest: true}
	probed, probedHeld := fabric.DefaultConfig(), held
	probed.Switch.Marking = marking.Named("threshold")
	probing(torus, &probed, 30, fabric.Sent, fabric.Marked, fabric.Waiting, fabric.Outstanding)
	probing(dragonfly, &probedHeld, 17, fabric.Waiting, fabric.Sent, fabric.Outstanding)
	return []course{
		{"probed, found", torus, probed, 0.3, 3, found},
		{"probed packets", dragonfly, probedHeld, 0.4, 4, given},
		{"found", dragonfly, fabric.DefaultConfig(), 0.3, 1, found},
		{"given", torus, fabric.DefaultConfig(), 0.2, 3, given},
		{"saturated", torus, fabric.DefaultConfig(), 1, 1, found},
		{"packets", dragonfly, held, 0.4, 4, given},
		{"observed, found", torus, fabric.DefaultConfig(), 0.2, 3, slowest},
		{"observed", torus, pipelined(), 0.15, 2, seen},
		{"observed packets", dragonfly, held, 0.4, 4, seen},
	}
}

// TestRunsGoOn: a run that goes on from a snapshot in any of its parts has the result of
// one without a break, for any number of threads before and after.
func TestRunsGoOn(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	core.TileFrom(t.Cleanup, 1, 1)
	for i, c := range courses(t) {
		plan, calls := c.plan, 0
		plan.Snapshot = func(bool, func(*snapshot.Archive) error) error { calls++; return nil }
		want, random := simtest.Must(c.run(t, plan))(t), sim.NewStream(1, c.name, 0)
		for _, share := range simtest.Some(t, i, 0, 100, random.IntN(100)) { // 100: when all is done
			at, call := (calls-1)*share/100, 0
			var kept []byte
			plan := c.plan
			plan.Threads = 1 + random.IntN(3)
			stop := errors.New("killed")
			plan.Snapshot = func(_ bool, state func(*snapshot.Archive) error) (err error) {
				if call++; call > at {
					if kept, err = snapshottest.Encode(state); err == nil {
						err = stop
					}
				}
				return err
			}
			_, err := c.run(t, plan)
			simtest.FatalIf(t, err != stop, "%s: %v", c.name, err)
			for _, threads := range simtest.Some(t, at+share, 1, 2, 3) {
				plan := c.plan
				plan.Threads, plan.From = threads, snapshot.Reader(kept)
				first := true
				plan.Snapshot = func(_ bool, state func(*snapshot.Archive) error) error {
					if again, err := snapshottest.Encode(state); first && (err != nil || !bytes.Equal(again, kept)) {
						t.Errorf("%s: what has been restored is written in another form (%v)", c.name, err)
					}
					first = false
					return nil
				}
				got, err := c.run(t, plan)
				simtest.FatalIf(t, err != nil, "%s: %v", c.name, err)
				simtest.ErrorIf(t, describe(got) != describe(want),
					"%s: from slice %d of %d on, with %d threads:\n%.300s\nwant\n%.300s", c.name, at, calls, threads, describe(got), describe(want))
			}
			half := c.plan
			half.From = snapshot.Reader(kept[:len(kept)/2])
			_, err = c.run(t, half)
			simtest.ErrorIf(t, err == nil, "%s: half of a snapshot is taken", c.name)
		}
	}
}

// failing are links and switches that fail while a network of threads runs, some of them at the edges of windows and of
// slices, and come back, but for the cables in the groups of a dragonfly, whose routings need them.
func failing(g *topology.Graph, switches bool, seed uint64) []topology.Failure {
	r := sim.NewStream(seed, "failing", 0)
	var failures []topology.Failure
	for i, at := range []int64{137, 200, 201, 333} {
		x := topology.Failure{At: at, Until: at + 150 + int64(r.IntN(100))}
		for range 2 {
			if p := topology.PortID(r.IntN(g.NumPorts())); g.Peer[p] >= 0 && g.Classes[g.PortClass[p]].Name != "local" {
				x.Links = append(x.Links, p)
			}
		}
		if i == 1 && switches {
			x.Switches = []topology.SwitchID{topology.SwitchID(r.IntN(g.Switches()))}
			x.Until = 0
		}
		failures = append(failures, x)
	}
	return failures
}

// failingRun is a network in which something fails.
type failingRun struct {
	network network
	routing string
	timing  string // of timings; or "lanes", by which terminals send
	flits   int
	retries int
	seed    uint64
}

func failingRuns(t testing.TB) []failingRun {
	random, dragonfly := smallRandom(t), func(algorithm string) network { return fiveGroups(algorithm)(t) }
	return []failingRun{
		{smallTree(t), "nca", "fraction", 3, 2, 0},
		{random, "table", "pipelined", 7, 2, 1},
		{random, "table", "default", 1, 0, 2},
		{dragonfly("ugal-l"), "ugal-l", "cut, stages", 4, 3, 3},
		{random, "table", "lanes", 3, 2, 7},
		{dragonfly("table"), "table", "default", 1, 3, 0},
		{dragonfly("val"), "val", "deep", 9, 0, 1},
		{dragonfly("ugal-g"), "ugal-g", "cut-through", 4, 2, 3},
	}
}

// fabric is the network before it is attached; change changes its settings.
func (c *failingRun) fabric(t testing.TB, change func(*fabric.Config)) *core.Fabric {
	t.Helper()
	g := c.network.topo.Graph()
	failures, config := failing(g, c.routing == "nca" || c.routing == "table", c.seed), fabric.DefaultConfig()
	config.Switch.BufferFlits = 6
	switch c.timing {
	case "lanes": // which cannot follow faults that come or go
		failures = []topology.Failure{{Switches: []topology.SwitchID{3}}}
		config.Switch.FlowControl, config.Switch.VCs, config.Switch.BufferFlits, config.Switch.OutputBufferFlits = fabric.CutThrough, 8, 8, 2
		config.Switch.VLArbLow = "0:1,1:2,2:1,3:1,4:1,5:1,6:1,7:1"
	default:
		timings[c.timing](&config)
	}
	if c.routing == "ugal-g" {
		config.Channels = map[string]fabric.ChannelConfig{"global": {Latency: 20 * sim.Nanosecond}}
	}
	change(&config)
	plan := simtest.Must(buildPeriods(c.routing, c.network.topo, failures))(t)
	plan.Reroute, plan.Retries, plan.Timeout = 40, c.retries, 60
	return faulty(t, g, config, plan)
}

// TestSnapshotsWithFaults: while cables and switches fail and come back, and packets are dropped and sent again, a run
// goes on from a snapshot of any cycle as without a break, on any number of threads, observed or not; and so does one
// in which what has failed stays, and terminals send by lane. In the end every flit and credit is accounted for.
func TestSnapshotsWithFaults(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	var all fabric.FaultTally
	traced := 0
	for i, c := range failingRuns(t) {
		for _, w := range []*watch{nil, {from: 20, plan: observe.TracePlan{Packets: 300, Slowest: i%2 == 0}}} {
			build := func(threads int) *going {
				x := start(t, c.fabric(t, func(*fabric.Config) {}), c.network.traffic(0.3, c.flits), threads, w)
				simtest.Equal(t, x.f.Threads(), threads, "%s, %s: threads", c.routing, c.timing)
				return x
			}
			whole := build(1)
			whole.f.Advance(700)
			all.Add(whole.f.FaultTally())
			random := sim.NewStream(uint64(i), "moments", 0)
			for trial, at := range []int64{136 + int64(i%2), int64(138 + random.IntN(300))} {
				for _, x := range goesOn(t, c.routing+", "+c.timing, &random, i+trial, at, whole, build) {
					simtest.Equal(t, x.f.FaultTally(), whole.f.FaultTally(), "%s, %s:", c.routing, c.timing)
					if w != nil {
						traced += len(x.tracer.Packets())
					}
					x.source.(*measure.OpenLoop).Stop(0)
					for n := 0; x.f.InFlight() > 0 && n < 50; n++ {
						x.f.Advance(100)
					}
					simtest.Check(t, x.f.Audit())
				}
			}
		}
	}
	simtest.ErrorIf(t, all.Dropped == 0 || all.Retransmitted == 0 || all.Duplicates == 0 || all.Lost == 0 || all.Unreachable == 0 || all.WastedFlits == 0 || traced < 1000,
		"not everything has happened: %+v, %d packets traced", all, traced)
}

// watch is what observers of a network are told to do.
type watch struct {
	from   int64 // cycle from which packets are measured
	plan   observe.TracePlan
	blames bool
}

// start has w observe f.
func (w *watch) start(f *core.Fabric) (blame *observe.Blame, tracer *observe.Tracer) {
	meter := measure.NewMeter(100)
	meter.Open(w.from)
	if w.blames {
		blame = observe.StartBlame(f, meter)
	}
	return blame, observe.StartTrace(f, meter, w.plan)
}

func drawWatch(seed uint64) *watch {
	random := sim.NewStream(seed, "watch", 0)
	return &watch{
		from: int64(random.IntN(300)), blames: true,
		plan: observe.TracePlan{Packets: 1 + random.IntN(60), Every: 1 + random.IntN(3), Slowest: random.IntN(2) == 0},
	}
}

// said is all that the observers say.
func (x *going) said() string {
	switch {
	case x.tracer == nil:
		return ""
	case x.blame == nil:
		return lives(x.tracer.Packets())
	}
	return observed(x.blame, x.tracer.Packets())
}

// observed is all that observers say.
func observed(b *observe.Blame, traces []*observe.PacketTrace) string {
	return fmt.Sprintln(b.Packets, b.Classes, b.Levels) + fmt.Sprintln(b.Links()) + fmt.Sprintln(b.Roots()) + lives(traces)
}

func lives(traces []*observe.PacketTrace) string {
	var s strings.Builder
	for _, p := range traces {
		fmt.Fprintf(&s, "%+v\n", *p)
	}
	return s.String()
}

// difference is the first line in which two texts differ.
func difference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i][:min(len(a[i]), 600)] + "\nwant\n" + b[i][:min(len(b[i]), 600)]
		}
	}
	return "one says more"
}

// delayed is traffic that begins in a later cycle.
type delayed struct {
	*measure.OpenLoop
	by int64
}

func (d *delayed) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	born := d.OpenLoop.Next(t, until-d.by, spec)
	spec.Birth += d.by
	return born
}

// TestSnapshotsObservedLate: what they have seen is in snapshots after so many cycles, too, that
// steps, which are counted modulo 2^32, have come around.
func TestSnapshotsObservedLate(t *testing.T) {
	n, config, random := dragonflyNetwork(t, "val", 2, 4, 2), pipelined(), sim.NewStream(1, "late", 0)
	config.Switch.Speedup, config.Switch.RouteCycles = 2, 5
	const late = 1<<31 + 100 // two steps a cycle
	for flits := 1; flits <= 3; flits++ {
		build := func(int) *going {
			return start(t, n.fabric(t, config), &delayed{n.traffic(0.6, flits), late}, 1, &watch{from: late + 190, plan: observe.TracePlan{Packets: 100}, blames: true}) // also in cycle late + 200
		}
		whole := build(1)
		whole.f.Advance(late + 400)
		goesOn(t, flits, &random, flits, late+200, whole, build)
		simtest.ErrorIf(t, len(whole.tracer.Packets()) != 100, "packets of %d flits, %d traced", flits, len(whole.tracer.Packets()))
	}
}

// TestObservedStatesAreOfTheObserved: a network that is observed does not take the state of
// one that is not, or that is observed otherwise.
func TestObservedStatesAreOfTheObserved(t *testing.T) {
	tr := routingtest.DrawTrial(t, 1)
	blame, traces := &watch{plan: observe.TracePlan{Packets: 5}, blames: true}, &watch{plan: observe.TracePlan{Packets: 5}}
	for _, c := range []struct {
		want             string
		written, restore *watch
	}{
		{"is observed", nil, blame},
		{"is observed", blame, nil},
		{"the state has \"traces\" where \"blame\" begins", traces, blame},
		{"the state has \"blame\" where \"traces\" begins", blame, traces},
	} {
		x := start(t, tr.Fabric(t), tr.Traffic(0.5), 1, c.written)
		x.f.Advance(50)
		simtest.Fail(t, start(t, tr.Fabric(t), tr.Traffic(0.5), 1, c.restore).f.RestoreState(stateOf(t, x.f)), c.want)
	}
}

// TestObservers: each of several observers is told of every moment. 4000 cycles of load leave nothing behind after 4000
// more, so that of P packets of 3 flits in H hops of flits there are P heads and P last flits that enter the network, P
// that are delivered, H grants of a switch, H/3 of a virtual channel (once a packet and switch), and as many arrivals
// at switches: each crossing leads to another, but for the 3P to terminals, and 3P arrivals come from those.
func TestObservers(t *testing.T) {
	n, config := dragonflyNetwork(t, "val", 2, 4, 2), pipelined()
	config.Switch.Pipeline = fabric.Serial // so that all channels are given to fronts
	f, meter := n.fabric(t, config), measure.NewMeter(100)
	blame, trace := observe.StartBlame(f, meter), observe.StartTrace(f, meter, observe.TracePlan{Packets: 100})
	seen := f.Count()
	meter.Open(0)
	source := n.traffic(0.3, 3)
	source.Stop(4000)
	f.Attach(fabric.Ends{Source: source, Sink: meter})
	f.Advance(8000)
	p, h := f.Packets, f.FlitHops
	simtest.FatalIf(t, f.InFlight() != 0 || p < 1000, "%d packets, %d in flight", p, f.InFlight())
	want := core.Moments{Heads: p, Tails: p, Packets: p, Flits: h, Crossings: h, VCs: h / 3, Cycles: seen.Cycles}
	simtest.ErrorIf(t, *seen != want, "got  %+v\nwant %+v", *seen, want)
	if blamed := blame.Packets[0] + blame.Packets[1]; blamed != p || len(trace.Packets()) != 100 {
		t.Errorf("blame has seen %d packets and trace %d, want %d and 100", blamed, len(trace.Packets()), p)
	}
}
