package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

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
