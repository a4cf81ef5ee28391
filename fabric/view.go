package fabric

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// View is what a routing may see of the network when it decides. Counts of the
// deciding switch are those of the cycle's beginning; decisions made before at
// this switch in this cycle are counted as waiting already, unless the routing
// declares Needs.Greedy. Counts of other switches are exact too, but those with
// lower numbers have done their work of this cycle. Real switches know only
// their own ports; routings that read others are ideal by design (UGAL-G) and
// say so.
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

// VCs is the number of virtual channels of every channel that unicast packets may
// use.
func (v *View) VCs() int { return v.vcs }

// AllVCs is the set of those virtual channels.
func (v *View) AllVCs() uint32 { return 1<<v.vcs - 1 }

// Narrow shows only so many virtual channels from first on, numbered from 0. What is said of a
// port as a whole stays that of all of its channels.
func (v *View) Narrow(first, count int) { v.first, v.vcs = first, count }

// Credits is that of [Queues], among the channels that are shown; so are those below.
func (v *View) Credits(p topology.PortID, vc int) int { return v.Queues.Credits(p, v.first+vc) }

// Outstanding is that of [Queues].
func (v *View) Outstanding(p topology.PortID, vc int) int { return v.Queues.Outstanding(p, v.first+vc) }

// Waiting is that of [Queues].
func (v *View) Waiting(p topology.PortID, vc int) int { return v.Queues.Waiting(p, v.first+vc) }

// Crossed is that of [Queues].
func (v *View) Crossed(p topology.PortID, vc int) int { return v.Queues.Crossed(p, v.first+vc) }

// Room is that of [Queues].
func (v *View) Room(p topology.PortID, flits int32) uint32 {
	return v.Queues.Room(p, flits) >> v.first & v.AllVCs()
}

// Cycle is the present cycle of the flit clock.
func (v *View) Cycle() int64 { return *v.cycle }

// Memory is what the network has learned, of the kind that its [Learner] makes.
func (v *View) Memory() Memory { return v.memory }

// Random is the random stream of routing decisions at switch s or, while a
// [Departer] decides, at the terminal.
func (v *View) Random(s topology.SwitchID) *sim.Stream {
	if v.terminal != nil {
		return v.terminal
	}
	return &v.streams[s]
}

// At makes Random that of a terminal, until it is called with nil. It is for what simulates
// the network.
func (v *View) At(terminal *sim.Stream) { v.terminal = terminal }

// AtTerminal tells whether a [Departer] decides.
func (v *View) AtTerminal() bool { return v.terminal != nil }

// Queues is what a [View] shows of the queues and channels of switches.
type Queues interface {
	// Credits is the number of free flit slots, as known here, in the buffer that
	// channel (p, vc) leads to; terminals without buffers of their own have very many.
	Credits(p topology.PortID, vc int) int
	// Outstanding is the number of flits sent on channel (p, vc) whose credit has
	// not come back: in flight, in the downstream buffer, or as credits in flight.
	Outstanding(p topology.PortID, vc int) int
	// OutstandingAll sums Outstanding over the virtual channels of p.
	OutstandingAll(p topology.PortID) int
	// OutstandingPorts lists OutstandingAll of every port of the deciding switch s, in their
	// order, 0 for terminals. It is for routings that compare many: the counts are worked out
	// once for all packets that are decided on together, and are not to be kept or written to.
	// Cost: linear in the virtual channels of the switch, once.
	OutstandingPorts(s topology.SwitchID) []int32
	// Waiting is the number of flits in p's switch that have been routed to leave
	// by p on virtual channel vc (the lowest allowed one, where the routing allowed
	// several) and have not left it, whether they have crossed the switch or not;
	// with Needs.HeldSlots, also those that have left and whose credits are held
	// back.
	Waiting(p topology.PortID, vc int) int
	// Crossed is the number of those that have crossed p's switch, among the flits
	// Waiting. Only with Needs.Crossed.
	Crossed(p topology.PortID, vc int) int
	// WaitingAll sums Waiting over the virtual channels of p.
	WaitingAll(p topology.PortID) int
	// LoadAll is WaitingAll and OutstandingAll together, for the price of one.
	LoadAll(p topology.PortID) int
	// LoadPorts lists LoadAll of some ports with consecutive numbers, for routings that compare
	// many: what it takes comes from memory at once. It is valid until the next call of View.
	LoadPorts(first topology.PortID, count int) []int32
	// Sent is the number of flits that have left by port p so far, and Marked that of the packets
	// that it has marked, modulo 2^32; 0 without switch.marking. Only with Needs.Sent and
	// Needs.Marked.
	Sent(p topology.PortID) uint32
	Marked(p topology.PortID) uint32
	// CyclesPerFlit is how long a flit occupies the channel out of port p.
	CyclesPerFlit(p topology.PortID) float64
	// Room is the set of virtual channels of port p that a packet of so many flits
	// at p's switch could be given now; for an [EscapeRouting].
	Room(p topology.PortID, flits int32) uint32
	// CreditRoundTrip is t_crt of port p in cycles, the time that the last timed
	// flit's credit took to come back, and t_d, by how much that exceeds the
	// shortest one seen. Both are 0 where credit sensing is off or has not
	// measured yet.
	CreditRoundTrip(p topology.PortID) (cycles, excess int)
}
