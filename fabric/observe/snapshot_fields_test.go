package observe

import (
	"testing"

	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// TestStatesAreWhole: no field is forgotten in snapshots, of types whose state is more than their fields. What is named here is
// no part of the state, for the reason given.
func TestStatesAreWhole(t *testing.T) {
	snapshottest.Names[Blame](t, "Packets", "Classes", "Levels", "links", "queues", "clocked", "came", "packets", "marks", "long", "pairs",
		"under", "others", "elsewhere", // counted again
		"foldAt", "emptyAt", "first", "firstCycle", // found again
		"late", "queued", "passed", "pending", "sent", // added up before
		"handed",                                                                                     // counts while a packet is delivered
		"whole", "parts", "domain", "graph", "pairRow", "meter", "OnPacket", "Sources", "Unobserved", // made before
		"least", "foldIn", "emptyIn", "perStep", "roundUp") // follow from the settings
	snapshottest.Names[Tracer](t, "numbers", "matched", "live", "kept", "started",
		"Unobserved", "parts", "plan", "meter", "OnPacket", "fabric", "source", "given", // made before
		"spare")
	snapshottest.Names[life](t, "PacketTrace", "path")
	snapshottest.Names[crossings](t, "hops", "next")
}
