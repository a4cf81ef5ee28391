package fabric

import (
	"slices"

	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// EscapeRouting is implemented by adaptive routings whose packets wait for channels of several
// ports, one of them an escape channel, which keeps them free from deadlock (Duato, IEEE TPDS 1993
// and 1995).
//
// The packet at the front of a buffer that cannot be given any virtual channel of its decision is
// decided again, in every step until it can. Under wormhole flow control virtual channels other
// than the escape ones are given to a packet only while their buffer is empty, as Duato's condition
// assumes: a packet that has come in behind another one depends on that one's escape channel, not
// on its own. Such routings keep no counts of what waits (they are no Needs.Queues).
type EscapeRouting interface {
	Routing
	// EscapeVCs is the set of escape virtual channels, in all channels between switches.
	EscapeVCs(vcs int) uint32
	// Reroute decides about a packet again; h.State is the last decision's. It must return an
	// escape hop where [View.Room] shows no other that the packet could take at once.
	Reroute(v *View, h *Head) Hop
}

// GraphRouting is implemented by routings made for one graph; [core.New] refuses another.
type GraphRouting interface{ Graph() *topology.Graph }

// Routing chooses the way of packets. One value serves a whole fabric; Route must be safe for
// concurrent calls for different switches, so what it keeps is read-only, and what varies is in the
// packet's State.
type Routing interface {
	// VCs is the number of virtual channels that freedom from deadlock needs.
	VCs() int
	// InjectionVCs is the set of virtual channels, bit v for channel v, on which terminals may
	// inject, of vcs.
	InjectionVCs(vcs int) uint32
	// Route is asked once per packet and switch, when the packet's head reaches the front of its
	// buffer. It returns the output port and the virtual channels allowed there, and may change
	// h.State. At the packet's last switch it returns the terminal's port.
	Route(v *View, h *Head) Hop
}

// Head is what a routing may know of a packet.
type Head struct {
	Switch topology.SwitchID   // where the head is
	In     topology.PortID     // port that it came in by; the source terminal's at the first switch
	VC     uint8               // virtual channel that it came in on
	Dst    topology.TerminalID // destination
	// State is the routing's memory of the packet: 24 bits, 0 at the source. Statistics read bit
	// [NonMinimal].
	State uint32
	Flits int32 // the packet's length, where an EscapeRouting decides again; else 0

	// With Needs.Packets only: the sender, the level and the entropy that it gave ([PacketSpec]),
	// and whether a port has marked the packet. [Explorer]'s hops do not depend on them.
	Src     topology.TerminalID
	Level   uint8
	Marked  bool
	Entropy uint16
}

const (
	// StateBits is the low bits of Head.State that a routing may use, NonMinimal included.
	StateBits = 24
	// NonMinimal marks in Head.State a packet that was sent by a non-minimal path.
	NonMinimal uint32 = 1 << 23
)

// Hop is a routing decision: an output port of the switch, and the virtual channels allowed behind
// it (bit v for channel v; not empty).
type Hop struct {
	Port topology.PortID
	VCs  uint32
}

// Discard sends a packet nowhere: in a network with faults there is no path for it.
var Discard = Hop{Port: topology.NoPort}

// Departer is implemented by routings that can decide when a packet leaves its terminal, where
// their [Needs] say so, with a view of the switch: they may also choose the injection channel.
type Departer interface {
	// Depart is asked once per packet, when it is next at its terminal and the channel is free; h
	// is the head as it arrives at the switch. It may change h.State, and returns the virtual
	// channels allowed.
	Depart(v *View, h *Head) uint32
}

// Explorer is implemented by routings whose possible decisions can be listed without running:
// deadlock certificates and channel-load bounds use it.
type Explorer interface {
	// Explore calls yield with each hop that Route could return for h, in any network state, and
	// with the packet's State after it. Equal hops may be repeated; for a packet that is discarded
	// there are none. weight is the probability of the hop where the choice is oblivious (the
	// weights of one call then add up to 1), and 0 where it depends on the state of the network.
	Explore(vcs int, h Head, yield func(hop Hop, state uint32, weight float64))
}

// Needs is what a routing needs of the network beyond what every routing is given. The fabric
// keeps for a network only what its routing declares; a view that is asked for more panics
// with the routing's name.
type Needs struct {
	// Queues: queue lengths are read through [View], and credits with them.
	Queues bool
	// Credits: credits are read, and no queue lengths. With packets as the unit they are then kept
	// for every port, and flits go one by one.
	Credits bool
	// Crossed: of Queues, what has crossed the switch is read by itself ([Queues.Crossed]).
	Crossed bool
	// Greedy: of Queues, all decisions of a cycle at a switch see the queues before the first of
	// them (a parallel allocator). Otherwise each sees earlier ones.
	Greedy bool
	// Sent: what ports have sent is read ([Queues].Sent), and all queues' lengths are kept. Marked:
	// what they have marked ([Queues].Marked).
	Sent, Marked bool
	// Packets: a packet's [Head].Src, Level, Entropy and Marked are read, beyond its destination.
	Packets bool
	// Departs: packets are decided as they leave their terminals, by a [Departer].
	Departs bool
	// SensesCredits: credit round-trip sensing is on where switch.credit_sensing is "auto".
	SensesCredits bool
	// HeldSlots: of SensesCredits, a flit waits, as [View] shows it, until sensing lets its credit
	// go: its slot is occupied as long.
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

// RemoteReader is implemented by routings that read, at one switch, the state of others in this
// very cycle: these must be in one domain.
type RemoteReader interface {
	// ReadsWithin tells whether all reads stay in the switch's own domain. domain is by switch.
	ReadsWithin(domain []int) bool
}

// LaneArbitration is implemented by routings that know how ports choose between virtual channels,
// such as imported subnets'.
type LaneArbitration interface {
	// ArbitratesLanes tells whether any port has tables.
	ArbitratesLanes() bool
	// ArbitrationTables are the tables of the channel out of port p; nil: the settings'. They must
	// not change.
	ArbitrationTables(p topology.PortID) *arbitration.Tables
}

// LevelReader is implemented by routings whose packets have InfiniBand's service levels.
type LevelReader interface {
	// Level is the service level of packets from src to dst: 0 to 15.
	Level(src, dst topology.TerminalID) int
}

// Learner is implemented by routings that learn while packets move. What is learned is a network's,
// not the routing's, which many share.
type Learner interface {
	// NewMemory makes what a network knows before its first cycle; latency is that of the channel
	// out of a port, in cycles. [View.Memory] shows it. Calls of Route for different switches come
	// from different threads, up to one cycle more apart than the latency of any channel between
	// them; what one writes for another must be guarded, and be looked at only once it could have
	// come over the channel like a credit, 1 + latency cycles later.
	NewMemory(latency func(topology.PortID) int64) Memory
	// Notes is the bits of Head.State in which the routing notes what it learns from. Explore does
	// not depend on them, and leaves them 0.
	Notes() uint32
}

// Memory is what the switches of one network have learned.
type Memory interface {
	// Archive writes it, or reads it into a new one of the same routing, between two cycles.
	Archive(a *snapshot.Archive)
}

// TerminalArbitration is implemented by routings that know how terminals choose between virtual
// channels, such as imported subnets'.
type TerminalArbitration interface {
	// ArbitratesTerminals tells whether any terminal has tables.
	ArbitratesTerminals() bool
	// TerminalTables are the tables of terminal t; nil: the settings'. They must not change.
	TerminalTables(t topology.TerminalID) *arbitration.Tables
}

// MulticastTable is a switch's multicast forwarding table (MFT): the ports that a packet of an MLID
// leaves by, but the one it came in by.
type MulticastTable struct {
	// MLIDs are ascending, from 0. With a table for each port an MLID may occur again with other
	// ports: the row with the port of arrival holds.
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

// View is what a routing may see of the network when it decides. Counts of the deciding switch are
// those of the cycle's beginning; decisions made before at this switch in this cycle are counted as
// waiting already, unless the routing declares Needs.Greedy. Counts of other switches are exact
// too, but those with lower numbers have done their work of this cycle. Real switches know only
// their own ports; routings that read others are ideal by design (UGAL-G) and say so.
type View struct {
	graph    *topology.Graph
	first    int // virtual channel that is 0 for the routing
	vcs      int
	cycle    *int64
	memory   Memory
	streams  []sim.Stream
	terminal *sim.Stream // of the terminal that a packet is to leave; nil: of switches
	Queues
}

// Sight is what a [View] shows that does not change in a cycle.
type Sight struct {
	Graph   *topology.Graph
	VCs     int          // of every channel, that unicast packets may use
	Cycle   *int64       // the present one
	Memory  Memory       // of a [Learner]; nil: none
	Streams []sim.Stream // of routing decisions, by switch
}

// NewView makes a view of a network; routings are tested with one.
func NewView(s Sight, q Queues) View {
	return View{s.Graph, 0, s.VCs, s.Cycle, s.Memory, s.Streams, nil, q}
}

// Graph is the network.
func (v *View) Graph() *topology.Graph { return v.graph }

// VCs is the number of virtual channels of every channel that unicast packets may use.
func (v *View) VCs() int { return v.vcs }

// AllVCs is the set of those virtual channels.
func (v *View) AllVCs() uint32 { return 1<<v.vcs - 1 }

// Narrow shows only count virtual channels from first on, numbered from 0. Whole ports are shown as
// before.
func (v *View) Narrow(first, count int) { v.first, v.vcs = first, count }

// Credits is [Queues.Credits] of the channels that are shown; so are the methods below.
func (v *View) Credits(p topology.PortID, vc int) int { return v.Queues.Credits(p, v.first+vc) }

// Outstanding is [Queues.Outstanding].
func (v *View) Outstanding(p topology.PortID, vc int) int { return v.Queues.Outstanding(p, v.first+vc) }

// Waiting is [Queues.Waiting].
func (v *View) Waiting(p topology.PortID, vc int) int { return v.Queues.Waiting(p, v.first+vc) }

// Crossed is [Queues.Crossed].
func (v *View) Crossed(p topology.PortID, vc int) int { return v.Queues.Crossed(p, v.first+vc) }

// Room is [Queues.Room].
func (v *View) Room(p topology.PortID, flits int32) uint32 {
	return v.Queues.Room(p, flits) >> v.first & v.AllVCs()
}

// Cycle is the present cycle of the flit clock.
func (v *View) Cycle() int64 { return *v.cycle }

// Memory is what the network has learned, of the kind that its [Learner] makes.
func (v *View) Memory() Memory { return v.memory }

// Random is the stream of routing decisions at switch s or, while a [Departer] decides, the
// terminal.
func (v *View) Random(s topology.SwitchID) *sim.Stream {
	if v.terminal != nil {
		return v.terminal
	}
	return &v.streams[s]
}

// At makes Random draw from a terminal's stream (nil: no more). It is for the network's simulator.
func (v *View) At(terminal *sim.Stream) { v.terminal = terminal }

// AtTerminal tells whether a [Departer] decides.
func (v *View) AtTerminal() bool { return v.terminal != nil }

// Queues is what a [View] shows of the queues and channels of switches.
type Queues interface {
	// Credits is the free flit slots, as known here, in the buffer behind channel (p, vc); very
	// many for terminals without buffers.
	Credits(p topology.PortID, vc int) int
	// Outstanding is the flits sent on channel (p, vc) whose credit has not come back: in flight,
	// in the buffer, or as credits in flight.
	Outstanding(p topology.PortID, vc int) int
	// OutstandingAll sums Outstanding over the virtual channels of p.
	OutstandingAll(p topology.PortID) int
	// OutstandingPorts lists OutstandingAll of every port of the deciding switch s, in their
	// order, 0 for terminals. It is for routings that compare many: the counts are worked out
	// once for all packets that are decided on together, and are not to be kept or written to.
	// Cost: linear in the virtual channels of the switch, once.
	OutstandingPorts(s topology.SwitchID) []int32
	// Waiting is the number of flits in p's switch that have been routed to leave by p on virtual
	// channel vc (the lowest allowed one, where the routing allowed several) and have not left it,
	// whether they have crossed the switch or not; with Needs.HeldSlots, also those that have left
	// and whose credits are held back.
	Waiting(p topology.PortID, vc int) int
	// Crossed is the number of Waiting's flits that have crossed p's switch. Only with
	// Needs.Crossed.
	Crossed(p topology.PortID, vc int) int
	// WaitingAll sums Waiting over the virtual channels of p.
	WaitingAll(p topology.PortID) int
	// LoadAll is WaitingAll and OutstandingAll together, for the price of one.
	LoadAll(p topology.PortID) int
	// LoadPorts lists LoadAll of consecutive ports, for routings that compare many, with one access
	// to memory. It is valid until the next call of View.
	LoadPorts(first topology.PortID, count int) []int32
	// Sent is the flits that have left by port p so far, and Marked the packets that it has marked,
	// modulo 2^32; 0 without switch.marking. Only with Needs.Sent and Needs.Marked.
	Sent(p topology.PortID) uint32
	Marked(p topology.PortID) uint32
	// CyclesPerFlit is how long a flit occupies the channel out of port p.
	CyclesPerFlit(p topology.PortID) float64
	// Room is the virtual channels of port p that a packet of so many flits could get now; for an
	// [EscapeRouting].
	Room(p topology.PortID, flits int32) uint32
	// CreditRoundTrip is port p's t_crt in cycles (the time of the last timed flit's credit) and
	// t_d (its excess over the shortest seen); both 0 without credit sensing or before it has
	// measured.
	CreditRoundTrip(p topology.PortID) (cycles, excess int)
}
