package core

import "slices"

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
			if u.watched && r.port < d.TerminalOut0 {
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
