package core

import (
	"math"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
)

// lanePort is an output port whose packets InfiniBand's arbitration puts in order:
// virtual channel l is lane l. From its first flit on until its last has crossed, the
// port is the packet's alone, as packets are not mixed on a link. Which of several
// inputs sends on the chosen lane is left to the switch allocator.
//
// Packets start only with credits for all of their flits (cut-through), so that none
// holds the port to wait for a buffer downstream: lanes depend on each other no more than
// without arbitration.
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

// arbitrateLanes keeps the requests of packets that the arbitration of their output
// port lets go first, and of those that are crossing.
func (d *Domain) arbitrateLanes(sw *SwitchState, requests []Request, _ *StepTime) []Request {
	vcs := uint32(d.vcs)
	ports := d.lanes[sw.Port0:][:sw.Ports]
	for _, r := range requests {
		p := &ports[r.Output()]
		p.open = false
		p.ready |= 1 << (uint32(sw.Queue(r.Local()).Out) - r.Output()*vcs)
	}
	kept := requests[:0]
	for _, r := range requests {
		p := &ports[r.Output()]
		if !p.open {
			p.open = true
			if p.holder < 0 && p.arbitrated {
				p.choice, p.ok = p.arbiter.Choose(p.ready)
			}
			p.ready = 0
		}
		switch {
		case p.holder >= 0:
			if uint32(p.holder) == r.Local() {
				kept = append(kept, r)
			}
		case !p.arbitrated || p.ok && uint32(p.choice.Lane) == uint32(sw.Queue(r.Local()).Out)-r.Output()*vcs:
			kept = append(kept, r)
		}
	}
	return kept
}

// crossedLanes notes the packets that begin and end with flits that cross in this
// step.
func (d *Domain) crossedLanes(sw *SwitchState, matches []Request, _ *StepTime) {
	for _, r := range matches {
		p := &d.lanes[uint32(sw.Port0)+r.Output()]
		v := sw.Queue(r.Local())
		if p.holder < 0 && p.arbitrated {
			flits := d.Packet(v.Packet >> PacketBits).Flits
			p.arbiter.Send(p.choice, int64(flits)*int64(d.Config.Fabric.FlitBytes))
			p.holder = int32(r.Local())
		}
		if v.Packet&TailFlit != 0 {
			p.holder = -1
		}
	}
}

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

// mostWaiting is the number of packets that a terminal takes from its source before they
// can leave, which bounds memory. Behind so many, a packet waits for those born before it,
// whatever their lanes. Tests change it.
var mostWaiting = 1 << 16

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

// TerminalTables are the tables by which terminal t chooses between the lanes of the
// packets that it has; nil: it sends them in the order in which they come.
func (f *Fabric) TerminalTables(t topology.TerminalID) *arbitration.Tables {
	if !f.byLane(int32(t)) {
		return nil
	}
	return f.laneQueues[t].arbiter.Tables()
}

// InjectionLanes is the set of virtual channels on which a packet of a service level from src
// to dst may enter the network, as the routing says now. It is for the thread that simulates src.
func (f *Fabric) InjectionLanes(src, dst topology.TerminalID, level uint8) uint32 {
	if f.injection != 0 {
		return f.injection
	}
	lanes, _ := f.owner(src).depart(int32(src), int32(dst), label{level: level})
	return uint32(lanes)
}

func (s *state) byLane(t int32) bool { return s.laneQueues != nil && s.laneQueues[t].arbitrated }

// fetchByLane takes terminal t's next packet by arbitration between those that the source
// has made, if it can leave in the present cycle. Otherwise the terminal wakes when its
// channel is free, for the next packet to be born, or with a credit.
func (d *Domain) fetchByLane(t int32, te *terminal) bool {
	if next := WholeCycle(d.Out[d.TerminalOut0+t].NextFree); next > d.Cycle {
		d.wakeAt(t, te, next)
		return false
	}
	l := &d.laneQueues[t]
	d.fillLanes(t, te, l)
	if l.waiting == 0 {
		return false
	}
	if d.Unit != nil {
		d.Unit.heed(d, d.TerminalOut0+t)
	}
	ovs := d.OutVC[d.terminalOV(topology.TerminalID(t), 0):][:d.vcs]
	ready := uint32(0)
	for i := range l.queues {
		ready |= l.queues[i].ready(ovs)
	}
	choice, ok := l.arbiter.Choose(ready)
	if !ok {
		te.flags |= blocked
		return false
	}
	p := l.take(choice.Lane, ovs)
	l.arbiter.Send(choice, int64(p.flits)*int64(d.Config.Fabric.FlitBytes))
	d.begin(t, te, &fabric.PacketSpec{Birth: p.birth, Dst: p.dst, Flits: p.flits, Tag: p.tag, Level: p.level, Entropy: p.entropy})
	te.allowed, te.state = 1<<choice.Lane, p.state
	if d.listens != nil {
		d.listens.Departed(topology.TerminalID(t), p.tag)
	}
	return true
}

// fillLanes takes the packets of terminal t that can leave by now from the source, and
// arranges for a wake when the next one can leave.
func (d *Domain) fillLanes(t int32, te *terminal, l *laneQueues) {
	delay := int64(d.Config.Terminal.InjectionCycles)
	spec := &d.spec
	for l.waiting < mostWaiting {
		if !d.source.Next(topology.TerminalID(t), d.Cycle-delay, spec) {
			if spec.Birth < fabric.Never {
				d.wakeAt(t, te, max(spec.Birth+delay, d.Cycle+1))
			}
			return
		}
		p := lanePacket{birth: spec.Birth, tag: spec.Tag, dst: spec.Dst, flits: spec.Flits, level: spec.Level, entropy: spec.Entropy}
		lanes := uint16(d.injection)
		if lanes == 0 {
			lanes, p.state = d.depart(t, int32(p.dst), label{level: spec.Level, entropy: spec.Entropy})
		}
		l.add(lanes, p)
	}
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

// oldestInLanes is the earliest birth of the packets that wait at terminals for their
// lanes; Never if there is none.
func (f *Fabric) oldestInLanes() int64 {
	birth := fabric.Never
	for t := range f.laneQueues {
		birth = min(birth, f.laneQueues[t].oldest())
	}
	return birth
}

// LanesBehindBy is [fabric.Workload.BehindBy] for packets that have left their source and wait for
// their lanes.
func (f *Fabric) LanesBehindBy(now int64) float64 {
	squares := 0.0
	for t := range f.laneQueues {
		if age := float64(now - f.laneQueues[t].oldest()); age > 0 {
			squares += age * age
		}
	}
	return math.Sqrt(squares / float64(len(f.Terminals)))
}

// ClearLanes takes back the packets that wait for their lanes, as if their source had not
// made them. A network with faults keeps them: it knows of every packet that it has been given.
func (f *Fabric) ClearLanes() {
	if f.Faults != nil {
		return
	}
	for t := range f.laneQueues {
		f.laneQueues[t].queues, f.laneQueues[t].waiting = nil, 0
	}
}
