package core_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// attached is the network of a trial under a load, on threads.
func attached(t testing.TB, tr *routingtest.Trial, load float64, threads int) (*core.Fabric, routingtest.Numbered, receivers) {
	t.Helper()
	return attachedWith(t, tr, load, threads, func(*core.Fabric) {})
}

// attachedWith is attached with observers.
func attachedWith(t testing.TB, tr *routingtest.Trial, load float64, threads int, observe func(*core.Fabric)) (*core.Fabric, *measure.OpenLoop, receivers) {
	t.Helper()
	f, source := tr.Fabric(t), tr.Traffic(load)
	got := make(receivers, source.Terminals())
	observe(f)
	f.Split(threads)
	simtest.Check(t, f.Attach(source, got))
	return f, source, got
}

func stateOf(t testing.TB, f *core.Fabric) []byte {
	t.Helper()
	b := simtest.Must(f.AppendState(nil))(t)
	return b
}

// attaching builds the network of a trial under a load, on threads.
type attaching func(t testing.TB, tr *routingtest.Trial, load float64, threads int) (*core.Fabric, routingtest.Numbered, receivers)

// checkSnapshot runs the network of a trial to the end without a break, and again with a
// snapshot on its way, from which networks on several threads go on: they are told of the
// same packets and come to the same state, byte for byte.
func checkSnapshot(t testing.TB, tr *routingtest.Trial, seed uint64, attached attaching) (packets int) {
	t.Helper()
	random := sim.NewStream(seed, "snapshots", 0)
	load := []float64{0.2, 0.6, 1}[random.IntN(3)]
	at, after := int64(random.IntN(400)), int64(100+random.IntN(200))

	whole, _, got := attached(t, tr, load, 1)
	whole.Advance(at)
	before := make([]int, len(got))
	for i := range got {
		before[i] = len(got[i])
	}
	whole.Advance(after)
	end := stateOf(t, whole)

	first, source, _ := attached(t, tr, load, 1+random.IntN(3))
	first.Advance(at)
	network, births := stateOf(t, first), source.AppendState(nil)
	first.Advance(after)
	if !bytes.Equal(stateOf(t, first), end) {
		t.Errorf("%v: a snapshot in cycle %d changes the run", tr, at)
	}
	for _, threads := range simtest.Some(t, int(seed), 1, 2, 3) {
		f, source, rest := attached(t, tr, load, threads)
		simtest.Check(t, source.RestoreState(births))
		if err := f.RestoreState(network); err != nil {
			t.Fatalf("%v: %v", tr, err)
		}
		if !bytes.Equal(stateOf(t, f), network) {
			t.Fatalf("%v: the state of cycle %d, restored on %d threads, is another", tr, at, threads)
		}
		f.Advance(after)
		for i := range rest {
			if !slices.Equal(rest[i], got[i][before[i]:]) {
				t.Fatalf("%v: from cycle %d on, terminal %d hears of other packets on %d threads", tr, at, i, threads)
			}
			packets += len(rest[i])
		}
		if !bytes.Equal(stateOf(t, f), end) {
			t.Fatalf("%v: from cycle %d on, %d threads come to another state in cycle %d", tr, at, threads, at+after)
		}
	}
	return packets
}

// TestSnapshots: a run that goes on from a snapshot is the run itself, on random networks of
// all families, under all routings, allocators and pipelines, flit by flit and packet by
// packet.
func TestSnapshots(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	packets, trials := 0, uint64(15) // 1.5 s
	if os.Getenv("SOAK_TIME") != "" {
		trials = 600
	}
	for seed := range trials {
		packets += checkSnapshot(t, routingtest.DrawTrial(t, seed), seed, attached)
		packets += checkSnapshot(t, routingtest.DrawUnitTrial(t, seed), seed, attached)
		units := routingtest.DrawUnitTrial(t, 1000+seed)
		units.SetUnit(fabric.UnitPacket)
		packets += checkSnapshot(t, units, seed, attached)
	}
	if packets < 10_000 {
		t.Errorf("%d packets are not a test of all", packets)
	}
}

// TestSnapshotsOfLearners: a snapshot has what switches have learned, and what is on its
// way to them.
func TestSnapshotsOfLearners(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	packets, trials, most := 0, 0, 6
	if testing.Short() {
		most = 2
	}
	for seed := uint64(0); trials < most; seed++ {
		tr := routingtest.DrawUnitTrial(t, seed)
		if !strings.Contains(tr.String(), "q-adaptive") {
			continue
		}
		if trials++; trials%2 == 0 {
			tr.SetUnit(fabric.UnitPacket)
		}
		packets += checkSnapshot(t, tr, seed, attached)
	}
	if packets < 350 {
		t.Errorf("%d packets are not a test", packets)
	}
}

// FuzzSnapshots is TestSnapshots on the network of any seed.
func FuzzSnapshots(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		checkSnapshot(t, routingtest.DrawTrial(t, seed), seed, attached)
		units := routingtest.DrawUnitTrial(t, seed)
		units.SetUnit(fabric.UnitPacket)
		checkSnapshot(t, units, seed, attached)
	})
}
