package routing_test

import (
	"testing"

	"github.com/weft-sim/weft/routing/routingtest"
)

// unitChecks compare flits and packets as the unit: the times of every packet, the same with
// packets to groups among the others, which share their virtual channels or do not, and what
// blame and traces say of every packet and channel.
var unitChecks = map[string]struct {
	check  func(tr *routingtest.Trial, t testing.TB, cycles int64) (packets int)
	cycles int64
	least  int // packets of all trials
}{
	"unicast":   {(*routingtest.Trial).CheckUnits, 1000, 100_000},
	"multicast": {(*routingtest.Trial).CheckMulticastUnits, 600, 100_000},
	"observed":  {(*routingtest.Trial).CheckObservedUnits, 400, 40_000},
}

// TestUnits: flits and packets as the unit give the same on random networks of all families
// under all routings.
func TestUnits(t *testing.T) {
	for name, c := range unitChecks {
		t.Run(name, func(t *testing.T) {
			packets := 0
			for seed := range uint64(60) {
				packets += c.check(routingtest.DrawUnitTrial(t, seed), t, c.cycles)
			}
			if packets < c.least {
				t.Errorf("%d packets are not a test of all", packets)
			}
		})
	}
}

// FuzzUnits compares the units on the random network of any seed.
func FuzzUnits(f *testing.F) {
	for seed := range uint64(2) {
		f.Add(1000 + seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, c := range unitChecks {
			c.check(routingtest.DrawUnitTrial(t, seed), t, 1000)
		}
	})
}
