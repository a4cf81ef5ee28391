package core

import (
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// network is what stays as it is from the first cycle on: the graph, the settings,
// the routing, and the tables made of them. Every domain has a copy of its own, some
// hundred bytes beside the tables, so that what is read for each flit is found
// without following a pointer.
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
	storeForward   bool
	large          bool         // ask for memory ahead
	needs          fabric.Needs // of the routing
	received       int32        // buffer of a virtual channel at a terminal
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

// extras is what not every network has. Domains have observers and replication of their
// own.
type extras struct {
	labels    *PacketRecords[label] // nil: none
	observer  Observer              // nil: nobody looks
	Faults    *faults               // nil: none
	multicast *multicast            // nil: off
}

func (n *network) Pace(o *OutPort) *pace { return check.At(n.paces, uint32(o.pace)) }

// Latency is how many cycles a channel takes.
func (n *network) Latency(o *OutPort) int64 { return int64(n.Pace(o).latency) }

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

// bufferOf is the number of flits that one virtual channel behind port p
// holds.
func (n *network) bufferOf(p topology.PortID) int32 {
	if n.graph.Peer[p] < 0 {
		return n.received
	}
	return n.buffer
}

// receives tells whether terminals have buffers to receive at, and return credits.
func (n *network) receives() bool { return n.received < unboundedCredits }

// unboundedCredits stands for a receiver that takes every flit: a terminal without.
const unboundedCredits = 1 << 30

// paceOf numbers the pace of a channel with room for so many flits behind the
// crossbar; 0: for any number.
func (n *network) paceOf(t timing, limit int64) uint16 {
	interval := t.interval
	p := pace{Interval: interval, window: fabric.Never, latency: t.latency}
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
