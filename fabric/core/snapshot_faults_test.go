package core_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// failing are links and switches that fail while a network of threads runs, some of them
// at the edges of windows and of slices, and come back, but for the cables in the groups of
// a dragonfly, whose routings need them.
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
	failures := failing(g, c.routing == "nca" || c.routing == "table", c.seed)
	config := fabric.DefaultConfig()
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

// TestSnapshotsWithFaults: while cables and switches fail and come back, and packets are
// dropped and sent again, a run goes on from a snapshot of any cycle as without a break, on
// any number of threads, observed or not; and so does one in which what has failed stays, and
// terminals send by lane. In the end every flit and credit is accounted for.
func TestSnapshotsWithFaults(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	var all fabric.FaultTally
	traced := 0
	for i, c := range failingRuns(t) {
		for _, w := range []*watch{nil, {from: 20, plan: observe.TracePlan{Packets: 300, Slowest: i%2 == 0}}} {
			build := func(threads int) *going {
				x := start(t, c.fabric(t, func(*fabric.Config) {}), c.network.traffic(0.3, c.flits), threads, w)
				simtest.ErrorIf(t, x.f.Threads() != threads,
					"%s, %s: %d threads, want %d", c.routing, c.timing, x.f.Threads(), threads)
				return x
			}
			whole := build(1)
			whole.f.Advance(700)
			all.Add(whole.f.FaultTally())
			random := sim.NewStream(uint64(i), "moments", 0)
			for trial, at := range []int64{136 + int64(i%2), int64(138 + random.IntN(300))} {
				for _, x := range goesOn(t, c.routing+", "+c.timing, &random, i+trial, at, whole, build) {
					simtest.ErrorIf(t, x.f.FaultTally() != whole.f.FaultTally(),
						"%s, %s: %+v, want %+v", c.routing, c.timing, x.f.FaultTally(), whole.f.FaultTally())
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
	if all.Dropped == 0 || all.Retransmitted == 0 || all.Duplicates == 0 || all.Lost == 0 || all.Unreachable == 0 || all.WastedFlits == 0 || traced < 1000 {
		t.Errorf("not everything has happened: %+v, %d packets traced", all, traced)
	}
}
