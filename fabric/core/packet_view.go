package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/wheel"
)

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
