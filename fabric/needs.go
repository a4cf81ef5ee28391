package fabric

import (
	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/snapshot"
)

// RemoteReader is implemented by routings that read, at one switch, the state of
// others. What they read must be of this very cycle, so that the switches have to
// be in one domain.
type RemoteReader interface {
	// ReadsWithin tells whether all that is read at any switch is in the
	// switch's own domain. domain is by switch.
	ReadsWithin(domain []int) bool
}

// LaneArbitration is implemented by routings that know how ports choose between
// their virtual channels, as those of imported subnets may.
type LaneArbitration interface {
	// ArbitratesLanes tells whether any port has tables.
	ArbitratesLanes() bool
	// ArbitrationTables are those of the channel out of port p; nil: none of its own,
	// so that of the settings counts. They must not change.
	ArbitrationTables(p topology.PortID) *arbitration.Tables
}

// LevelReader is implemented by routings whose packets have InfiniBand's service
// levels.
type LevelReader interface {
	// Level is the service level of packets from src to dst: 0 to 15.
	Level(src, dst topology.TerminalID) int
}

// OccupancyReader is implemented by routings that read queue lengths through
// [View]; only for them does the fabric keep the counters.
type OccupancyReader interface{ ReadsOccupancy() bool }

// CreditReader is implemented by routings that read credits through [View] and are no
// occupancy readers: only for them, for occupancy readers and for escape routings does
// the fabric keep the credits of packets on their way, where packets are the unit, and let
// every flit go by itself, where convoys are possible.
type CreditReader interface{ ReadsCredits() bool }

// GreedyDecider is implemented by occupancy readers that want all decisions
// of a cycle at a switch to see the queues as they were before the first of
// them (a parallel allocator). Without it each sees those made before it.
type GreedyDecider interface{ DecidesGreedily() bool }

// Learner is implemented by routings that learn while packets move. What is learned
// belongs to a network, not to the routing, which many share.
type Learner interface {
	// NewMemory makes what a network knows before its first cycle; latency is that of
	// the channel out of a port, in cycles. [View.Memory] shows it. Calls of Route for
	// different switches come from different threads, up to one cycle more apart than
	// the latency of any channel between them; what one writes for another must be
	// guarded, and be looked at only once it could have come over the channel like a
	// credit, 1 + latency cycles later.
	NewMemory(latency func(topology.PortID) int64) Memory
	// Notes is the set of bits of Head.State in which the routing notes what it
	// learns from. What Explore lists does not depend on them, and leaves them 0.
	Notes() uint32
}

// Memory is what the switches of one network have learned.
type Memory interface {
	// Archive writes it, or reads it into a new one of the same routing, between two
	// cycles.
	Archive(a *snapshot.Archive)
}

// CreditSenser is implemented by routings that rely on credit round-trip
// sensing; they switch it on where switch.credit_sensing is "auto".
type CreditSenser interface{ SensesCredits() bool }

// TerminalArbitration is implemented by routings that know how terminals choose between
// their virtual channels, as those of imported subnets may.
type TerminalArbitration interface {
	// ArbitratesTerminals tells whether any terminal has tables.
	ArbitratesTerminals() bool
	// TerminalTables are those of terminal t; nil: none of its own, so that those of the
	// settings count. They must not change.
	TerminalTables(t topology.TerminalID) *arbitration.Tables
}

// SlotCounter is implemented by credit sensers for which a flit goes on
// waiting, as [View] shows it, until sensing lets its credit go: its slot is
// occupied for that long.
type SlotCounter interface{ CountsHeldSlots() bool }

// CrossedReader is implemented by occupancy readers that read [View.Crossed].
type CrossedReader interface{ ReadsCrossed() bool }
