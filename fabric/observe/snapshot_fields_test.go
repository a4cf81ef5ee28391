package observe

import (
	"testing"

	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// TestStatesAreWhole: no field is forgotten in snapshots, of types whose state is more than their fields. What is named here is
// no part of the state, for the reason given.
func TestStatesAreWhole(t *testing.T) {
	snapshottest.Names[Blame](t, "Packets", "Classes", "Levels", "links", "pairs", "clocks", "packets",
		"under",                                                                   // counted again
		"parts", "graph", "pairRow", "meter", "OnPacket", "Sources", "Unobserved") // made before
	snapshottest.Names[account](t, "Parts", "measured")
	snapshottest.Names[Tracer](t, "numbers", "matched", "live", "kept", "started",
		"Unobserved", "parts", "plan", "meter", "OnPacket", "fabric", "source", "given", // made before
		"spare")
	snapshottest.Names[life](t, "PacketTrace", "path")
	snapshottest.Names[crossings](t, "hops", "next")
}
