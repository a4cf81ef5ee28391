package core_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// watch is what observers of a network are told to do, and they.
type watch struct {
	from   int64 // cycle from which packets are measured
	plan   observe.TracePlan
	blames bool

	blame  *observe.Blame
	tracer *observe.Tracer
}

// start has w observe f.
func (w *watch) start(f *core.Fabric) {
	meter := measure.NewMeter(100)
	meter.Open(w.from)
	w.blame = nil
	if w.blames {
		w.blame = observe.StartBlame(f, meter)
	}
	w.tracer = observe.StartTrace(f, meter, w.plan)
}

// said is all that the observers say.
func (w *watch) said() string {
	if w.blame == nil {
		return lives(w.tracer.Packets())
	}
	return observed(w.blame, w.tracer.Packets())
}

func drawWatch(random *sim.Stream) watch {
	return watch{
		from: int64(random.IntN(300)), blames: true,
		plan: observe.TracePlan{Packets: 1 + random.IntN(60), Every: 1 + random.IntN(3), Slowest: random.IntN(2) == 0},
	}
}

// checkObservedSnapshot runs the network of a trial with observers to the end without a
// break, and again with a snapshot on its way, from which networks on several threads go on:
// their observers say the same, to the digit, and come to the same state, byte for byte.
func checkObservedSnapshot(t testing.TB, tr *routingtest.Trial, seed uint64) (traced int) {
	t.Helper()
	random := sim.NewStream(seed, "observed snapshots", 0)
	w := drawWatch(&random)
	load := []float64{0.2, 0.6, 1}[random.IntN(3)]
	at, after := int64(random.IntN(400)), int64(100+random.IntN(200))

	whole, _, _ := attachedWith(t, tr, load, 1, w.start)
	whole.Advance(at + after)
	end, want := stateOf(t, whole), w.said()

	first, source, _ := attachedWith(t, tr, load, 1+random.IntN(3), w.start)
	first.Advance(at)
	network, births := stateOf(t, first), source.AppendState(nil)
	first.Advance(after)
	if said := w.said(); said != want || !bytes.Equal(stateOf(t, first), end) {
		t.Fatalf("%v: a snapshot in cycle %d changes what observers see:\n%s", tr, at, difference(said, want))
	}
	for _, threads := range simtest.Some(t, int(seed), 1, 2, 3) {
		f, source, _ := attachedWith(t, tr, load, threads, w.start)
		simtest.Check(t, source.RestoreState(births))
		if err := f.RestoreState(network); err != nil {
			t.Fatalf("%v: %v", tr, err)
		}
		if !bytes.Equal(stateOf(t, f), network) {
			t.Fatalf("%v: the state of cycle %d, restored on %d threads, is another", tr, at, threads)
		}
		f.Advance(after)
		if said := w.said(); said != want {
			t.Fatalf("%v: from cycle %d on, observers say otherwise on %d threads:\n%s", tr, at, threads, difference(said, want))
		}
		if !bytes.Equal(stateOf(t, f), end) {
			t.Fatalf("%v: from cycle %d on, %d threads come to another state in cycle %d", tr, at, threads, at+after)
		}
		traced += len(w.tracer.Packets())
	}
	return traced
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

// TestSnapshotsObserved: what blame and traces have seen is in snapshots, on random
// networks of all families, flit by flit and packet by packet.
func TestSnapshotsObserved(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	traced, trials := 0, uint64(12) // 2 s
	if os.Getenv("SOAK_TIME") != "" {
		trials = 600
	}
	for seed := range trials {
		traced += checkObservedSnapshot(t, routingtest.DrawTrial(t, seed), seed)
		units := routingtest.DrawUnitTrial(t, seed)
		traced += checkObservedSnapshot(t, units, 5000+seed)
		units.SetUnit(fabric.UnitPacket)
		traced += checkObservedSnapshot(t, units, 1000+seed)
	}
	if traced < 350 {
		t.Errorf("%d packets traced are not a test of all", traced)
	}
}

// FuzzSnapshotsObserved is TestSnapshotsObserved on the network of any seed.
func FuzzSnapshotsObserved(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		checkObservedSnapshot(t, routingtest.DrawTrial(t, seed), seed)
		units := routingtest.DrawUnitTrial(t, seed)
		units.SetUnit(fabric.UnitPacket)
		checkObservedSnapshot(t, units, seed)
	})
}

// TestSnapshotsOfTracesWithFaults: so are the packets that are traced while others are
// discarded and sent again.
func TestSnapshotsOfTracesWithFaults(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	traced := 0
	for i, c := range failingRuns(t) {
		random := sim.NewStream(uint64(i), "moments", 0)
		w := watch{from: 20, plan: observe.TracePlan{Packets: 300, Slowest: i%2 == 0}}
		const end = 500
		whole, _, _ := c.attachedWith(t, 1, w.start)
		whole.Advance(end)
		last, want := stateOf(t, whole), w.said()
		for _, at := range []int64{137, int64(100 + random.IntN(300))} {
			first, source, _ := c.attachedWith(t, 1+random.IntN(3), w.start)
			first.Advance(at)
			state, births := stateOf(t, first), source.AppendState(nil)
			for _, threads := range simtest.Some(t, i+int(at), 1, 2, 3) {
				f, source, _ := c.attachedWith(t, threads, w.start)
				simtest.Check(t, source.RestoreState(births))
				simtest.Check(t, f.RestoreState(state))
				if !bytes.Equal(stateOf(t, f), state) {
					t.Fatalf("%s: the state of cycle %d is another one on %d threads", c.routing, at, threads)
				}
				f.Advance(end - at)
				if said := w.said(); said != want || !bytes.Equal(stateOf(t, f), last) {
					t.Fatalf("%s, %s: from cycle %d on, %d threads trace otherwise:\n%s", c.routing, c.timing, at, threads, difference(said, want))
				}
			}
		}
		traced += len(w.tracer.Packets())
	}
	if traced < 350 {
		t.Errorf("%d packets traced are not a test", traced)
	}
}

// TestSnapshotsObservedLate: so is what they have seen after so many cycles that steps, which
// are counted modulo 2^32, have come around.
func TestSnapshotsObservedLate(t *testing.T) {
	n, config := dragonflyNetwork(t, "val", 2, 4, 2), pipelined()
	config.Switch.Speedup, config.Switch.RouteCycles = 2, 5
	const late = 1<<31 + 100 // two steps a cycle
	for flits := 1; flits <= 3; flits++ {
		build := func() (*watch, *core.Fabric, *measure.OpenLoop) {
			w := &watch{from: late + 190, plan: observe.TracePlan{Packets: 100}, blames: true} // also in cycle late + 200
			f, terminals := n.fabric(t, config), n.topo.Graph().Terminals()
			w.start(f)
			source := n.traffic(0.6, flits)
			source.Begin(late)
			simtest.Check(t, f.Attach(source, make(receivers, terminals)))
			return w, f, source
		}
		w, whole, _ := build()
		whole.Advance(late + 400)
		_, first, source := build()
		first.Advance(late + 200)
		other, f, births := build()
		simtest.Check(t, errors.Join(births.RestoreState(source.AppendState(nil)), f.RestoreState(stateOf(t, first))))
		f.Advance(200)
		if got, want := other.said(), w.said(); got != want || !bytes.Equal(stateOf(t, f), stateOf(t, whole)) || len(w.tracer.Packets()) != 100 {
			t.Errorf("packets of %d flits, %d traced:\n%s", flits, len(w.tracer.Packets()), difference(got, want))
		}
	}
}

// TestObservedStatesAreOfTheObserved: a network that is observed does not take the state of
// one that is not, or that is observed otherwise.
func TestObservedStatesAreOfTheObserved(t *testing.T) {
	tr := routingtest.DrawTrial(t, 1)
	none := func(*core.Fabric) {}
	blame, traces := &watch{plan: observe.TracePlan{Packets: 5}, blames: true}, &watch{plan: observe.TracePlan{Packets: 5}}
	for _, c := range []struct {
		name, want       string
		written, restore func(*core.Fabric)
	}{
		{"none and all", "is observed", none, blame.start},
		{"all and none", "is observed", blame.start, none},
		{"traces and all", "the state has \"traces\" where \"blame\" begins", traces.start, blame.start},
		{"all and traces", "the state has \"blame\" where \"traces\" begins", blame.start, traces.start},
	} {
		f, _, _ := attachedWith(t, tr, 0.5, 1, c.written)
		f.Advance(50)
		other, _, _ := attachedWith(t, tr, 0.5, 1, c.restore)
		simtest.Fail(t, other.RestoreState(stateOf(t, f)), c.want)
	}
}
