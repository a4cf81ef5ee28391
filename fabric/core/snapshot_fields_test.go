package core

import (
	"testing"

	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// TestStatesAreWhole: no field is forgotten in snapshots, of types whose state is more than their fields. What is named here is
// no part of the state, for the reason given.
func TestStatesAreWhole(t *testing.T) {
	snapshottest.Names[multicast](t, "under", "work", "turn", "grant", "prefer", "asleep", "tables", "idle", // the last follows from the rest
		"mine", "served", "bids", "wanted", "usedInputs", "usedOutputs", "usedList") // count within a step
	snapshottest.Names[followed](t, "passing", "tails", "seen", "polls") // the last but one counts within a cycle, the last follows from the settings
	snapshottest.Names[Blame](t, "Packets", "Classes", "Levels", "links", "queues", "clocked", "came", "packets", "marks", "long", "pairs",
		"under", "others", "elsewhere", // counted again
		"foldAt", "emptyAt", "first", "firstCycle", // found again
		"late", "queued", "passed", "pending", "sent", // added up before
		"handed",                                                                                     // counts while a packet is delivered
		"whole", "parts", "domain", "graph", "pairRow", "meter", "OnPacket", "Sources", "unobserved", // made before
		"least", "foldIn", "emptyIn", "perStep", "roundUp") // follow from the settings
	snapshottest.Names[Tracer](t, "numbers", "matched", "live", "kept", "started",
		"unobserved", "parts", "plan", "meter", "OnPacket", "fabric", "source", "given", // made before
		"spare")
	snapshottest.Names[life](t, "PacketTrace", "path")
	snapshottest.Names[crossings](t, "hops", "next")
	snapshottest.Names[levelMeter](t, "tallies", "routing", "levels")
	snapshottest.Names[runner](t, "f", "plan", "ctx", "watch", "statistics", "result", "course", "write", "trace")
	snapshottest.Names[OpenLoop](t, "sources", "pattern", "process", "sizes", "stop")
	snapshottest.Names[openSource](t, "next", "births", "contents", "state")
	snapshottest.Names[workloadChange](t, "before", "after", "through", "hears", "at")
	snapshottest.Names[extras](t, "faults", "observer", "multicast", "labels")
	snapshottest.Names[faults](t, "origin", "now", "known", "sourcePackets", "senders", "doomed", "Routing", "down", "part", "fabric", "plan", "whole") // what follows senders is found again, or made before
	snapshottest.Names[retry](t, "unused", "pending", "tally", "heard", "domain", "x", "source", "sink", "discarding", "lost")                          // heard has been taken between cycles
	snapshottest.Names[sender](t, "timers", "first")
	snapshottest.Names[timer](t, "end", "sourcePacket")
	snapshottest.Names[inVC](t, "queued", "last", "count", "out", "ready")
	snapshottest.Names[buffered](t, "next", "queued")
	snapshottest.Names[lanePort](t, "arbiter", "holder", "arbitrated", "open", "ok", "choice", "ready") // the last count within a step
	snapshottest.Names[laneQueues](t, "arbiter", "queues", "waiting", "arbitrated")                     // the last follows from the settings
	snapshottest.Names[laneQueue](t, "lanes", "packets", "first")                                       // first: those that have left are left out
	snapshottest.Names[moving](t, "toTerminals", "toSwitches", "credits", "held", "behind", "schedules", "events", "tails", "wakes")
	snapshottest.Names[sensing](t, "probes", "witness", "delayed")
	snapshottest.Names[holds](t, "ports", "bodies")
	snapshottest.Names[behind](t, "soon", "until", "slots")
	snapshottest.Names[packetTable](t, "chunks", "inflows", "used")
	snapshottest.Names[label](t, "trim", "level", "marked", "entropy")
	snapshottest.Names[marker](t, "policies", "leaving", "unobserved") // the last two count within a step
	snapshottest.Names[registered](t, "reads", "requests", "matches", "chosen")
	snapshottest.Names[packetUnit](t, "credits", "streams", "flows", "schedules", "events",
		"slopes", "creditRate", "stepRate", "watched", "timed", // the last five follow from the settings
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
		"handed", "sent", // handed over when cycles have been simulated
		"routesAhead", "plain", "vcSpecial", // follow from the settings
		"flitRuns", // are disbanded before
		"decides",  // is found again
		"worked")
	snapshottest.Names[Fabric](t, "cycle", "state", "Counters", "network", "extras", "hold", "unit", "domains", "workers", "source", "checkAt",
		"hostModel") // made before
}
