package core

import (
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/wheel"
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

// An input serves one packet at a time and sends its credits in order, so that one schedule
// at a time comes back to the sending end of a channel, on whichever virtual channel.
// How many of its credits there are is found when somebody asks.

// arriveCredits takes the schedules whose first credit comes back in cycle c.
func (u *packetUnit) arriveCredits(d *Domain, c int64) {
	for batch := u.schedules[0].Next(c); batch != nil; batch = u.schedules[0].Next(c) {
		if d.large {
			u.prefetchCredits(d, batch)
		}
		for i := range batch {
			r := &batch[i]
			u.finish(d, r.port)
			u.credits[r.port].flitSchedule = *r
			if d.watched && r.port < d.TerminalOut0 {
				u.quiet[r.port] = 0
			}
			u.wakeFor(d, r.port)
		}
	}
}

// wakeFor lets those look that wait for credits of a port, or of a terminal's.
func (u *packetUnit) wakeFor(d *Domain, port int32) {
	if port >= d.TerminalOut0 {
		d.creditTerminal(d.terminalOV0 + (port-d.TerminalOut0)*int32(d.vcs))
		return
	}
	if o := &d.Out[port]; o.waiters != 0 {
		d.wakeWaiters(o)
	}
	if d.multicast != nil {
		u.wakeMulticast(d, &d.Switches[d.graph.PortSwitch[port]])
	}
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

// room counts the credits of a port and, where those under way are going to make room
// for a packet of so many flits on a virtual channel of a set, sees to it that those who
// wait look then.
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

// creditsUnderWay tells whether any credit has not come back.
func (u *packetUnit) creditsUnderWay(d *Domain) bool {
	for _, w := range u.schedules {
		if w != nil && w.Len() > 0 {
			return true
		}
	}
	u.settleAll(d)
	return slices.ContainsFunc(u.credits, func(r portCredits) bool { return r.ov >= 0 })
}

// settleAll counts the credits that have come back to all ports.
func (u *packetUnit) settleAll(d *Domain) {
	for port := range u.credits {
		u.settle(d, int32(port))
	}
}

// comeHome counts all credits that are under way, for the audit of a network in which
// nothing else moves but flits that have gone.
func (u *packetUnit) comeHome(d *Domain) {
	u.passAll(d)
	for port := range u.credits {
		u.finish(d, int32(port))
	}
	for port := range u.flows {
		u.complete(d, int32(port), arriving, crossing, leaving)
	}
}

// followed is what observers want to know of packets beyond what a [packetUnit] itself
// goes by: they are told the same as with flits as the unit, but for the flits between
// head and tail.
type followed struct {
	passing []passing          // by queue; of all domains
	tails   *wheel.Wheel[Flit] // that arrive in queues
	seen    []Flit             // heads of a batch
	polls   bool               // the heads at the front of queues ask in every step, as flits do: others of their queue may be asleep
}

// passing is a packet whose head has crossed a switch and whose tail has not. 16 bytes.
type passing struct {
	granted int64 // step
	first   int64 // when the head leaves by the channel, in cycles << intervalShift
}

// follow has the unit of each domain tell observers.
func (f *Fabric) follow() {
	if f.unit == nil || f.observer == nil {
		return
	}
	all := make([]passing, len(f.Queues))
	for _, d := range f.domains {
		d.Unit.Followed = &followed{passing: all, tails: wheel.New[Flit](f.horizon), polls: d.Upcoming != nil}
	}
}

// headsArrive tells the observer of packets that have been put into queues, one each at
// most, and files their tails.
func (w *followed) headsArrive(d *Domain, batch []Flit) {
	w.seen = w.seen[:0]
	for _, e := range batch {
		if p := d.inflow(e.Packet >> PacketBits); p.flits > 1 {
			*w.tails.Place(p.tail) = Flit{e.Queue, e.Packet &^ HeadFlit, e.dst, e.State}
			e.Packet &^= TailFlit
		}
		w.seen = append(w.seen, e)
	}
	d.observer.Arrived(d, w.seen)
}

// tailsArrive tells the observer of the tails that arrive in cycle c.
func (w *followed) tailsArrive(d *Domain, c int64) {
	for batch := w.tails.Next(c); batch != nil; batch = w.tails.Next(c) {
		d.observer.Arrived(d, batch)
	}
}

// tailCrosses tells the observer that the tail of the packet at the front of a queue
// crosses to an output.
func (w *followed) tailCrosses(d *Domain, sw *SwitchState, local, output uint32, step uint32) {
	o := sw.OutPort(output)
	d.observer.TailCrosses(d, sw, newRequest(local, uint32(d.Matcher.Places[local].Port)<<16|output), &d.Steps.at[d.Steps.Wide(step)-d.Steps.First], o.NextFree-d.Pace(o).Interval)
}

// heed sees to it that those who wait for a port look when its next credit comes, as they
// do with flits as the unit, so that what they wait for is the same.
func (u *packetUnit) heed(d *Domain, port int32) {
	u.settle(d, port)
	if r := &u.credits[port]; r.ov >= 0 {
		if at := r.time(u, r.done); at < r.roomAt {
			r.roomAt = at
			u.at(at, creditsCome, port, 0)
		}
	}
}

// HeldUp is in how many cycles from one to another the last thing that happens to a
// packet on its way out of a queue, whose flits are all there, is that there is no room
// for its next flit behind the crossbar.
func (w *followed) HeldUp(d *Domain, queue int32, o *OutPort, from, to int64) (cycles int64) {
	pace, s, p := d.Pace(o), &d.Steps, &w.passing[queue]
	if pace.window == fabric.Never {
		return 0
	}
	flit := int64(0)
	crosses := func() int64 {
		return max(p.granted+flit, s.FirstStep((p.first+flit*pace.Interval-pace.window)>>IntervalShift+1))
	}
	for c := from; c < to; c++ {
		last := s.FirstStep(c+1) - 1
		for crosses() < last {
			flit++
		}
		if crosses() > last {
			cycles++
		}
	}
	return cycles
}
