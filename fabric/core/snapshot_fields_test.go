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
	snapshottest.Names[followed](t, "passing", "tails", "seen", "polls")                                                               // the last but one counts within a cycle, the last follows from the settings
	snapshottest.Names[faults](t, "origin", "now", "known", "senders", "doomed", "Routing", "down", "part", "fabric", "plan", "whole") // what follows senders is found again, or made before
	snapshottest.Names[retry](t, "unused", "pending", "tally", "heard", "domain", "x", "source", "sink", "discarding", "lost")         // heard has been taken between cycles
	snapshottest.Names[sender](t, "timers", "first")
	snapshottest.Names[timer](t, "end", "sourcePacket")
	snapshottest.Names[InVC](t, "Queued", "Last", "Count", "Out", "Ready")
	snapshottest.Names[lanePort](t, "arbiter", "holder", "arbitrated", "open", "ok", "choice", "ready") // the last count within a step
	snapshottest.Names[laneQueues](t, "arbiter", "queues", "waiting", "arbitrated")                     // the last follows from the settings
	snapshottest.Names[laneQueue](t, "lanes", "packets", "first")                                       // first: those that have left are left out
	snapshottest.Names[sensing](t, "probes", "witness", "delayed")
	snapshottest.Names[holds](t, "ports", "bodies")
	snapshottest.Names[behind](t, "soon", "until", "slots")
	snapshottest.Names[packetTable](t, "records", "inflows", "recordIDs")
	snapshottest.Names[label](t, "level", "marked", "entropy")
	snapshottest.Names[marker](t, "policies", "leaving", "Unobserved")                          // the last two count within a step
	snapshottest.Names[sampler](t, "rows", "Unobserved", "parts", "f", "plan", "window", "own") // those after rows are made before
	snapshottest.Names[registered](t, "reads", "requests", "matches", "chosen")
	snapshottest.Names[packetUnit](t, "credits", "streams", "flows", "schedules", "events",
		"slopes", "creditRate", "stepRate", "timed", // the last four follow from the settings
		"quiet", // found again
		"swept", // none before the first cycle after
		"Followed",
		"step", "tails") // count within a cycle
	snapshottest.Names[state](t, "Queues", "OutVC", "Out", "in", "Masks", "seconds", "came", "waitNext", "acceptOV", "Upcoming", "Terminals", "packets",
		"labels", "SourcePackets", "streams", "departures", "sensing", "crossed", "marked", "lanes", "laneQueues", "allocators")
	snapshottest.Names[Domain](t, "hardware", "clock", "links", "switches", "terminals", "packetPool", "Counters", "multicast", "hold", "Unit", "retry",
		"sight", "forms", "alone", "observer") // made before
	snapshottest.Names[hardware](t, "network", "state")
	snapshottest.Names[clock](t, "Cycle", "Steps", "worked", "purged") // the last counts at the beginning of a window
	snapshottest.Names[links](t, "Flits", "credits", "held",
		"late", "unfiled", // count within a step
		"handed", "heard", "turn", "sent") // handed over when cycles have been simulated
	snapshottest.Names[switches](t, "behind", "doomed",
		"Mine", "active", "Pool", // follow from the rest
		"Matcher", "registered", "decided", "leaving") // count within a cycle
	snapshottest.Names[terminals](t, "wakes",
		"Ends", "source", "prefetcher", "listens", "sink", "listener", // made before
		"woken", "departing", "spec", "delivery") // count within a cycle
	snapshottest.Names[packetPool](t, "packetFree", "touched") // follow from the rest
	snapshottest.Names[Fabric](t, "cycle", "hardware", "Counters", "Faults", "observer", "multicast", "hold", "unit", "domains", "workers", "attached", "checkAt",
		"hostModel", "probes") // made before
}
