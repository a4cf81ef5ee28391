package fabric

import (
	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Needs is what a routing needs of the network beyond what every routing is given. The fabric
// keeps for a network only what its routing declares; a view that is asked for more panics
// with the routing's name.
type Needs struct {
	// Queues: queue lengths are read through [View], and credits with them.
	Queues bool
	// Credits: credits are read, and no queue lengths. Where packets are the unit their credits
	// are kept for every port then, and every flit goes by itself.
	Credits bool
	// Crossed: of Queues, what has crossed the switch is read by itself ([Queues.Crossed]).
	Crossed bool
	// Greedy: of Queues, all decisions of a cycle at a switch see the queues as they were before
	// the first of them (a parallel allocator). Without it each sees those made before it.
	Greedy bool
	// Sent: what ports have sent is read ([Queues].Sent); the lengths of all queues are kept for
	// it. Marked: what they have marked ([Queues].Marked).
	Sent, Marked bool
	// Packets: of packets, more is read than their destination: [Head].Src, Level, Entropy and
	// Marked.
	Packets bool
	// Losses: packets are dropped ([Discard]) and trimmed ([Hop].Trim), without faults, too.
	// Only workloads that bear losses run ([BearsLosses]).
	Losses bool
	// Departs: packets are decided as they leave their terminals, by a [Departer].
	Departs bool
	// SensesCredits: credit round-trip sensing is on where switch.credit_sensing is "auto".
	SensesCredits bool
	// HeldSlots: of SensesCredits, a flit goes on waiting, as [View] shows it, until sensing lets
	// its credit go: its slot is occupied for that long.
	HeldSlots bool
}

// Needer is implemented by routings that need something.
type Needer interface{ Needs() Needs }

// NeedsOf is what a routing declares; nothing, if it is no [Needer].
func NeedsOf(r Routing) Needs {
	if n, ok := r.(Needer); ok {
		return n.Needs()
	}
	return Needs{}
}

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

// TerminalArbitration is implemented by routings that know how terminals choose between
// their virtual channels, as those of imported subnets may.
type TerminalArbitration interface {
	// ArbitratesTerminals tells whether any terminal has tables.
	ArbitratesTerminals() bool
	// TerminalTables are those of terminal t; nil: none of its own, so that those of the
	// settings count. They must not change.
	TerminalTables(t topology.TerminalID) *arbitration.Tables
}
