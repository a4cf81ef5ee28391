package fabric

import "github.com/weft-sim/weft/fabric/topology"

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
	// Trim cuts off the packet's payload: from the next cycle on its head flit is all of it.
	// Only of routings that declare [Needs].Losses.
	Trim bool
}

// Discard is the decision that a packet goes nowhere: in a network with faults there is no
// path for it, or a routing that declares [Needs].Losses drops it.
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
