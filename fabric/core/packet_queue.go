package core

import (
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// begin has a queue's front packet hold its ports until its tail crosses, in a step.
func (u *packetUnit) begin(d *Domain, sw *SwitchState, local, port, output uint32, tail int64) {
	held := check.Of(d.hold.ports).From(uint32(sw.Port0))
	held.At(port).input, held.At(output).output = true, true
	u.awaitTail(d, sw, local, output, tail)
}

// awaitTail takes a queue, whose head crosses, out of the bidding until the tail crosses, in a
// step.
func (u *packetUnit) awaitTail(d *Domain, sw *SwitchState, local, output uint32, tail int64) {
	queue, bit := sw.Queue0+int32(local), uint64(1)<<(local&63)
	sw.mask(local).sa &^= bit
	sw.Queue(local).Ready = uint32(tail)
	m := check.At(u.streams, uint32(queue)>>6)
	m.under |= bit
	if c := d.Steps.CycleOf(tail); c > d.Cycle {
		u.at(c, tailCrosses, queue, sw.Port0+int32(output))
	} else {
		m.tail |= bit
		u.tails++
	}
}

// countTails is the number of tails that cross in this cycle at a switch.
func (u *packetUnit) countTails(sw *SwitchState) (tails int) {
	first := check.Of(u.streams).From(uint32(sw.Queue0) >> 6)
	for w := range sw.masks {
		tails += bits.OnesCount64(first.At(uint32(w)).tail)
	}
	return tails
}

// leave brings the next packet to the front of a queue whose packet left in a step, and releases
// the virtual channel that it held.
func (u *packetUnit) leave(d *Domain, sw *SwitchState, local uint32, v *InVC, step uint32, held bool) {
	if held {
		ov, o := sw.outVC(uint32(v.Out)), sw.OutPort(v.Hop>>16)
		ov.owner = ^ov.owner
		o.free |= 1 << ((uint32(v.Out) - v.Hop>>16*uint32(d.vcs)) & 15)
		if o.waiters != 0 {
			d.wakeWaiters(o)
		}
		u.wakeMulticast(d, sw)
	}
	v.Out = -1
	m, bit := sw.mask(local), uint64(1)<<(local&63)
	m.sa &^= bit
	if v.Count--; v.Count > 0 {
		if d.Combined != 0 {
			m.sa |= bit
		} else {
			m.va |= bit
		}
		d.advance(sw.Queue0+int32(local), v, step)
	}
	if d.Upcoming != nil && v.Count > 0 {
		d.leaves(sw, local, v, step)
	}
}

// arrive takes what has come in cycle c beside heads.
func (u *packetUnit) arrive(d *Domain, c int64) {
	if u.timed && c-u.swept >= sweepEvery {
		u.sweep(d, c)
	}
	if !u.schedules[0].Skip(c) {
		u.arriveCredits(d, c)
	}
	if u.events.Skip(c) {
		return
	}
	for batch := u.events.Next(c); batch != nil; batch = u.events.Next(c) {
		if d.large {
			u.prefetchTails(d, batch)
		}
		for _, e := range batch {
			switch e.kind {
			case tailCrosses:
				u.streams[e.number>>6].tail |= 1 << (e.number & 63)
				d.activate(e.number >> 6)
			case queueWakes:
				u.wake(d, e.number)
			case creditsCome:
				if r := &u.credits[e.number]; r.roomAt == c {
					r.roomAt = fabric.Never
				}
				u.wakeFor(d, e.number)
			}
		}
	}
}

// has tells whether credits or an event come in the cycle after this one.
func (u *packetUnit) has(next int64) bool { return u.schedules[0].Has(next) || u.events.Has(next) }

// queuedFlits is the length of the packets in a queue; 0 while the first packet's tail is known to
// leave.
func (u *packetUnit) queuedFlits(d *Domain, queue int32) (flits int) {
	v := &d.Queues[queue]
	if v.Count == 0 || u.streams[queue>>6].under>>(queue&63)&1 != 0 {
		return 0
	}
	d.EachQueued(queue, func(q *Queued) { flits += int(d.flitsOf(q.Packet >> PacketBits)) })
	return flits
}

// In most networks nothing can come between the head of a packet and its tail: ports are then held
// up to a step known from the start, and those who wait for them know when to ask again. The tail
// is an event only if another packet is behind it in its queue; otherwise the queue is found empty
// when the next packet comes.

// holdUntil has a queue's front packet hold its ports up to its tail's step.
func (u *packetUnit) holdUntil(d *Domain, sw *SwitchState, local, port, output uint32, tail int64) {
	in, v := sw.inPort(port), sw.Queue(local)
	in.until, in.by, sw.OutPort(output).until = tail, uint8(local-port*uint32(d.vcs)), tail
	if v.Count > 1 {
		u.awaitTail(d, sw, local, output, tail)
		return
	}
	bit := uint64(1) << (local & 63)
	sw.mask(local).sa &^= bit
	v.Ready = uint32(tail)
	check.At(u.streams, uint32(sw.Queue0)>>6+local>>6).under |= bit
}

// follows makes way for a packet that comes into a queue of one packet.
func (u *packetUnit) follows(d *Domain, queue int32, v *InVC) {
	m, bit := check.At(u.streams, uint32(queue)>>6), uint64(1)<<(queue&63)
	if m.under&bit == 0 {
		return
	}
	first := d.Steps.FirstStep(d.Cycle)
	tail := first + int64(int32(v.Ready-uint32(first))) // [packetUnit.sweep] sees to it that this is not long ago
	if tail < first {
		m.under &^= bit
		v.Count, v.Out = 0, -1
	} else if c := d.Steps.CycleOf(tail); c > d.Cycle {
		u.at(c, tailCrosses, queue, d.Switches[d.WordSwitch[queue>>6]].Port0+int32(v.Hop>>16))
	} else {
		m.tail |= bit
	}
}

// crossing is the step in which the tail of the packet under way from a queue crosses, if that is
// in a cycle or later; otherwise -1.
func (u *packetUnit) crossing(d *Domain, queue int32, cycle int64) int64 {
	sw := &d.Switches[d.WordSwitch[queue>>6]]
	place := check.At(d.Matcher.Places, uint32(queue-sw.Queue0))
	in := sw.inPort(uint32(place.Port))
	if uint16(in.by) != place.vc || in.until < d.Steps.FirstStep(cycle) {
		return -1
	}
	return in.until
}

func (u *packetUnit) passAll(d *Domain) {
	if !u.timed {
		return
	}
	for word := range u.streams {
		u.passWord(d, int32(word), d.Cycle+1)
	}
}

// passWord empties the queues of a mask word whose packets left before a cycle.
func (u *packetUnit) passWord(d *Domain, word int32, cycle int64) {
	m := &u.streams[word]
	for left := m.under; left != 0; left &= left - 1 {
		q := word<<6 + int32(bits.TrailingZeros64(left))
		if v := &d.Queues[q]; v.Count == 1 && u.crossing(d, q, cycle) < 0 {
			m.under &^= left & -left
			v.Count, v.Out = 0, -1
		}
	}
}

// sweepEvery is the least cycles between sweeps: fewer than a queue's steps, modulo 2^32, tell
// apart.
const sweepEvery = 1 << 24

// sweep empties, before cycle c and now and then, the queues whose packets have left: steps of
// queues are told apart only if they are near.
func (u *packetUnit) sweep(d *Domain, c int64) {
	u.swept = c
	for _, s := range d.Mine {
		sw := &d.Switches[s]
		for w := range sw.masks {
			u.passWord(d, sw.Queue0>>6+int32(w), c)
		}
	}
}

// upToDate counts, between cycles, what all ports' flits and credits have done: any look in the
// next cycle begins so.
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

// comeHome counts all credits under way, for the audit of a network in which nothing else moves.
func (u *packetUnit) comeHome(d *Domain) {
	u.passAll(d)
	for port := range u.credits {
		u.finish(d, int32(port))
	}
	for port := range u.flows {
		u.complete(d, int32(port), arriving, crossing, leaving)
	}
}

// creditsUnderWay tells whether any credit has not come back.
func (u *packetUnit) creditsUnderWay(d *Domain) bool {
	if u.schedules[0].Len() > 0 {
		return true
	}
	u.settleAll(d)
	return slices.ContainsFunc(u.credits, func(r portCredits) bool { return r.ov >= 0 })
}

// requestsPlainly tells whether requestPackets serves: heads take a virtual channel as they cross,
// and go where decided.
func (u *packetUnit) requestsPlainly(d *Domain) bool {
	return d.Combined != 0 && d.escape == nil && !d.storeForward && !neverPlain
}

// crossPackets is [Domain.crossFlits] for packets: heads have been granted the crossbar in step t.
// All of the rest of their packets follows from that.
//
// Let a packet of n flits be granted in step g, its flits arrive at a(i), and its
// output's channel take a flit in I and be free at F. Stages, channels and credits
// take as long as for flits. Flit i then crosses in step
//
//	x(i) = max(g + i, first step of a(i), first step with room behind the crossbar)
//
// as arrivals are a cycle apart at least, and so are the times at which the channel
// makes room; it leaves at
//
//	d(i) = max(d(0) + i I, a(i) + stages),  d(0) = max(F, g + stages)
//
// since d(0) is at least a(0) + stages, and a(i) is a straight line from the first flit to the last
// or, where the packet has come by channels of several rates, bent upwards. So head and tail are
// known exactly from head and tail, hop by hop; see [inflow] for those between. The output's room
// changes x, for the credits, and no d: [fabric.Config.Check] refuses bounds that small.
func (d *Domain) crossPackets(sw *SwitchState, matches []Request, t *StepTime, advance bool) {
	for _, tell := range d.notices {
		tell(d, sw, matches, t)
	}
	u, vcs := d.Unit, uint32(d.vcs)
	for _, r := range matches {
		local, port, output := r.Local(), r.Port(), r.Output()
		v, o, in := sw.Queue(local), sw.OutPort(output), sw.inPort(port)
		if advance {
			o.grant, in.accept, in.vc = uint16(port+1), uint16(output+1), uint16(local-port*vcs+1)
		}
		pace, p := d.Pace(o), d.inflow(v.Packet>>PacketBits)
		n := p.flits
		// Field by field, here and below: a copy in pieces of 16 bytes of what was put together of
		// shorter ones waits until all earlier writes are in the cache.
		var c transit
		c.granted, c.first = d.Steps.Wide(t.Number), latest(o.NextFree, t.Depart)
		c.in.head, c.in.tail, c.in.flits, c.in.pace, c.in.slow = p.head, p.tail, n, p.pace, p.slow
		c.window, c.pace, c.lov, c.decided = pace.window, pace.slope, v.Out, int32(lowestOV(v.Hop, vcs))
		c.follow(u, d, pace.Interval)
		if u.Followed != nil {
			u.Followed.passing[sw.Queue0+int32(local)] = passing{c.granted, c.first}
		}
		vc := uint32(v.Out) - output*vcs
		u.send(d, sw, output, v, v.Packet, &c)
		u.returnCredits(d, in, in.upstream+int32(local-port*vcs), t, &c)
		if n == 1 {
			u.leave(d, sw, local, v, t.Number, d.Combined == 0)
			continue
		}
		if u.timed {
			u.holdUntil(d, sw, local, port, output, c.crossed)
			continue
		}
		if d.Combined != 0 {
			sw.outVC(uint32(v.Out)).owner = sw.Queue0 + int32(local)
			o.free &^= 1 << (vc & 15)
		}
		u.begin(d, sw, local, port, output, c.crossed)
	}
}

// send puts a queue's front packet, or a copy, onto its channel.
func (u *packetUnit) send(d *Domain, sw *SwitchState, output uint32, v *InVC, packet int32, c *transit) {
	o, n, p := sw.OutPort(output), c.in.flits, d.inflow(packet>>PacketBits)
	pace := d.Pace(o)
	latency := int64(pace.latency)
	o.NextFree = c.last + pace.Interval
	p.head, p.tail, p.flits, p.pace, p.slow = c.first+latency<<IntervalShift, WholeCycle(c.last)+latency, n, c.pace, c.in.slow
	if !c.late {
		p.slow = p.pace
	}
	ov := sw.outVC(uint32(c.lov))
	ov.Flits += uint32(n)
	d.FlitHops += int64(n)
	arrival := p.tail // a terminal has no use for the head
	if o.Bounded != 0 {
		arrival = WholeCycle(c.first) + latency
	}
	e := Flit{Queue: o.dest + (c.lov-int32(output)*int32(d.vcs))*int32(o.Bounded), Packet: packet, dst: v.dst, State: v.State + 1<<HopShift}
	if v.State >= MaxHops<<HopShift {
		e.State = v.State
		d.countHop(packet, v.dst)
	}
	d.fileFlit(o.wheel, arrival, e)
	if d.watched {
		u.departs(d, sw, output, c)
	} else {
		ov.credits -= n * int32(o.Bounded)
	}
}

// returnCredits sends the credits of a packet's flits back to an output virtual channel upstream.
func (u *packetUnit) returnCredits(d *Domain, in *inPort, upstream int32, t *StepTime, c *transit) {
	s := &d.Steps
	stored := t.credit
	if u.creditRate == u.stepRate {
		// One a step, sent in the next cycle that begins: the line is as far above the first's
		// cycle as steps are left with credits in that cycle.
		left := s.FirstStep(t.credit>>IntervalShift) - c.granted - s.alloc
		stored += max(0, int64(s.speedup)-1-left) * u.slopes[u.stepRate]
	} else {
		stored = latest(stored, in.nextCredit)
	}
	var r flitSchedule
	r.start(c.in.flits, upstream, stored, u.creditRate)
	if c.in.flits > 1 {
		c.limit(u, d, &r, s.allocCycles)
	}
	in.nextCredit = r.exact(u, c.in.flits-1) + d.creditInterval
	r.delay(int64(in.delay) << IntervalShift)
	sent := u.scheduleTo(d, in.wheel, r.time(u, 0))
	r.copyTo(sent)
	sent.port = in.upstream / int32(d.vcs)
}

// held tells whether another packet holds a port that a queue's front packet wants, which then
// sleeps.
func (u *packetUnit) held(d *Domain, sw *SwitchState, local, port, output uint32) bool {
	ports := check.Of(d.hold.ports).From(uint32(sw.Port0))
	if from := ports.At(port); from.input {
		u.sleep(d, sw, local, &from.inputWaiters)
		return true
	}
	to := ports.At(output)
	if to.output {
		u.sleep(d, sw, local, &to.outputWaiters)
	}
	return to.output
}

// requestPackets is [Domain.requestCrossbar] for packets in the usual case.
func (d *Domain) requestPackets(sw *SwitchState, step uint32) []Request {
	u := d.Unit
	requests, places := check.Of(d.Matcher.requests), check.Of(d.Matcher.Places)
	accepts := check.Of(d.acceptOV).From(uint32(sw.Queue0))
	vcs, n := uint32(d.vcs), uint32(0)
	now, wide := d.Cycle<<IntervalShift, d.Steps.Wide(step)
	full := now + d.leastWindow // before that, there is room behind the crossbar in any case
	for w := range sw.masks {
		m := &sw.masks[w]
		for left := m.sa; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.Queue(local)
			if int32(v.Ready-step) > 0 {
				continue
			}
			port, output := uint32(places.At(local).Port), v.Hop>>16
			o := sw.OutPort(output)
			if !u.timed {
				if u.held(d, sw, local, port, output) {
					continue
				}
			} else if until := max(sw.inPort(port).until, o.until); until >= wide {
				u.waitUntil(d, sw, local, until)
				continue
			}
			if o.NextFree >= full {
				if from := o.NextFree - d.Pace(o).window; from >= now {
					u.sleepUntil(sw, local, from>>IntervalShift+1)
					continue
				}
			}
			free := v.Hop & uint32(o.free)
			lov := output*vcs + uint32(bits.TrailingZeros32(free))
			if free != 0 && free&(free-1) == 0 && sw.outVC(lov).credits >= d.inflow(v.Packet>>PacketBits).flits {
				v.Out = int32(lov) // chooseVC in most cases
				*accepts.At(local) = v.Out + 1
			} else if !d.chooseVC(sw, local, v, free) {
				d.sleepForVC(sw, w, left&-left)
				if d.observer != nil {
					d.observer.Sleeps(d, sw.Queue0+int32(local), lacking(free))
				}
				continue
			}
			*requests.At(n) = newRequest(local, port<<16|output)
			n++
		}
	}
	return d.Matcher.requests[:n]
}
