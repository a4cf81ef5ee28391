package fabric

import "github.com/weft-sim/weft/fabric/topology"

// FaultPlan is what fails in a run, and what is done about it.
//
// From the cycle of a failure on its channels carry nothing. Packets of which
// some part is on such a channel, waits for it behind the crossbar, or stands in
// its switch and was routed to it are discarded, and so are those that are
// routed to it until the routing knows: switches of InfiniBand discard what
// waits for a port that is not active. A packet is discarded whole and at once,
// wherever its flits are, and its credits are back at once; in hardware a
// truncated packet goes on to its destination, closed by an error, and takes
// bandwidth on the way. Credits on a failed link are not lost: links agree on
// them anew when they come back.
type FaultPlan struct {
	// Periods tells what is down when, from cycle 0 on.
	Periods []topology.Period
	// AfterWarmup tells that all periods but the first count their cycles from the end of the
	// warm-up of [measure.Run]; the first lasts until then.
	AfterWarmup bool
	// Routing is the routing of each period (len = len(Periods)), all of the same
	// algorithm and with the same virtual channels. The first is the fabric's.
	Routing []Routing
	// Reroute is the number of cycles from a change until the routing goes by
	// it.
	Reroute int64
	// Timeout is the number of cycles after which a packet that has not been
	// acknowledged is sent again, Retries times at most.
	Timeout int64
	Retries int
}

// FaultTally counts what became of packets in a network with faults. Every
// packet that was born is delivered once, unreachable or lost; every
// transmission of one is delivered or dropped.
type FaultTally struct {
	Dropped       int64 // transmissions discarded in the network
	Retransmitted int64 // transmissions that repeat another
	Duplicates    int64 // transmissions delivered that had been before
	Lost          int64 // packets given up, the last transmission of which was dropped
	Unreachable   int64 // packets given up for want of a path
	GivenUpFlits  int64 // of lost and unreachable packets
	WastedFlits   int64 // delivered, but of duplicates or of packets that were not delivered whole
}

// Add sums two tallies up.
func (t *FaultTally) Add(o FaultTally) {
	t.Dropped += o.Dropped
	t.Retransmitted += o.Retransmitted
	t.Duplicates += o.Duplicates
	t.Lost += o.Lost
	t.Unreachable += o.Unreachable
	t.GivenUpFlits += o.GivenUpFlits
	t.WastedFlits += o.WastedFlits
}
