package routing_test

import (
	"testing"

	"github.com/weft-sim/weft/routing/routingtest"
)

// TestUnits: flits and packets as the unit give the same times for every packet, on
// random networks of all families under all routings.
func TestUnits(t *testing.T) {
	packets := 0
	for seed := range uint64(60) {
		packets += routingtest.DrawUnitTrial(t, seed).CheckUnits(t, 1000)
	}
	t.Logf("%d packets", packets)
}
