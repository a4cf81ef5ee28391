package routing

import (
	"testing"

	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// TestQStateIsWhole: no field of what is learned is forgotten in snapshots.
func TestQStateIsWhole(t *testing.T) {
	snapshottest.Names[qMemory](t, "estimates", "boxes", "learned", // the last is found again
		"routing", "latency", "first") // of the network
}
