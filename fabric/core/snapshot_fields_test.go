package core

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// TestStatesAreWhole: no field of a record is forgotten in snapshots. What is named here is
// no part of the state, for the reason given.
func TestStatesAreWhole(t *testing.T) {
	withPackets := func(a *snapshot.Archive) *archiver {
		x := &archiver{Archive: a, f: &Fabric{}, packets: numbers{count: 1 << 20}}
		for x.packets.among(1 << 10); len(x.packets.ids) < 1<<10; {
			x.packets.see(int32(len(x.packets.ids)))
		}
		x.packets.count, x.f.terminals, x.f.in = 1<<20, make([]terminal, 100), make([]inPort, 100)
		return x
	}
	whole(t, func(a *snapshot.Archive, p *packet) { withPackets(a).packetRecord(p) })
	whole(t, archiveTrain)
	whole(t, archiveMasks)
	whole(t, archiveProbe)
	whole(t, archiveLetter)
	whole(t, func(a *snapshot.Archive, s *fabric.PacketSpec) { s.Archive(a) })
	whole(t, func(a *snapshot.Archive, p *lanePacket) { withPackets(a).lanePacket(p) })
	whole(t, archiveUpcoming, "head") // is looked up
	whole(t, archiveHeldPort)
	whole(t, archiveHeldCredit)
	whole(t, archiveRamp)
	whole(t, archivePortCredits)
	whole(t, archiveStreams)
	whole(t, func(a *snapshot.Archive, w *flow) { withPackets(a).flow(a, w) }, "packet") // counts with faults only
	whole(t, func(a *snapshot.Archive, w *flow) {
		x := withPackets(a)
		x.f.faults = &faults{}
		x.flow(a, w)
	})
	whole(t, func(a *snapshot.Archive, w *flight) { withPackets(a).flight(w) })
	whole(t, archiveEvent)
	whole(t, archiveReplication)
	whole(t, archiveBranch)
	whole(t, archivePass)
	snapshottest.Names[multicast](t, "under", "work", "turn", "grant", "prefer", "asleep", "tables", "idle", // the last follows from the rest
		"mine", "served", "bids", "wanted", "usedInputs", "usedOutputs", "usedList") // count within a step
	whole(t, archiveOutVC)
	whole(t, archiveOutPort,
		"dest", "pace", "bounded", "wheel") // follow from the network, and how it is divided
	whole(t, archiveInPort, "upstream", "delay", "wheel") // likewise
	whole(t, func(a *snapshot.Archive, te *terminal) { withPackets(a).terminal(te) })
	whole(t, func(a *snapshot.Archive, e *flit) { withPackets(a).flit(e) })
	whole(t, func(a *snapshot.Archive, q *queued) { withPackets(a).queued(q, true) })
	whole(t, func(a *snapshot.Archive, c *Counters) { withPackets(a).counters(c) })

	whole(t, archivePassing)
	whole(t, archiveBlameQueue)
	whole(t, archiveLevelBlame)
	whole(t, func(a *snapshot.Archive, p *PacketTrace) { withPackets(a).packetTrace(p) })
	whole(t, func(a *snapshot.Archive, h *TraceHop) { withPackets(a).traceHop(h) })
	whole(t, archiveTraceWait)
	whole(t, archiveDelivery)
	snapshottest.Names[followed](t, "passing", "tails", "seen", "polls") // the last but one counts within a cycle, the last follows from the settings
	snapshottest.Names[Blame](t, "Packets", "Classes", "Levels", "links", "queues", "clocked", "came", "packets", "marks", "long", "pairs",
		"under", "others", "elsewhere", // counted again
		"foldAt", "emptyAt", "first", "firstCycle", // found again
		"late", "queued", "passed", "pending", "sent", // added up before
		"handed",                                                                         // counts while a packet is delivered
		"whole", "parts", "domain", "graph", "pairRow", "meter", "OnPacket", "bystander", // made before
		"least", "foldIn", "emptyIn", "perStep", "roundUp") // follow from the settings
	snapshottest.Names[Tracer](t, "numbers", "matched", "live", "kept", "started",
		"bystander", "parts", "plan", "meter", // made before
		"spare")
	snapshottest.Names[life](t, "PacketTrace", "path")
	snapshottest.Names[crossings](t, "hops", "next")
	whole(t, func(a *snapshot.Archive, c *course) { c.archive(a) })
	whole(t, func(a *snapshot.Archive, p *progress) { p.archive(a) })
	whole(t, func(a *snapshot.Archive, m *Measure) { m.archive(a) })
	whole(t, func(a *snapshot.Archive, l *LevelTally) { l.archive(a) })
	whole(t, func(a *snapshot.Archive, s *seriesRecorder) { s.archive(a) }, "f")
	whole(t, func(a *snapshot.Archive, e *Evidence) { e.archive(a) })

	snapshottest.Names[Meter](t, "from", "to", "slice", "slices", "latency", "network", "hops", "nonMinimal", "packets", "notes", "levels",
		"last", "first", "trailing", // found again with the next packet, taken with each slice
		"parts") // taken over
	snapshottest.Names[statistics](t, "meter", "progress", "last", "useful", "entered", "held", "origin", "before", "start", "delivered", "sent", "series", "f", "source")
	snapshottest.Names[Watchdog](t, "moved", "movedAt", "waits", "waitsAt", "f", "limit")
	snapshottest.Names[Wait](t, "Holds", "Wants", "Flits", "Src", "Dst", "Multicast", "packet", "Holder")
	snapshottest.Names[levelMeter](t, "tallies", "routing", "levels")
	snapshottest.Names[Result](t, "Meter", "Warmup", "Window", "Accepted", "ChannelFlits", "Settled", "Evidence",
		"Cycles", "Faults", "Measures", "Blame", "Traces", // noted at the end, or not kept
		"Closed", "Offered", // of the plan
		"State", "Reason", "Series") // follow from the evidence, and from the recorder
	snapshottest.Names[runner](t, "f", "plan", "ctx", "watch", "statistics", "result", "course", "write", "trace")
	snapshottest.Names[OpenLoop](t, "sources", "pattern", "process", "sizes", "stop")
	snapshottest.Names[openSource](t, "next", "births", "contents", "state")
	snapshottest.Names[succession](t, "before", "after", "through", "hears", "at")

	snapshottest.Names[extras](t, "faults", "observer", "multicast")
	snapshottest.Names[faults](t, "origin", "now", "known", "letters", "senders", "doomed", "Routing", "down", "part", "fabric", "plan", "whole") // what follows senders is found again, or made before
	snapshottest.Names[retry](t, "unused", "pending", "tally", "heard", "domain", "x", "source", "sink")                                          // heard has been taken between cycles
	snapshottest.Names[sender](t, "timers", "first")
	snapshottest.Names[timer](t, "end", "letter")
	snapshottest.Names[fabric.FaultTally](t, "Dropped", "Retransmitted", "Duplicates", "Lost", "Unreachable", "GivenUpFlits", "WastedFlits")
	snapshottest.Names[inVC](t, "queued", "last", "count", "out", "ready")
	snapshottest.Names[buffered](t, "next", "queued")
	snapshottest.Names[lanePort](t, "arbiter", "holder", "arbitrated", "open", "ok", "choice", "ready") // the last count within a step
	snapshottest.Names[laneQueues](t, "arbiter", "queues", "waiting", "arbitrated")                     // the last follows from the settings
	snapshottest.Names[laneQueue](t, "lanes", "packets", "first")                                       // first: those that have left are left out
	snapshottest.Names[lanePacket](t, "birth", "tag", "dst", "flits", "state")
	snapshottest.Names[moving](t, "toTerminals", "toSwitches", "credits", "held", "behind", "ramps", "events", "tails", "wakes")
	snapshottest.Names[sensing](t, "probes", "witness", "delayed")
	snapshottest.Names[holds](t, "ports", "bodies")
	snapshottest.Names[behind](t, "soon", "until", "slots")
	snapshottest.Names[packetTable](t, "chunks", "trains", "used")
	snapshottest.Names[registered](t, "reads", "requests", "matches", "chosen")
	snapshottest.Names[packetUnit](t, "credits", "streams", "flows", "ramps", "events",
		"flights", "starts", "slopes", "creditRate", "stepRate", "watched", "timed", // the last five follow from the settings
		"quiet", // found again
		"swept", // none before the first cycle after
		"followed",
		"step", "tails") // count within a cycle
	snapshottest.Names[state](t, "queues", "outVC", "out", "in", "masks", "waitNext", "acceptOV", "upcoming", "terminals", "packets",
		"streams", "departures", "sensing", "crossed", "lanes", "laneQueues", "allocators")
	snapshottest.Names[domain](t, "cycle", "flits", "credits", "held", "wakes", "behind", "unit", "state", "Counters",
		"network", "extras", "source", "prefetcher", "listens", "sink", "listener", // made before
		"sums", "summed", // count within the routing of a switch
		"pool", "poolFree", "packetFree", "active", "mine", "ends", "alone", // follow from the rest
		"retry", "doomed", // put together
		"purged",                                                                                                                 // counts at the beginning of a window
		"touched", "woken", "departing", "decided", "steps", "matcher", "registered", "hold", "view", "spec", "head", "delivery", // count within a cycle
		"mail", "sent", // handed over when cycles have been simulated
		"routesAhead", // follows from the settings
		"convoys",     // are disbanded before
		"worked")
	snapshottest.Names[Fabric](t, "cycle", "state", "Counters", "network", "extras", "hold", "unit", "domains", "crew", "source", "checkAt",
		"conductor") // made before
}

// whole is snapshottest.Check of a record whose lists may have any length.
func whole[T any](t *testing.T, archive func(*snapshot.Archive, *T), except ...string) {
	t.Helper()
	snapshottest.Check(t, func() *T { return new(T) }, archive, except...)
}
