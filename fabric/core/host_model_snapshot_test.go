package core_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// runHosted runs a network of a trial whose terminals pass packets on, on threads, and tells
// all that there is to tell; few packets are born at once, so that terminals are idle now and
// then, and are woken for a packet that comes before the one they know of.
func runHosted(t testing.TB, tr *routingtest.Trial, pause int64, threads int, plan measure.ToEnd) (told string, passed int) {
	t.Helper()
	f := tr.Fabric(t)
	r := newRelay(f, pause, int32(min(3, tr.Config.Switch.BufferFlits)), func(t int) int64 { return int64(t * 37 % 400) })
	f.Split(threads)
	if err := measure.RunToEnd(t.Context(), f, r, plan); err != nil {
		return fmt.Sprint("deadlock", len(r.log)), len(r.log)
	}
	return fmt.Sprintln(f.Cycle(), f.Counters, f.ChannelFlits(), r.log), len(r.log)
}

func checkHosted(t testing.TB, tr *routingtest.Trial, seed uint64) (packets int) {
	t.Helper()
	random := sim.NewStream(seed, "conducted", 0)
	pause, calls := int64(1+random.IntN(60)), 0
	want, packets := runHosted(t, tr, pause, 1, measure.ToEnd{Snapshot: func(bool, func(*snapshot.Archive) error) error { calls++; return nil }})
	at := random.IntN(calls)
	keeps := func(at int, kept *[]byte) measure.ToEnd {
		seen := 0
		return measure.ToEnd{Snapshot: func(_ bool, state func(*snapshot.Archive) error) error {
			if seen++; seen != at+1 {
				return nil
			}
			b, err := snapshottest.Encode(state)
			*kept = bytes.Clone(b)
			return err
		}}
	}
	var kept []byte
	if got, _ := runHosted(t, tr, pause, 1+random.IntN(3), keeps(at, &kept)); got != want {
		t.Errorf("%v: a snapshot in front of slice %d changes the run", tr, at)
	}
	for _, threads := range simtest.Some(t, int(seed), 1, 2, 3) {
		var again []byte
		plan := keeps(0, &again)
		plan.From = snapshot.Reader(kept)
		got, _ := runHosted(t, tr, pause, threads, plan)
		simtest.FatalIf(t, !bytes.Equal(again, kept),
			"%v: the state in front of slice %d, restored on %d threads, is another", tr, at, threads)
		simtest.FatalIf(t, got != want,
			"%v: from slice %d on, %d threads come to\n%.200s\nwant\n%.200s", tr, at, threads, got, want)
	}
	return packets
}

// TestSnapshotsOfHosted: a network with a host model goes on from a snapshot to the very
// cycle in which the last thing happens, on any number of threads: on random networks, flit
// by flit and packet by packet.
func TestSnapshotsOfHosted(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	packets, trials := 0, uint64(12)
	if simtest.Soak() {
		trials = 600
	}
	for seed := range trials {
		packets += checkHosted(t, routingtest.DrawTrial(t, seed), seed)
		units := drawUnitTrial(t, 1000+seed)
		if seed%2 == 0 {
			units.Config.Fabric.Unit = fabric.UnitPacket
		}
		packets += checkHosted(t, units, seed)
	}
	simtest.ErrorIf(t, packets < 350, "%d packets are not a test", packets)
}
