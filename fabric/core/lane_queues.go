package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
)

// laneQueues are the packets of a terminal that wait for their lanes, where InfiniBand's
// arbitration puts them in order, as in a host channel adapter: a lane without credits
// does not hold up the others. Packets that may take the same lanes are in one queue, in
// order of birth; the routing has been asked when they joined it.
type laneQueues struct {
	arbiter    arbitration.Arbiter
	arbitrated bool
	queues     []laneQueue // in order of their first packets
	waiting    int         // packets in all
}

type laneQueue struct {
	lanes   uint16
	first   int
	packets []lanePacket // the first ones have left
}

// lanePacket is a packet that waits. 40 bytes.
type lanePacket struct {
	birth int64
	tag   uint64 `snap:"-"`
	dst   topology.TerminalID
	flits int32
	state uint32 // routing's

	level   uint8
	entropy uint16
}

func (l *laneQueues) add(lanes uint16, p lanePacket) {
	l.waiting++
	for i := range l.queues {
		if q := &l.queues[i]; q.lanes == lanes {
			q.packets = append(q.packets, p)
			return
		}
	}
	l.queues = append(l.queues, laneQueue{lanes: lanes, packets: []lanePacket{p}})
}

// ready is the set of lanes on which the first packet of a queue can leave: those with
// credits for all of it.
func (q *laneQueue) ready(ovs []outVC) (set uint32) {
	if q.first == len(q.packets) {
		return 0
	}
	for lane := range ovs {
		if q.lanes>>lane&1 != 0 && ovs[lane].credits >= q.packets[q.first].flits {
			set |= 1 << lane
		}
	}
	return set
}

// take removes the packet that was born first of those that can leave on a lane.
func (l *laneQueues) take(lane uint8, ovs []outVC) lanePacket {
	var from *laneQueue
	for i := range l.queues {
		if q := &l.queues[i]; q.ready(ovs)>>lane&1 != 0 && (from == nil || q.packets[q.first].birth < from.packets[from.first].birth) {
			from = q
		}
	}
	p := from.packets[from.first]
	if from.first++; 2*from.first >= len(from.packets) { // each packet moves once, on average
		from.packets = from.packets[:copy(from.packets, from.packets[from.first:])]
		from.first = 0
	}
	l.waiting--
	return p
}

// oldest is the earliest birth of the packets that wait; Never if there is none.
func (l *laneQueues) oldest() int64 {
	birth := fabric.Never
	for i := range l.queues {
		if q := &l.queues[i]; q.first < len(q.packets) {
			birth = min(birth, q.packets[q.first].birth)
		}
	}
	return birth
}

// lanePort is an output port whose packets InfiniBand's arbitration puts in order:
// virtual channel l is lane l. From its first flit on until its last has crossed, the
// port is the packet's alone, as packets are not mixed on a link. Which of several
// inputs sends on the chosen lane is left to the switch allocator.
//
// Packets start only with credits for all of their flits (cut-through), so that none holds the port
// to wait for a buffer downstream: lanes depend on each other no more than without arbitration.
type lanePort struct {
	arbiter    arbitration.Arbiter
	arbitrated bool
	open       bool               // choice is of the step at hand
	ok         bool               // choice is one
	choice     arbitration.Choice // among ready
	ready      uint32             // lanes that have asked in the step at hand
	holder     int32              // queue, in its switch, whose packet is crossing; -1: none
}

// newLanes makes the arbiters of all ports; nil without arbitration.
func newLanes(n *network) []lanePort {
	all, err := n.Config.Switch.LaneTables()
	if err != nil {
		panic("core: " + err.Error()) // checked before
	}
	own, _ := n.routing.(fabric.LaneArbitration)
	if own != nil && !own.ArbitratesLanes() {
		own = nil
	}
	if all == nil && own == nil {
		return nil
	}
	lanes := make([]lanePort, n.graph.NumPorts())
	for p := range lanes {
		tables := all
		if own != nil {
			if t := own.ArbitrationTables(topology.PortID(p)); t != nil {
				tables = t
			}
		}
		lanes[p].holder = -1
		if tables != nil {
			lanes[p].arbiter, lanes[p].arbitrated = arbitration.New(tables), true
		}
	}
	return lanes
}

// newLaneQueues makes the queues of all terminals; nil without arbitration.
func newLaneQueues(n *network) []laneQueues {
	all, _, err := n.Config.TerminalTables()
	if err != nil {
		panic("core: " + err.Error()) // checked before
	}
	own, _ := n.routing.(fabric.TerminalArbitration)
	if own != nil && !own.ArbitratesTerminals() {
		own = nil
	}
	if all == nil && own == nil {
		return nil
	}
	queues := make([]laneQueues, n.graph.Terminals())
	for t := range queues {
		tables := all
		if own != nil {
			if its := own.TerminalTables(topology.TerminalID(t)); its != nil {
				tables = its
			}
		}
		if tables != nil {
			queues[t].arbiter, queues[t].arbitrated = arbitration.New(tables), true
		}
	}
	return queues
}

// mostWaiting is the number of packets that a terminal takes from its source before they
// can leave, which bounds memory. Behind so many, a packet waits for those born before it,
// whatever their lanes. Tests change it.
var mostWaiting = 1 << 16
