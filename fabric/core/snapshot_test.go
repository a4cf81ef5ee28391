package core_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

func stateOf(t testing.TB, f *core.Fabric) []byte {
	t.Helper()
	return simtest.Must(f.AppendState(nil))(t)
}

// going is a network under way, with its source, what its terminals hear, and its observers.
type going struct {
	f      *core.Fabric
	source numbered
	heard  receivers
	blame  *observe.Blame  // nil: nobody blames
	tracer *observe.Tracer // nil: nobody observes
}

// start attaches a network on threads to a source, under the eyes of observers; nil: of none.
func start(t testing.TB, f *core.Fabric, source numbered, threads int, w *watch) *going {
	t.Helper()
	x := &going{f: f, source: source, heard: make(receivers, source.Terminals())}
	if w != nil {
		x.blame, x.tracer = w.start(f)
	}
	f.Split(threads)
	simtest.Check(t, f.Attach(fabric.Ends{Source: source, Sink: x.heard}))
	return x
}

// goesOn takes a snapshot, in a cycle, of a network as build builds it, of which whole has run
// to the end without a break. It and those that go on from it, on several threads, hear of the
// same packets, their observers say the same, and they come to the same state, byte for byte.
func goesOn(t testing.TB, name any, random *sim.Stream, trial int, at int64, whole *going, build func(threads int) *going) (on []*going) {
	t.Helper()
	end, last, said := whole.f.Cycle(), stateOf(t, whole.f), whole.said()
	check := func(x *going, before []int, threads int) {
		t.Helper()
		for i := range x.heard {
			simtest.FatalIf(t, !slices.Equal(x.heard[i], whole.heard[i][before[i]:]),
				"%v: from cycle %d on, terminal %d hears of other packets on %d threads", name, at, i, threads)
		}
		if got := x.said(); got != said {
			t.Fatalf("%v: from cycle %d on, observers say otherwise on %d threads:\n%s", name, at, threads, difference(got, said))
		}
		simtest.FatalIf(t, !bytes.Equal(stateOf(t, x.f), last), "%v: from cycle %d on, %d threads come to another state in cycle %d", name, at, threads, end)
	}
	first, before := build(1+random.IntN(3)), make([]int, len(whole.heard))
	first.f.Advance(at)
	state, births := stateOf(t, first.f), snapshottest.State(first.source)
	early := slices.Clone(before)
	for i := range early {
		early[i] = len(first.heard[i])
	}
	first.f.Advance(end - at)
	check(first, before, first.f.Threads())
	for _, threads := range simtest.Some(t, trial, 1, 2, 3) {
		x := build(threads)
		simtest.Check(t, snapshottest.Restore(x.source, births))
		simtest.Check(t, x.f.RestoreState(state))
		simtest.FatalIf(t, !bytes.Equal(stateOf(t, x.f), state), "%v: the state of cycle %d, restored on %d threads, is another", name, at, threads)
		x.f.Advance(end - at)
		check(x, early, threads)
		on = append(on, x)
	}
	return on
}

// checkSnapshot is goesOn for a network under a load, of a random cycle.
func checkSnapshot(t testing.TB, tr *routingtest.Trial, seed uint64, w *watch, network func(load float64) (*core.Fabric, numbered)) []*going {
	t.Helper()
	random := sim.NewStream(seed, "snapshots", 0)
	load := []float64{0.2, 0.6, 1}[random.IntN(3)]
	at, after := int64(random.IntN(400)), int64(100+random.IntN(200))
	build := func(threads int) *going {
		f, source := network(load)
		return start(t, f, source, threads, w)
	}
	whole := build(1)
	whole.f.Advance(at + after)
	return goesOn(t, tr, &random, int(seed), at, whole, build)
}

// checkUnicast is checkSnapshot without packets to groups.
func checkUnicast(t testing.TB, tr *routingtest.Trial, seed uint64, w *watch) []*going {
	t.Helper()
	return checkSnapshot(t, tr, seed, w, func(load float64) (*core.Fabric, numbered) { return tr.Fabric(t), tr.Traffic(load) })
}

// heardAndTraced are the packets that were heard of and those that were traced.
func heardAndTraced(all []*going) (heard, traced int) {
	for _, x := range all {
		for _, list := range x.heard {
			heard += len(list)
		}
		if x.tracer != nil {
			traced += len(x.tracer.Packets())
		}
	}
	return heard, traced
}

// snapshotTrials draws networks of all families, under all routings, allocators and pipelines: so many
// with switches of any kind, and as many with those that hold their ports, with either unit.
func snapshotTrials(t *testing.T, seeds uint64, check func(tr *routingtest.Trial, seed uint64) []*going) (heard, traced int) {
	core.DivideAlways(t.Cleanup)
	if simtest.Soak() {
		seeds = 600
	}
	for seed := range seeds {
		for i, tr := range drawTrials(t, seed) {
			a, b := heardAndTraced(check(tr, seed+1000*uint64(i)))
			heard, traced = heard+a, traced+b
		}
	}
	return heard, traced
}

func drawTrials(t testing.TB, seed uint64) []*routingtest.Trial {
	all := []*routingtest.Trial{routingtest.DrawTrial(t, seed), drawUnitTrial(t, seed), drawUnitTrial(t, 1000+seed)}
	all[2].Config.Fabric.Unit = fabric.UnitPacket
	return all
}

// TestSnapshots: a run that goes on from a snapshot is the run itself, on random networks,
// flit by flit and packet by packet.
func TestSnapshots(t *testing.T) {
	packets, _ := snapshotTrials(t, 15, func(tr *routingtest.Trial, seed uint64) []*going { return checkUnicast(t, tr, seed, nil) })
	simtest.ErrorIf(t, packets < 10_000, "%d packets are not a test of all", packets)
}

// checkGroups is checkSnapshot of a load of which part is for groups.
func checkGroups(t testing.TB, tr *routingtest.Trial, seed uint64) []*going {
	t.Helper()
	return checkSnapshot(t, tr, seed, nil, func(load float64) (*core.Fabric, numbered) { return multicastTrial(t, tr, load) })
}

// TestSnapshotsOfMulticast: packets that are being replicated go on from a snapshot, too:
// with and without switch.hold, with flits and with packets as the unit.
func TestSnapshotsOfMulticast(t *testing.T) {
	packets, _ := snapshotTrials(t, 12, func(tr *routingtest.Trial, seed uint64) []*going { return checkGroups(t, tr, seed) })
	simtest.ErrorIf(t, packets < 10_000, "%d packets are not a test of all", packets)
}

// TestSnapshotsObserved: what blame and traces have seen is in snapshots, too.
func TestSnapshotsObserved(t *testing.T) {
	_, traced := snapshotTrials(t, 12, func(tr *routingtest.Trial, seed uint64) []*going { return checkUnicast(t, tr, seed, drawWatch(seed)) })
	simtest.ErrorIf(t, traced < 350, "%d packets traced are not a test of all", traced)
}

// FuzzSnapshots is all three on the networks of any seed.
func FuzzSnapshots(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, tr := range drawTrials(t, seed) {
			checkUnicast(t, tr, seed, nil)
			checkUnicast(t, tr, seed, drawWatch(seed))
			checkGroups(t, tr, seed)
		}
	})
}

// TestSnapshotsOfLearners: a snapshot has what switches have learned, and what is on its way to them.
func TestSnapshotsOfLearners(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	seeds, packets := []uint64{374, 560, 854, 1052, 1496, 1577}, 0 // which draw routings that learn
	if testing.Short() {
		seeds = seeds[:2]
	}
	for i, seed := range seeds {
		tr := drawUnitTrial(t, seed)
		simtest.ErrorIf(t, !strings.Contains(tr.String(), "q-adaptive"), "%v: want a seed that draws q-adaptive", tr)
		if i%2 == 0 {
			tr.Config.Fabric.Unit = fabric.UnitPacket
		}
		heard, _ := heardAndTraced(checkUnicast(t, tr, seed, nil))
		packets += heard
	}
	simtest.ErrorIf(t, packets < 350, "%d packets are not a test", packets)
}
