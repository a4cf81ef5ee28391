package fabric

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/snapshot"
)

// EscapeRouting is implemented by adaptive routings whose packets wait for
// channels of several ports and are free from deadlock because one of them is
// an escape channel (Duato, IEEE TPDS 1993 and 1995).
//
// The packet at the front of a buffer that cannot be given any virtual channel
// of its decision is decided again, in every step until it can. Under wormhole
// flow control virtual channels other than the escape ones are given to a packet
// only while their buffer is empty, as Duato's condition assumes: a packet that
// has come in behind another one depends on that one's escape channel, not on
// its own. Such routings keep no counts of what waits (they are no
// Needs.Queues).
type EscapeRouting interface {
	Routing
	// EscapeVCs is the set of virtual channels that are escape channels, in
	// all channels between switches.
	EscapeVCs(vcs int) uint32
	// Reroute decides about a packet again; h.State is as the last decision
	// left it. It must return an escape hop where [View.Room] shows no other
	// that the packet could take at once.
	Reroute(v *View, h *Head) Hop
}

// GraphRouting is implemented by routings that are made for one graph, as those
// of package routing are; [core.New] refuses another.
type GraphRouting interface{ Graph() *topology.Graph }

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
	Route(v *View, h *Head) Hop
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

	// With Needs.Packets only: who sent the packet, the level and the entropy that it has been
	// given ([PacketSpec]), and whether a port has marked it. What [Explorer] lists does not
	// depend on them.
	Src     topology.TerminalID
	Level   uint8
	Marked  bool
	Entropy uint16
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

// Discard is the decision that a packet goes nowhere: in a network with faults there is no
// path for it.
var Discard = Hop{Port: topology.NoPort}

// Departer is implemented by routings that can decide when a packet leaves its
// terminal, and do so where their [Needs] say it, with a view of the switch there, so that the decision may choose
// the virtual channel of injection too.
type Departer interface {
	// Depart is asked once per packet, when it is the next of its terminal
	// and the channel is free; h is the head as it will arrive at the switch.
	// It may change h.State and returns the virtual channels allowed on the
	// terminal's channel.
	Depart(v *View, h *Head) uint32
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

// MulticastTable is the multicast forwarding table (MFT) of a switch: the ports
// that a packet of an MLID leaves by, except the one that it came in by.
type MulticastTable struct {
	// MLIDs are ascending, counted from 0. Where a switch has a table for each
	// port an MLID may occur more than once, with disjoint ports: the row with
	// the port of arrival holds.
	MLIDs []int32
	Ports [][]topology.PortID // len = MLIDs; ascending
}

// PortsOf are the ports of the row for an MLID and a port of arrival.
func (t *MulticastTable) PortsOf(mlid int32, in topology.PortID) (row []topology.PortID, ok bool) {
	i, found := slices.BinarySearch(t.MLIDs, mlid)
	if !found {
		return nil, false
	}
	for ; i < len(t.MLIDs) && t.MLIDs[i] == mlid; i++ {
		if _, here := slices.BinarySearch(t.Ports[i], in); here {
			return t.Ports[i], true
		}
	}
	return nil, false
}

// Misuse is what a routing or a program of terminals has done that it must not. The
// fabric panics with it, since a run cannot go on.
type Misuse struct {
	Of  string // what it is: routing, program
	By  any    // it
	Did string // and what it must do
}

func (m *Misuse) Error() string { return fmt.Sprintf("%s %T %s", m.Of, m.By, m.Did) }

// Misused is the table of experiment files that names it, and what it has done.
func (m *Misuse) Misused() (table, did string) { return m.Of, m.Did }
