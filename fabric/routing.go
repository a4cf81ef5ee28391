package fabric

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Routing chooses the way of packets. One value serves a whole fabric; it must
// be safe for concurrent calls of Route for different switches, so what it
// keeps is read-only and what varies travels in the packet's State.
type Routing interface {
	// VCs is the number of virtual channels that freedom from deadlock needs.
	VCs() int
	// InjectionVCs is the set of virtual channels, bit v for channel v, on
	// which terminals may inject when channels have vcs of them.
	InjectionVCs(vcs int) uint32
	// Route is asked once per packet and switch, when the packet's head
	// reaches the front of its buffer. It returns the output port and the
	// virtual channels allowed there, and may change h.State. At the
	// packet's last switch it returns the terminal's port.
	Route(v View, h *Head) Hop
}

// Head is what a routing may know of a packet.
type Head struct {
	Switch topology.SwitchID   // where the head is
	In     topology.PortID     // port that it came in by; the source terminal's at the first switch
	VC     uint8               // virtual channel that it came in on
	Dst    topology.TerminalID // destination
	// State is the routing's own memory of the packet: 24 bits, 0 at the
	// source. Bit [NonMinimal] is also read by the statistics.
	State uint32
	Flits int32 // the packet's length, where an EscapeRouting decides again; else 0
}

const (
	// StateBits is the number of low bits of Head.State that a routing may
	// use, NonMinimal included.
	StateBits = 24
	// NonMinimal marks in Head.State a packet that was sent by a
	// non-minimal path.
	NonMinimal uint32 = 1 << 23
)

// Hop is a routing decision: an output port of the switch and the virtual
// channels that may be used behind it (bit v for channel v; never empty).
type Hop struct {
	Port topology.PortID
	VCs  uint32
}

// Discard is the decision that a packet can go nowhere. Only for networks with
// faults.
var Discard = Hop{Port: topology.NoPort}

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

// Departer is implemented by routings that can decide when a packet leaves its
// terminal, with a view of the switch there, so that the decision may choose
// the virtual channel of injection too.
type Departer interface {
	DecidesAtTerminals() bool
	// Depart is asked once per packet, when it is the next of its terminal
	// and the channel is free; h is the head as it will arrive at the switch.
	// It may change h.State and returns the virtual channels allowed on the
	// terminal's channel.
	Depart(v View, h *Head) uint32
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

// Explorer is implemented by routings whose every possible decision can be
// listed without running: the deadlock certificate and the channel-load bounds
// are built from it.
type Explorer interface {
	// Explore calls yield with each hop that Route could return for h, in
	// any network state, and with the packet's State after it. Equal hops
	// may be repeated; for a packet that is discarded there are none. weight is the probability of the hop where the choice
	// is oblivious (the weights of one call then add up to 1), and 0 where it
	// depends on the state of the network.
	Explore(vcs int, h Head, yield func(hop Hop, state uint32, weight float64))
}
