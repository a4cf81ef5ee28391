package core_test

import (
	"os"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/simtest"
)

// attachedGroups is the network of a trial under a load, part of which is for groups, on
// threads.
func attachedGroups(t testing.TB, tr *routingtest.Trial, load float64, threads int) (*core.Fabric, routingtest.Numbered, receivers) {
	t.Helper()
	f, source := tr.Multicast(t, load)
	got := make(receivers, source.Terminals())
	f.Split(threads)
	simtest.Check(t, f.Attach(source, got))
	return f, source, got
}

// multicastTrials draws networks whose switches replicate packets without holding ports,
// and under switch.hold with either unit.
func multicastTrials(t testing.TB, seed uint64) []*routingtest.Trial {
	all := []*routingtest.Trial{routingtest.DrawTrial(t, seed), routingtest.DrawUnitTrial(t, seed), routingtest.DrawUnitTrial(t, 1000+seed)}
	all[2].SetUnit(fabric.UnitPacket)
	return all
}

// TestSnapshotsOfMulticast: packets that are being replicated go on from a snapshot, too:
// with and without switch.hold, with flits and with packets as the unit.
func TestSnapshotsOfMulticast(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	packets, trials := 0, uint64(12) // 1.5 s
	if os.Getenv("SOAK_TIME") != "" {
		trials = 600
	}
	for seed := range trials {
		for _, tr := range multicastTrials(t, seed) {
			packets += checkSnapshot(t, tr, seed, attachedGroups)
		}
	}
	if packets < 10_000 {
		t.Errorf("%d packets are not a test of all", packets)
	}
}

// FuzzSnapshotsOfMulticast is TestSnapshotsOfMulticast on the network of any seed.
func FuzzSnapshotsOfMulticast(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, tr := range multicastTrials(t, seed) {
			checkSnapshot(t, tr, seed, attachedGroups)
		}
	})
}
