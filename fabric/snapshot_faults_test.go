package fabric_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// TestSnapshotsWithFaults: while cables and switches fail and come back, and packets are
// dropped and sent again, a run goes on from a snapshot of any cycle as without a break, on
// any number of threads, flit by flit and packet by packet; and so does one in which what
// has failed stays, and terminals send by lane.
func TestSnapshotsWithFaults(t *testing.T) {
	fabric.DivideAlways(t.Cleanup)
	tree := newNetwork(t, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 3 })
	random := newNetwork(t, "random-regular", "table", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree, c.Terminals = 16, 4, 2 })
	dragonfly := newNetwork(t, "dragonfly", "ugal-l", func(c *topology.DragonflyConfig) { c.P, c.A, c.H, c.G = 2, 4, 2, 5 })
	var all fabric.FaultTally
	for i, c := range []struct {
		network network
		routing string
		timing  string
		flits   int
		retries int
	}{
		{tree, "nca", "fraction", 3, 2},
		{random, "table", "pipelined", 7, 2},
		{random, "table", "default", 1, 0},
		{dragonfly, "ugal-l", "cut, stages", 4, 3},
		{tree, "nca", "packets", 3, 2},
		{random, "table", "packets", 7, 0},
		{dragonfly, "ugal-l", "packets", 4, 3},
		{random, "table", "lanes", 3, 2},
	} {
		g := c.network.topo.Graph()
		build := func(threads int) (*fabric.Fabric, *fabric.OpenLoop, receivers) {
			failures := failing(g, c.routing != "ugal-l", uint64(i))
			if c.timing == "lanes" { // which cannot follow faults that come or go
				failures = []topology.Failure{{Switches: []topology.SwitchID{3}}}
			}
			plan, err := buildEras(c.routing, c.network.topo, failures)
			if err != nil {
				t.Fatal(err)
			}
			plan.Reroute, plan.Retries, plan.Timeout = 40, c.retries, 60
			config := fabric.DefaultConfig()
			config.Switch.BufferFlits = 6
			switch c.timing {
			case "packets":
				packets(&config)
				config.Switch.BufferFlits = 16
			case "lanes":
				config.Switch.FlowControl, config.Switch.VCs, config.Switch.BufferFlits, config.Switch.OutputBufferFlits = fabric.CutThrough, 8, 8, 2
				config.Switch.VLArbLow = "0:1,1:2,2:1,3:1,4:1,5:1,6:1,7:1"
			default:
				timings[c.timing](&config)
			}
			f, err := fabric.New(g, config, plan.Routing[0], 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.SetFaults(plan); err != nil {
				t.Fatal(err)
			}
			f.Split(threads)
			source := fabric.NewOpenLoop(g.Terminals(), uniform{g.Terminals()}, bernoulli{sim.NewGeometric(0.3 / float64(c.flits))}, fixed(c.flits), 1)
			got := make(receivers, g.Terminals())
			if err := f.Attach(source, got); err != nil {
				t.Fatal(err)
			}
			return f, source, got
		}
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
			for threads := 1; threads <= 3; threads++ {
				f, source, rest := build(threads)
				if err := source.RestoreState(births); err != nil {
					t.Fatal(err)
				}
				if err := f.RestoreState(state); err != nil {
					t.Fatal(err)
				}
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
