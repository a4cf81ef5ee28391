package core_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// logbook is a sink that keeps what every terminal has got.
type logbook [][]fabric.Delivery

func (l logbook) Deliver(d *fabric.Delivery) { l[d.Dst] = append(l[d.Dst], *d) }

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

// TestThreadsFaults: every packet, every transmission, the lives of the first of them and
// all tallies are the same for any number of threads while cables and switches fail and
// come back, with packets of many flits across several domains, with and without retries.
func TestThreadsFaults(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	var all fabric.FaultTally
	dragonfly := func(algorithm string) func(t testing.TB) network {
		return func(t testing.TB) network { // two cables between any two groups
			return newNetwork(t, "dragonfly", algorithm, func(c *topology.DragonflyConfig) { c.P, c.A, c.H, c.G = 2, 4, 2, 5 })
		}
	}
	for i, c := range []struct {
		name    string
		network func(t testing.TB) network
		routing string
		timing  string
		flits   int
		retries int
	}{
		{"dragonfly", dragonfly("table"), "table", "default", 1, 3},
		{"dragonfly, long", dragonfly("val"), "val", "deep", 9, 0},
		{"dragonfly, UGAL-L", dragonfly("ugal-l"), "ugal-l", "cut, stages", 4, 2},
		{"dragonfly, UGAL-G", dragonfly("ugal-g"), "ugal-g", "cut-through", 4, 2},
		{"tree", func(t testing.TB) network {
			return newNetwork(t, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 3 })
		}, "nca", "fraction", 3, 1},
		{"random", func(t testing.TB) network {
			return newNetwork(t, "random-regular", "table", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree, c.Terminals = 16, 4, 2 })
		}, "table", "pipelined", 7, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			sameForThreads(t, func(t *testing.T, threads int) string {
				n := c.network(t)
				g := n.topo.Graph()
				plan := simtest.Must(buildPeriods(c.routing, n.topo, failing(g, c.routing == "nca" || c.routing == "table", uint64(i))))(t)
				plan.Reroute, plan.Retries, plan.Timeout = 40, c.retries, 60
				config := fabric.DefaultConfig()
				config.Switch.BufferFlits = 6
				if c.routing == "ugal-g" {
					config.Channels = map[string]fabric.ChannelConfig{"global": {Latency: 20 * sim.Nanosecond}}
				}
				timings[c.timing](&config)
				f := simtest.Must(core.New(g, config, plan.Routing[0], 1))(t)
				simtest.Check(t, f.SetFaults(plan))
				meter := measure.NewMeter(100)
				meter.Open(0)
				trace := observe.StartTrace(f, meter, observe.TracePlan{Packets: 60, Every: 5})
				f.Split(threads)
				if f.Threads() != threads {
					t.Errorf("%d threads, want %d", f.Threads(), threads)
				}
				source := n.traffic(0.3, c.flits)
				source.Stop(600)
				got := make(logbook, g.Terminals())
				simtest.Check(t, measure.RunToEnd(t.Context(), f, source, got, measure.ToEnd{}))
				if tally := f.FaultTally(); threads == 1 {
					all.Add(tally)
					if tally.Dropped == 0 {
						t.Error("nothing is dropped")
					}
				}
				s := fmt.Sprintln(f.Counters, f.FaultTally(), f.Cycle(), f.ChannelFlits())
				for _, list := range got {
					slices.SortStableFunc(list, func(a, b fabric.Delivery) int { return int(a.Cycle - b.Cycle) })
					s += fmt.Sprintln(list)
				}
				return s + lives(trace.Packets())
			})
		})
	}
	if all.Retransmitted == 0 || all.Duplicates == 0 || all.Lost == 0 || all.Unreachable == 0 || all.WastedFlits == 0 {
		t.Errorf("not everything has happened: %+v", all)
	}
}

// TestThreadsFaultsMeasured: a measured run with faults comes out the same.
func TestThreadsFaultsMeasured(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	sameForThreads(t, func(t *testing.T, threads int) string {
		n := newNetwork(t, "dragonfly", "ugal-l", func(c *topology.DragonflyConfig) { c.P, c.A, c.H, c.G = 2, 4, 2, 5 })
		plan := simtest.Must(buildPeriods("ugal-l", n.topo, failing(n.topo.Graph(), false, 5)))(t)
		plan.Reroute, plan.Retries, plan.Timeout = 100, 2, 300
		f := n.fabric(t, fabric.DefaultConfig())
		simtest.Check(t, f.SetFaults(plan))
		source := n.traffic(0.4, 2)
		r := simtest.Must(measure.Run(t.Context(), f, source, 0.4, measure.Plan{Warmup: 100, Window: 500, Threads: threads, Levels: true, Trace: observe.TracePlan{Packets: 30}}))(t)
		return fmt.Sprintln(r.Faults, f.Counters, r.MeanLatency(), r.HalfWidth(), r.Accepted, r.State, r.Reason, r.Cycles, r.ChannelFlits) + lives(r.Traces)
	})
}
