package routing_test

import (
	"testing"

	"github.com/weft-sim/weft/routing/routingtest"
)

// TestUnits: flits and packets as the unit give the same times for every packet, on
// random networks of all families under all routings.
func TestUnits(t *testing.T) {
	packets := 0 // 4 s
	for seed := range uint64(60) {
		packets += routingtest.DrawUnitTrial(t, seed).CheckUnits(t, 1000)
	}
	if packets < 100_000 {
		t.Error("not a test of all")
	}
	t.Logf("%d packets", packets)
}

// TestMulticastUnits is TestUnits with packets to groups among the others, which share
// their virtual channels or do not.
func TestMulticastUnits(t *testing.T) {
	packets := 0
	for seed := range uint64(60) {
		packets += routingtest.DrawUnitTrial(t, seed).CheckMulticastUnits(t, 600)
	}
	if packets < 100_000 {
		t.Error("not a test of all")
	}
	t.Logf("%d packets", packets)
}

// TestObservedUnits: what blame and traces say of every packet and channel is the same for
// both units.
func TestObservedUnits(t *testing.T) {
	packets := 0
	for seed := range uint64(60) {
		packets += routingtest.DrawUnitTrial(t, seed).CheckObservedUnits(t, 400)
	}
	if packets < 40_000 {
		t.Errorf("%d packets are not a test of all", packets)
	}
}

// FuzzUnits compares the units on the random network of any seed.
func FuzzUnits(f *testing.F) {
	for seed := range uint64(2) {
		f.Add(1000 + seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		trial := routingtest.DrawUnitTrial(t, seed)
		trial.CheckUnits(t, 1000)
		trial.CheckMulticastUnits(t, 1000)
		trial.CheckObservedUnits(t, 1000)
	})
}
