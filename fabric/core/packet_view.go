package core

import (
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// flow is a kind of movement of a packet's flits that changes what routings see.
type flow struct {
	flitSchedule
	kind    flowKind
	decided int32 // output virtual channel that the flits are counted under while they wait; -1: none, of a multicast packet
}

// fewFlows is how many a port has room for from the start.
const fewFlows = 4

type flowKind uint8

const (
	arriving flowKind = iota // wait from then on
	crossing                 // take a credit, and are behind the crossbar
	leaving                  // wait no longer
)

// look brings up to date what routings see of a port. It has nothing to do where nothing
// moves before a cycle that it has found out.
func (u *packetUnit) look(d *Domain, p topology.PortID) {
	if u.watched && d.Cycle < u.quiet[p] {
		if check.On {
			u.mustBeQuiet(d, int32(p))
		}
		return
	}
	u.settle(d, int32(p))
	if u.watched {
		u.settleFlows(d, int32(p))
		u.quiet[p] = u.nextMove(int32(p))
	}
}

// nextMove is the first cycle in which another flit or credit of a port moves.
func (u *packetUnit) nextMove(port int32) int64 {
	next := fabric.Never
	if r := &u.credits[port].flitSchedule; r.ov >= 0 {
		next = r.time(u, r.done)
	}
	for i := range u.flows[port] {
		w := &u.flows[port][i]
		next = min(next, w.time(u, w.done))
	}
	return next
}

// mustBeQuiet checks that what is kept of a port is what its flits and credits give.
func (u *packetUnit) mustBeQuiet(d *Domain, port int32) {
	next := (d.Cycle + 1) << IntervalShift
	if r := &u.credits[port].flitSchedule; r.ov >= 0 && r.before(u, next) != r.done {
		d.broken("credits of port %d have come that nobody has counted", port)
	}
	for i := range u.flows[port] {
		if w := &u.flows[port][i]; w.before(u, next) != w.done {
			d.broken("flits of port %d have moved that nobody has counted", port)
		}
	}
}

// settleFlows counts what the flits of a port have done.
func (u *packetUnit) settleFlows(d *Domain, port int32) {
	// What flits have crossed in this cycle shows when their switch has been evaluated,
	// and in the steps of its own behind them.
	evaluated := (d.Cycle + 1) << IntervalShift
	if d.view.AtTerminal() || d.graph.PortSwitch[port] > d.head.Switch {
		evaluated = d.Cycle << IntervalShift
	} else if d.graph.PortSwitch[port] == d.head.Switch {
		evaluated = d.Cycle<<IntervalShift + int64(u.step)*u.slopes[u.stepRate]
	}
	u.count(d, port, d.arrived(), evaluated, (d.Cycle+1)<<IntervalShift)
}

// count counts the flits of a port that have arrived before a time, those that crossed
// before another, and those that have left before a third.
func (u *packetUnit) count(d *Domain, port int32, arrived, evaluated, left int64) {
	flows := u.flows[port]
	kept := flows[:0]
	for i := range flows {
		w := &flows[i]
		switch w.kind {
		case arriving:
			d.OutVC[w.decided].waiting += w.take(u, arrived)
		case crossing:
			n := w.take(u, evaluated)
			if w.ov >= 0 {
				d.OutVC[w.ov].credits -= n
			}
			if d.crossed != nil && w.decided >= 0 {
				d.crossed[w.decided] += n
			}
		case leaving:
			n := w.take(u, left)
			d.OutVC[w.decided].waiting -= n
			if d.crossed != nil {
				d.crossed[w.decided] -= n
			}
		}
		if w.done == w.flits {
			continue
		}
		if kept = kept[:len(kept)+1]; len(kept) <= i { // one before it has gone
			kept[len(kept)-1] = *w
		}
	}
	u.flows[port] = kept
}

// upToDate counts, between cycles, what the flits and credits of all ports have done: what
// any look in the next cycle would begin with.
func (u *packetUnit) upToDate(d *Domain) {
	u.settleAll(d)
	u.passAll(d)
	deciding := d.head.Switch
	defer func() { d.head.Switch = deciding }()
	d.head.Switch = topology.SwitchID(len(d.Switches)) // all have done their work of the cycle
	for port := range u.flows {
		u.settleFlows(d, int32(port))
	}
}

// add adds the flits of a packet from the first one on that is still to come.
func (u *packetUnit) add(d *Domain, port int32, kind flowKind, decided int32, r *flitSchedule, first int32) {
	if r.flits == first {
		return
	}
	if len(u.flows[port]) >= 2*fewFlows {
		u.settleFlows(d, port)
	}
	r.from(u, first)
	u.quiet[port] = 0
	flows := append(u.flows[port], flow{})
	w := &flows[len(flows)-1]
	r.copyTo(&w.flitSchedule)
	w.kind, w.decided = kind, decided
	u.flows[port] = flows
}

// expects notes that the flits behind a head that has just been decided for are coming.
func (u *packetUnit) expects(d *Domain, sw *SwitchState, head *Queued) {
	p := d.inflow(head.Packet >> PacketBits)
	if p.tail <= d.Cycle {
		return
	}
	var r flitSchedule
	r.flits, r.ov = p.flits, -1
	p.limit(u, &r, 0)
	decided := sw.Port0*int32(d.vcs) + int32(lowestOV(head.Hop, uint32(d.vcs)))
	u.add(d, sw.Port0+int32(head.Hop>>16), arriving, decided, &r, 1)
}

// departs notes a packet whose head crosses to an output.
func (u *packetUnit) departs(d *Domain, sw *SwitchState, output uint32, c *transit) {
	const cycle = 1 << IntervalShift
	o, port, ov0 := sw.OutPort(output), sw.Port0+int32(output), sw.Port0*int32(d.vcs)
	decided, ov := ov0+c.decided, int32(-1)
	if c.decided < 0 {
		decided = -1
	}
	if o.Bounded != 0 {
		ov = ov0 + c.lov
		d.OutVC[ov].credits--
	}
	var crosses, leaves flitSchedule
	c.crosses(u, d, ov, &crosses)
	u.add(d, port, crossing, decided, &crosses, 1)
	if !d.needs.Queues || decided < 0 {
		return
	}
	if d.crossed != nil {
		d.crossed[decided]++
	}
	c.leaves(u, d, ov, &leaves)
	leaves.delay(cycle)
	u.add(d, port, leaving, decided, &leaves, 0)
}

// complete counts all flits of a port of some kinds, whenever they move.
func (u *packetUnit) complete(d *Domain, port int32, kinds ...flowKind) {
	for i := range u.flows[port] {
		if w := &u.flows[port][i]; slices.Contains(kinds, w.kind) {
			w.lines = 0
		}
	}
	u.settleFlows(d, port)
}
