package core

// finishCrossing does for flit i of those that have crossed, to a local output virtual channel what not every
// one needs: what is timed, what waits for its virtual channel, and what follows it.
func (d *Domain) finishCrossing(sw *SwitchState, i int, r Request, lov uint32, depart int64, t *StepTime) {
	local := r.Local()
	v, o := sw.Queue(local), sw.OutPort(r.Output())
	if d.unfiled.any {
		d.file(v)
	}
	if d.crossTimed {
		ov := sw.Port0*int32(d.vcs) + int32(lov)
		if d.receives() && o.Bounded == 0 {
			d.toTerminal(sw.outVC(lov), ov, WholeCycle(depart)+2*d.Latency(o))
		}
		if d.behind != nil {
			if decided := lowestOV(v.Hop, uint32(d.vcs)); d.leaving != nil && depart == t.Depart && d.late[i] == 0 {
				*d.leaving = append(*d.leaving, sw.Port0*int32(d.vcs)+int32(decided))
			} else {
				d.behind.cross(d, sw, decided, depart, d.late[i])
			}
		}
	}
	// The next packet comes to the front, and those that wait for the virtual channel may
	// ask for it.
	tail, m, bit := v.Packet&TailFlit != 0, sw.mask(local), uint64(1)<<(local&63)
	if tail && v.Packet&d.Combined == 0 && o.waiters != 0 {
		d.wakeWaiters(o)
	}
	if v.Count == 0 {
		m.sa &^= bit
		return
	}
	if tail && d.Combined == 0 {
		m.sa &^= bit
		m.va |= bit
	}
	d.advance(v, t.Number)
	if d.Upcoming == nil {
		return
	}
	if tail {
		d.leaves(sw, local, v, t.Number)
	} else if m.second&bit != 0 {
		d.behindFront(sw, local).left--
	}
}

// unfiled is a flit that crosses, and its credit, if their wheels have no room at hand for them,
// and whether the flit has no digits for the hop.
type unfiled struct {
	any, hop               bool
	creditWheel, flitWheel uint8
	back, arrival          int64 // when they are due; 0: is filed
	credit                 int32
	flit                   Flit
}

// file files what is unfiled of the flit in front of a queue.
func (d *Domain) file(v *InVC) {
	u := &d.unfiled
	if u.hop {
		d.countHop(v.Packet, v.dst)
	}
	if u.back != 0 {
		*d.credits[u.creditWheel&15].Place(u.back) = u.credit
	}
	if u.arrival != 0 {
		*d.Flits[u.flitWheel&15].Place(u.arrival) = u.flit
	}
	u.any, u.hop, u.back, u.arrival = false, false, 0, 0
}

// countHop counts a switch beyond MaxHops that a flit crosses, if it is a tail. Copies of
// multicast packets share their record, and count no further.
func (d *Domain) countHop(packet, dst int32) {
	if packet&TailFlit != 0 && dst >= 0 {
		d.Packet(packet>>PacketBits).more++
	}
}

// findLate prepares what is timed of some flits that cross: by how many cycles credit sensing
// sends the credit of each late, which it keeps then, and where those are listed that
// leave at once.
func (d *Domain) findLate(sw *SwitchState, matches []Request, t *StepTime) {
	if d.behind != nil {
		d.leaving = d.behind.list(d, t.Depart)
	}
	if d.sensing == nil {
		return
	}
	for i, r := range matches {
		v, port, late := sw.Queue(r.Local()), sw.Port0+int32(r.Port()), int64(0)
		if sw.OutPort(r.Output()).Bounded != 0 {
			p := &d.sensing.probes[sw.Port0*int32(d.vcs)+v.Out]
			p.time(d.buffer-sw.outVC(uint32(v.Out)).credits+1, d.Cycle)
			late = d.sensing.late(p, port)
			if d.sensing.allCongested(sw.Port0) {
				late = max(0, late-d.sensing.findLeast(&d.network, sw.Port0))
			}
		}
		if d.late[i] = late; late > 0 {
			d.holdCredit(port, d.in[port].upstream+int32(r.Local()-r.Port()*uint32(d.vcs)), t.credit, late)
		}
	}
}

// advance brings the second flit of a queue to its front.
func (d *Domain) advance(v *InVC, step uint32) {
	last := &d.Pool[v.Last-1]
	n := last.Next
	b := &d.Pool[n-1]
	last.Next = b.Next
	b.Next = d.poolFree
	d.poolFree = n
	v.Ready = step + 1
	if v.Packet&TailFlit != 0 {
		v.Hop = b.Hop
		v.Ready += d.RouteDelay
	}
	v.Packet, v.dst, v.State = b.Packet, b.dst, b.State
}

// Credits travel on wires of their own beside the channel, credits_per_cycle of
// them in a cycle of the flit clock, whatever the channel's data rate. The slots
// that an input frees, on any of its virtual channels, wait for that in one queue.
// As with the output queue, only the time at which the wires are free again is
// kept: inPort.nextCredit. An input takes at most a flit a cycle, so the queue
// empties; it holds more than one credit only while the core, faster than the
// channel, drains a buffer.

// heldCredit is a credit that credit sensing holds back, and the event of its
// release.
type heldCredit struct {
	port     int32 // input port
	upstream int32 // ov that it is for
}

// creditIntervalOf is the time that a credit takes the wires, in cycles <<
// intervalShift.
func creditIntervalOf(perCycle int) int64 {
	if perCycle == 0 {
		return 0
	}
	return (1<<IntervalShift + int64(perCycle) - 1) / int64(perCycle)
}

// sendCredit queues a credit that may leave an input from a time on, in cycles <<
// intervalShift, for the far end's ov upstream.
func (d *Domain) sendCredit(in *inPort, upstream int32, ready int64) {
	send := max(ready, in.nextCredit)
	in.nextCredit = send + d.creditInterval
	*d.credits[in.wheel&15].Place(send>>IntervalShift + int64(in.delay)) = upstream
}

// toTerminal takes the credit of a flit for a terminal, and files its return: the terminal
// takes the flit as it arrives, and the credit leaves in the cycle after. back is when it
// would be back if it left at once.
func (d *Domain) toTerminal(o *outVC, ov int32, back int64) {
	o.credits--
	*d.credits[0].Place(back + 1 + int64(d.Config.Switch.CreditCycles)) = ov
}

// holdCredit keeps back, for so many cycles, a credit that could leave an input at
// a time. It joins the input's queue only then: those of later flits pass it.
func (d *Domain) holdCredit(port, upstream int32, ready, late int64) {
	*d.held.Place(ready>>IntervalShift + late - 1) = heldCredit{port, upstream}
}

// releaseCredits queues the credits that may leave from the cycle after c on.
func (d *Domain) releaseCredits(c int64) {
	for batch := d.held.Next(c); batch != nil; batch = d.held.Next(c) {
		for _, h := range batch {
			d.sendCredit(&d.in[h.port], h.upstream, (c+1)<<IntervalShift)
		}
	}
}
