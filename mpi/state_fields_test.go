package mpi

import (
	"testing"

	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// TestStatesAreWhole: whoever adds a field to what a run keeps decides here whether it is
// part of a snapshot.
func TestStatesAreWhole(t *testing.T) {
	whole := func(archive func(*Stats, *snapshot.Archive)) func(*snapshot.Archive, *Stats) {
		return func(a *snapshot.Archive, s *Stats) { archive(s, a) }
	}
	snapshottest.Check(t, func() *Stats { return new(Stats) }, whole((*Stats).archive),
		"Events") // counted by the kernels
	snapshottest.Check(t, func() *rankProgress { return new(rankProgress) }, func(a *snapshot.Archive, p *rankProgress) { p.archive(a) },
		"_")
	snapshottest.Names[Op](t, "Size", "Ready", "ID", "Peer", "Tag", "Kind", "Protocol", "Segment", "Control", "Copy", "CPU", "NIC")
	snapshottest.Names[message](t, "from", "to", "hop", "sendID", "recvID", "tag", "bytes", "ready", "stage", "protocol", "segment", "open",
		"shared", "next", "_") // follow from the rest, and from the list that the message is in
	snapshottest.Names[rank](t, "cpu", "busy", "copying", "stepping", "connected", "posting", "queue", "head", "posted", "early", "inbox", "waiting")
	snapshottest.Names[inbox](t, "last", "count", "earlier")
	snapshottest.Names[waitingFor](t, "peer", "chain")
	snapshottest.Names[copies](t, "memory", "ranks")
	snapshottest.Names[copier](t, "held", "stepped", "then", "id", "began", "bytes", "late",
		"most") // follows from what it copies
	snapshottest.Names[memory](t, "domains", "kernel", "handler", "ended", "bandwidth", "domainOf")
	snapshottest.Names[domain](t, "copies", "since", "serial")
	snapshottest.Names[copying](t, "rank", "left",
		"most", "rate") // follow from which copies there are
	snapshottest.Names[noise](t, "calls", "computing", "Noise", "phase")
	snapshottest.Names[connector](t, "links", "waiting", "perPeer", "earlier",
		"rt", "perNode", "datagrams", "dynamic", "group", "buffers") // of the settings
	snapshottest.Names[matcher](t, "nodes", "free", "order", // the items of lists in their order
		"links", "indexes", // made again when a list is long
		"own")
	snapshottest.Names[runtime](t, "match", "recvBytes", "connect", "copies", "freeMsg", "newMsg", "endMsg", "stats",
		"shared", "number", "kernel", "handler", "work", "transport", "schedule", "firstOwn", "expecter", // made before
		"ready", "pause", "failure", // of an event, of no result, not there in a run that is kept
		"sent", "side", "nextSent") // have become events
	snapshottest.Names[shared](t, "ranks", "messages", "noise",
		"Config", "pauseEvery", "parts", "partOf", "nodeOf", "inOrder", "queues")
	snapshottest.Names[loggpTransport](t, "nodes", "waking", "config", "kernel", "handler", "sink", "arrival", "ahead", "known", "freed")
	snapshottest.Names[ScheduleRun](t, "ranks", "phaseEnd", "left", // the last follows from the ranks
		"s", "costs", "unit", "ops", "phased", "phaseOver", "parts")
}

// TestLogGOPSStateIsWhole is TestStatesAreWhole for the LogGOPS machine.
func TestLogGOPSStateIsWhole(t *testing.T) {
	snapshottest.Names[loggopsMachine](t, "clocks", "lists", "match", "queue", "groups", "sparse", "numbers", "live", "result",
		"LogGOPS", "work", "cpus", "nics", "stride", // made before
		"free", "ready", "other", "err", // of an event
		"window")
	snapshottest.Names[liveOp](t, "Op", "rank", "number", "done", "next")
	snapshottest.Names[timedEvent](t, "time", "number", "op", "kind", "parked")
	snapshottest.Names[parkGroup](t, "heap",
		"first") // the lowest number
	snapshottest.Names[radixQueue](t, "buckets", "head", "inserts", "heap", // the events
		"last", "size", "soonest", "known", "anyTime")
	snapshottest.Names[LogGOPSResult](t, "Messages", "Events", "Finish")
	snapshottest.Names[partsRun](t, "whole", "parts", "numbers", "barrier", "told", "pauses", "progress", "checkpoint", "err")
	snapshottest.Names[loggopsWindow](t, "number", "ends", "end", "made", "makers", "final", "later", "groups", "gone", "at", "sent", "next", "_") // between windows empty, or found anew
}
