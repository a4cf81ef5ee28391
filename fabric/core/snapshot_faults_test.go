package core_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

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
	tree, random, dragonfly := smallTree(t), smallRandom(t), fiveGroups("ugal-l")(t)
	return []failingRun{
		{tree, "nca", "fraction", 3, 2, 0},
		{random, "table", "pipelined", 7, 2, 1},
		{random, "table", "default", 1, 0, 2},
		{dragonfly, "ugal-l", "cut, stages", 4, 3, 3},
		{random, "table", "lanes", 3, 2, 7},
	}
}

// attached is the network on threads, before its first cycle.
func (c *failingRun) attached(t testing.TB, threads int) (*core.Fabric, *measure.OpenLoop, receivers) {
	t.Helper()
	return c.attachedWith(t, threads, func(*core.Fabric) {})
}

// attachedWith is attached with observers.
func (c *failingRun) attachedWith(t testing.TB, threads int, observe func(*core.Fabric)) (*core.Fabric, *measure.OpenLoop, receivers) {
	t.Helper()
	g := c.network.topo.Graph()
	failures := failing(g, c.routing != "ugal-l", c.seed)
	if c.timing == "lanes" { // which cannot follow faults that come or go
		failures = []topology.Failure{{Switches: []topology.SwitchID{3}}}
	}
	plan := simtest.Must(buildPeriods(c.routing, c.network.topo, failures))(t)
	plan.Reroute, plan.Retries, plan.Timeout = 40, c.retries, 60
	config := fabric.DefaultConfig()
	config.Switch.BufferFlits = 6
	switch c.timing {
	case "lanes":
		config.Switch.FlowControl, config.Switch.VCs, config.Switch.BufferFlits, config.Switch.OutputBufferFlits = fabric.CutThrough, 8, 8, 2
		config.Switch.VLArbLow = "0:1,1:2,2:1,3:1,4:1,5:1,6:1,7:1"
	default:
		timings[c.timing](&config)
	}
	f := simtest.Must(core.New(g, config, plan.Routing[0], 1))(t)
	simtest.Check(t, f.SetFaults(plan))
	observe(f)
	f.Split(threads)
	source := c.network.traffic(0.3, c.flits)
	got := make(receivers, g.Terminals())
	simtest.Check(t, f.Attach(source, got))
	return f, source, got
}

// TestSnapshotsWithFaults: while cables and switches fail and come back, and packets are
// dropped and sent again, a run goes on from a snapshot of any cycle as without a break, on
// any number of threads, flit by flit and packet by packet; and so does one in which what
// has failed stays, and terminals send by lane.
func TestSnapshotsWithFaults(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	var all fabric.FaultTally
	for i, c := range failingRuns(t) {
		build := func(threads int) (*core.Fabric, *measure.OpenLoop, receivers) { return c.attached(t, threads) }
		whole, _, got := build(1)
		const end = 700
		whole.Advance(end)
		last := stateOf(t, whole)
		all.Add(whole.FaultTally())
		r := sim.NewStream(uint64(i), "moments", 0)
		for _, at := range []int64{136, 137, 200, int64(100 + r.IntN(300)), int64(100 + r.IntN(300))} {
			first, source, early := build(1 + r.IntN(3))
			first.Advance(at)
			state, births := stateOf(t, first), source.AppendState(nil)
			for _, threads := range simtest.Some(t, i+int(at), 1, 2, 3) {
				f, source, rest := build(threads)
				simtest.Check(t, source.RestoreState(births))
				simtest.Check(t, f.RestoreState(state))
				if !bytes.Equal(stateOf(t, f), state) {
					t.Fatalf("%s: the state of cycle %d is another one on %d threads", c.routing, at, threads)
				}
				f.Advance(end - at)
				for i := range rest {
					if !slices.Equal(rest[i], got[i][len(early[i]):]) {
						t.Fatalf("%s: from cycle %d on, terminal %d hears of other packets on %d threads", c.routing, at, i, threads)
					}
				}
				if f.FaultTally() != whole.FaultTally() || !bytes.Equal(stateOf(t, f), last) {
					t.Fatalf("%s: from cycle %d on, %d threads come to another state: %+v, want %+v", c.routing, at, threads, f.FaultTally(), whole.FaultTally())
				}
			}
		}
	}
	if all.Dropped == 0 || all.Retransmitted == 0 || all.Duplicates == 0 || all.Lost == 0 || all.Unreachable == 0 {
		t.Errorf("not everything has happened: %+v", all)
	}
}
