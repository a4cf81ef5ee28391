package mpi

import (
	"testing"

	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// TestStatesAreWhole: whoever adds a field to what a run keeps decides here whether it is
// part of a snapshot.
func TestStatesAreWhole(t *testing.T) {
	snapshottest.Names[rank](t, "cpu", "busy", "copying", "stepping", "connected", "posting", "queue", "head", "posted", "early", "inbox")
	snapshottest.Names[copies](t, "memory", "ranks")
	snapshottest.Names[memory](t, "domains", "kernel", "handler", "ended", "bandwidth", "domainOf")
	snapshottest.Names[noise](t, "calls", "computing", "Noise", "phase")
	snapshottest.Names[connector](t, "links", "waiting", "perPeer",
		"rt", "perNode", "datagrams", "dynamic", "group", "buffers") // of the settings
	snapshottest.Names[matcher](t, "nodes", "free", "order", // the items of lists in their order
		"links", "indexes") // made again when a list is long
	snapshottest.Names[runtime](t, "match", "recvBytes", "connect", "copies", "freeMsg", "newMsg", "endMsg", "stats",
		"shared", "number", "kernel", "handler", "work", "transport", "costs", // made before
		"ready", "pause", "failure", // of an event, of no result, not there in a run that is kept
		"sent", "side", "nextSent", // have become events
		"waking", "wakesUp", "newTransit", "endTransit") // of a timeline, of which no state is kept
	snapshottest.Names[shared](t, "ranks", "messages", "noise",
		"Config", "pauseEvery", "parts", "partOf", "nodeOf", "inOrder", "jobs", "queues")
	snapshottest.Names[loggpTransport](t, "nodes", "waking", "config", "kernel", "handler", "sink", "freed")
	snapshottest.Names[ScheduleRun](t, "ranks", "phaseEnd", "left", // the last follows from the ranks
		"s", "costs", "unit", "ops", "phased", "phaseOver", "parts")
}
