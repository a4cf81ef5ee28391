package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
)

// laneQueues are the packets of a terminal that wait for lanes, ordered by InfiniBand's arbitration
// as in a host channel adapter: a lane without credits does not hold up others. Packets for the
// same lanes share a queue, in order of birth; the routing was asked when they joined.
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

// ready is the lanes on which a queue's first packet can leave, with credits for all of it.
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

// take removes the first-born packet that can leave on a lane.
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

func (l *laneQueues) oldest() int64 {
	birth := fabric.Never
	for i := range l.queues {
		if q := &l.queues[i]; q.first < len(q.packets) {
			birth = min(birth, q.packets[q.first].birth)
		}
	}
	return birth
}

// lanePort is an output port with InfiniBand's arbitration: virtual channel l is lane l. A packet
// has the port from its first flit until its last has crossed, as packets are not mixed on a link.
// The switch allocator chooses among inputs for a lane.
//
// Packets start only with credits for all of their flits (cut-through) and hold the port for no
// buffer: lanes depend on each other no more than without arbitration.
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

// mostWaiting bounds the packets that a terminal takes from its source before they can leave, and
// so memory. Later packets wait behind them, whatever their lanes. Tests change it.
var mostWaiting = 1 << 16
