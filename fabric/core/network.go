package core

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// network is what is constant from the first cycle on: the graph, the settings, the routing, and
// tables. Every domain has a copy, some hundred bytes beside the tables: reads for each flit then
// follow no pointer.
type network struct {
	vcs            int
	buffer         int32 // flits a queue holds
	terminalOV0    int32
	TerminalOut0   int32  // a terminal's sending end is state.out[terminalOut0+t]
	allVCs         uint32 // set of the virtual channels that unicast packets may use
	injection      uint32 // virtual channels that terminals may inject on; 0: asked for each packet
	RouteDelay     uint32 // steps
	VADelay        uint32 // likewise
	Combined       int32  // headFlit: heads are given a virtual channel as they win the crossbar; 0: in a stage of their own
	cutThrough     bool
	creditsBack    bool // a virtual channel is given away with all of its credits
	roomy          bool // one of the two: a head needs more than one credit
	storeForward   bool
	large          bool         // ask for memory ahead
	needs          fabric.Needs // of the routing
	watched        bool         // the routing, or who looks on, may read queues or credits
	received       int32        // buffer of a virtual channel at a terminal
	laterBack      int64        // what a credit from a terminal takes longer than one to it, in cycles; may be below 0
	paces          []pace
	leastWindow    int64 // of them
	creditInterval int64 // of a credit on its wires, in cycles << intervalShift
	Switches       []SwitchState
	WordSwitch     []int32 // switch of each mask word
	routing        fabric.Routing
	departer       fabric.Departer // nil: packets leave their terminals undecided
	departsAhead   bool            // it reads queues: terminals send and decide before anything arrives
	lead           int64           // cycles from its decision until the head can enter the channel: 1, where departsAhead and injection takes that long
	memory         fabric.Memory   // of a Learner
	escape         *escape         // nil unless the routing is an EscapeRouting

	graph      *topology.Graph
	Config     fabric.Config
	seed       uint64
	unicastVCs int   // of every channel, that unicast packets may use
	mostPorts  int32 // of a switch
	horizon    int64 // cycles that wheels file ahead
}

func (n *network) Pace(o *OutPort) *pace { return check.At(n.paces, uint32(o.pace)) }

// longestInterval is between flits of the slowest channel, in cycles << IntervalShift.
func (n *network) longestInterval() int64 {
	return lists.Most(0, n.paces, func(p pace) int64 { return p.Interval })
}

// Latency is how many cycles a channel takes.
func (n *network) Latency(o *OutPort) int64           { return int64(n.Pace(o).latency) }
func (n *network) ov(p topology.PortID, vc int) int32 { return int32(p)*int32(n.vcs) + int32(vc) }

func (n *network) terminalOV(t topology.TerminalID, vc int) int32 {
	return n.terminalOV0 + int32(t)*int32(n.vcs) + int32(vc)
}

// queueOf is the queue of virtual channel vc at input port p.
func (n *network) queueOf(p topology.PortID, vc int) int32 {
	s := &n.Switches[n.graph.PortSwitch[p]]
	return s.Queue0 + (int32(p)-s.Port0)*int32(n.vcs) + int32(vc)
}

// portOf is the port of a queue.
func (n *network) portOf(queue int32) int32 {
	sw := &n.Switches[n.WordSwitch[queue>>6]]
	return sw.Port0 + (queue-sw.Queue0)/int32(n.vcs)
}

// PlaceOf is the input port and the virtual channel of a queue.
func (n *network) PlaceOf(queue int32) (topology.PortID, int) {
	sw := &n.Switches[n.WordSwitch[queue>>6]]
	local := int(queue - sw.Queue0)
	return topology.PortID(int(sw.Port0) + local/n.vcs), local % n.vcs
}

// bufferOf is the number of flits that one virtual channel behind port p holds.
func (n *network) bufferOf(p topology.PortID) int32 {
	if n.graph.Peer[p] < 0 {
		return n.received
	}
	return n.buffer
}

// receives tells whether terminals have receive buffers and return credits.
func (n *network) receives() bool { return n.received < unboundedCredits }

// unboundedCredits stands for a receiver that takes every flit: a terminal without.
const unboundedCredits = 1 << 30

// paceOf numbers the pace of a channel with room for limit flits behind the crossbar; 0: any
// number.
func (n *network) paceOf(t fabric.ChannelTiming, limit int64) uint16 {
	interval := intervalOf(t)
	p := pace{Interval: interval, window: fabric.Never, travel: (t.Latency+1)<<IntervalShift - 1, latency: int32(t.Latency)}
	if limit > 0 && limit <= fabric.Never/interval {
		p.window = limit * interval
	}
	i := slices.Index(n.paces, p)
	if i < 0 {
		i = len(n.paces)
		n.paces = append(n.paces, p)
		n.leastWindow = min(n.leastWindow, p.window)
	}
	return uint16(i)
}

// pace is how fast channels of a kind take flits, and their latency, in cycles << intervalShift.
type pace struct {
	Interval int64 // time of a flit on the channel
	window   int64 // how far ahead of the clock outPort.nextFree may be for one more flit to join those behind the crossbar
	travel   int64 // from when a flit leaves until its latency has passed, to be cut to whole cycles
	latency  int32 // cycles
	slope    uint8 // interval in packetUnit.slopes
}

// escape is what a network keeps for an EscapeRouting.
type escape struct {
	routing fabric.EscapeRouting
	whole   uint32 // virtual channels that are given away only while their buffer is empty
}

func newEscape(n *network, r fabric.EscapeRouting) *escape {
	if n.needs.Queues {
		panic("core: a routing with escape channels cannot read occupancy")
	}
	e := &escape{routing: r}
	if !n.cutThrough {
		e.whole = n.allVCs &^ r.EscapeVCs(n.vcs)
	}
	return e
}

// creditIntervalOf is the time that a credit takes the wires, in cycles << intervalShift.
func creditIntervalOf(perCycle int) int64 {
	if perCycle == 0 {
		return 0
	}
	return (1<<IntervalShift + int64(perCycle) - 1) / int64(perCycle)
}

func (n *network) Graph() *topology.Graph { return n.graph }

func (n *network) VCs() int { return n.vcs }

// misuse panics with what the routing has done.
func (n *network) misuse(format string, args ...any) {
	panic(&param.Misuse{Of: "routing", By: n.routing, Did: fmt.Sprintf(format, args...)})
}

// badHop reports a routing that breaks its contract.
func (n *network) badHop(h *fabric.Head, hop fabric.Hop) {
	if hop == fabric.Discard {
		n.misuse("discards a packet for terminal %d at %s, in a network without faults: a packet may be discarded (fabric.Discard) only where faults leave it no path; return a port", h.Dst, n.graph.SwitchName(h.Switch))
	}
	n.misuse("sent a packet for terminal %d at %s, virtual channel %d, state %#x, to port %d, virtual channels %#b: want a port of that switch, and some of its %d virtual channels",
		h.Dst, n.graph.SwitchName(h.Switch), h.VC, h.State, hop.Port, hop.VCs, n.unicastVCs)
}

// cyclesPerFlit is how long a flit occupies the channel of a sending end (as state.out).
func (n *network) cyclesPerFlit(o *OutPort) float64 {
	return float64(n.Pace(o).Interval) / (1 << IntervalShift)
}

// Bidding is what a head that is at the front of its queue and routed waits for.
func (n *network) Bidding() Part {
	if n.Combined != 0 {
		return PartSwitch
	}
	return PartVC
}

// checkRouting reports a routing that was made for another network.
func checkRouting(g *topology.Graph, r fabric.Routing) error {
	made, ok := r.(fabric.GraphRouting)
	if !ok {
		return nil
	}
	other := made.Graph()
	if g == other || slices.Equal(g.PortStart, other.PortStart) && slices.Equal(g.Peer, other.Peer) {
		return nil
	}
	return fmt.Errorf("the routing was made for another network, of %d switches and %d terminals; this one has %d and %d, and other cables",
		other.Switches(), other.Terminals(), g.Switches(), g.Terminals())
}
