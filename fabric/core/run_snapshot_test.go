package core_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/marking"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
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
	found := measure.Plan{Precision: 0.05, Budget: 6000, Levels: true, Series: 6}
	given := measure.Plan{Warmup: 730, Window: 1210, Series: 7}
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
		want := simtest.Must(c.run(t, plan))(t)
		random := sim.NewStream(1, c.name, 0)
		for _, share := range simtest.Some(t, i, 0, 99, random.IntN(100)) {
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
				if err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
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
