package core

import (
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// at files an event.
func (u *packetUnit) at(cycle int64, kind eventKind, number, port int32) {
	*u.events.Place(cycle) = event{number, port, kind}
}

// look brings up to date what routings see of a port, unless nothing moves before a cycle known to
// it.
func (u *packetUnit) look(d *Domain, p topology.PortID) {
	if d.watched && d.Cycle < u.quiet[p] {
		if check.On {
			u.mustBeQuiet(d, int32(p))
		}
		return
	}
	u.settle(d, int32(p))
	if d.watched {
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
	// Flits that crossed in this cycle show once their switch is evaluated, and in its own later
	// steps.
	evaluated := (d.Cycle + 1) << IntervalShift
	if d.view.AtTerminal() || d.graph.PortSwitch[port] > d.head.Switch {
		evaluated = d.Cycle << IntervalShift
	} else if d.graph.PortSwitch[port] == d.head.Switch {
		evaluated = d.Cycle<<IntervalShift + int64(u.step)*u.slopes[u.stepRate]
	}
	u.count(d, port, d.arrived(), evaluated, (d.Cycle+1)<<IntervalShift)
}

// count counts the flits of a port that arrived, crossed and left before three times.
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

// add adds a packet's flits, from the first that is still to come.
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

// complete counts all flits of a port of some kinds, whenever they move.
func (u *packetUnit) complete(d *Domain, port int32, kinds ...flowKind) {
	for i := range u.flows[port] {
		if w := &u.flows[port][i]; slices.Contains(kinds, w.kind) {
			w.lines = 0
		}
	}
	u.settleFlows(d, port)
}

// settle counts the credits that have come back to a port by now.
func (u *packetUnit) settle(d *Domain, port int32) {
	r := &u.credits[port]
	if r.ov < 0 {
		return
	}
	d.OutVC[r.ov].credits += r.take(u, d.arrived())
	if r.done == r.flits {
		r.ov = -1
	}
}

// arrived is the time before which flits and credits have arrived.
func (d *Domain) arrived() int64 {
	if d.departing {
		return d.Cycle << IntervalShift
	}
	return (d.Cycle + 1) << IntervalShift
}

// finish counts all credits of a schedule.
func (u *packetUnit) finish(d *Domain, port int32) {
	if r := &u.credits[port]; r.ov >= 0 {
		d.OutVC[r.ov].credits += r.flits - r.done
		r.ov = -1
	}
}

func (u *packetUnit) settleAll(d *Domain) {
	for port := range u.credits {
		u.settle(d, int32(port))
	}
}

// room counts a port's credits and, if those under way will make room for a packet of so many flits
// on a virtual channel of a set, has the waiting look then.
func (u *packetUnit) room(d *Domain, port int32, set uint32, need int32) {
	u.settle(d, port)
	r := &u.credits[port]
	if r.ov < 0 || set>>(r.ov-port*int32(d.vcs))&1 == 0 {
		return
	}
	short := need - d.OutVC[r.ov].credits
	if short <= 0 || short > r.flits-r.done {
		return
	}
	if at := r.time(u, r.done+short-1); at < r.roomAt {
		r.roomAt = at
		u.at(at, creditsCome, port, 0)
	}
}

// heed has those who wait for a port look when its next credit comes, as with flits as the unit:
// they must wait for the same.
func (u *packetUnit) heed(d *Domain, port int32) {
	u.settle(d, port)
	if r := &u.credits[port]; r.ov >= 0 {
		if at := r.time(u, r.done); at < r.roomAt {
			r.roomAt = at
			u.at(at, creditsCome, port, 0)
		}
	}
}
