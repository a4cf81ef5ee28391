package measure

import (
	"testing"

	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// TestStatesAreWhole: no field is forgotten in snapshots, of types whose state is more than their fields. What is named here is
// no part of the state, for the reason given.
func TestStatesAreWhole(t *testing.T) {
	snapshottest.Names[runner](t, "f", "plan", "ctx", "watch", "statistics", "result", "course", "write", "trace", "change")
	snapshottest.Names[OpenLoop](t, "sources", "pattern", "process", "sizes", "stop")
	snapshottest.Names[openSource](t, "next", "births", "contents", "state")
	snapshottest.Names[workloadChange](t, "before", "after", "through", "Workload", "at", "engine")
}
