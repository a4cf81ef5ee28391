package core

import (
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// begin has the packet at the front of a queue hold its ports until its tail crosses, in
// a step.
func (u *packetUnit) begin(d *Domain, sw *SwitchState, local, port, output uint32, tail int64) {
	held := check.Of(d.hold.ports).From(uint32(sw.Port0))
	held.At(port).input, held.At(output).output = true, true
	u.awaitTail(d, sw, local, output, tail)
}

// awaitTail takes a queue, whose head crosses to an output, out of the bidding until the
// tail crosses, in a step.
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

// leave brings the next packet to the front of a queue whose packet has left in a step
// and releases the virtual channel if that packet held one.
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
		d.advance(v, step)
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

// queuedFlits is the length of the packets in a queue of the domain; 0 while the tail of the first is
// known to leave.
func (u *packetUnit) queuedFlits(d *Domain, queue int32) (flits int) {
	v := &d.Queues[queue]
	if v.Count == 0 || u.streams[queue>>6].under>>(queue&63)&1 != 0 {
		return 0
	}
	d.EachQueued(v, func(q *Queued) { flits += int(d.flitsOf(q.Packet >> PacketBits)) })
	return flits
}

// In most networks nothing can come between the head of a packet and its tail: ports are
// then not held until the tail lets them go but up to a step that is known from the
// start, and who waits for them knows when to ask again. The tail itself is an event only
// where another packet is behind it in its queue. Otherwise the queue is found to be empty
// when the next packet comes.

// timesHolds tells whether ports are held up to a time.
func (u *packetUnit) timesHolds(d *Domain) bool {
	return u.soon(d) && u.requestsPlainly(d) && !d.watched && u.Followed == nil && d.multicast == nil && d.Upcoming == nil && d.lanes == nil
}

// holdUntil has the packet at the front of a queue hold its ports up to a step, the step of its
// tail.
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

// CrossingCycles is the step in which the tail of the packet under way from a queue crosses, if
// that is in a cycle or later; otherwise -1.
func (u *packetUnit) crossing(d *Domain, queue int32, cycle int64) int64 {
	sw := &d.Switches[d.WordSwitch[queue>>6]]
	place := check.At(d.Matcher.Places, uint32(queue-sw.Queue0))
	in := sw.inPort(uint32(place.Port))
	if uint16(in.by) != place.vc || in.until < d.Steps.FirstStep(cycle) {
		return -1
	}
	return in.until
}

// passAll empties, between cycles, the queues whose packets have left them.
func (u *packetUnit) passAll(d *Domain) {
	if !u.timed {
		return
	}
	for word := range u.streams {
		u.passWord(d, int32(word), d.Cycle+1)
	}
}

// passWord empties the queues of a mask word whose packets have left them before a cycle.
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

// sweepEvery is how many cycles pass at least between two sweeps: fewer than the steps
// of a queue, modulo 2^32, tell apart.
const sweepEvery = 1 << 24

// sweep empties, before anything happens in cycle c, the queues whose packets have left
// them, now and then: steps of queues are told apart only if they are not too far away.
func (u *packetUnit) sweep(d *Domain, c int64) {
	u.swept = c
	for _, s := range d.Mine {
		sw := &d.Switches[s]
		for w := range sw.masks {
			u.passWord(d, sw.Queue0>>6+int32(w), c)
		}
	}
}

// soon tells whether tails cross so soon behind their heads that steps modulo 2^32 say
// when.
func (u *packetUnit) soon(d *Domain) bool {
	longest := int64(0)
	for _, p := range d.paces {
		longest = max(longest, p.Interval)
	}
	return float64(d.buffer)*float64(longest>>IntervalShift+1)*MaxSpeedup < 1<<29
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

// creditsUnderWay tells whether any credit has not come back.
func (u *packetUnit) creditsUnderWay(d *Domain) bool {
	if u.schedules[0].Len() > 0 {
		return true
	}
	u.settleAll(d)
	return slices.ContainsFunc(u.credits, func(r portCredits) bool { return r.ov >= 0 })
}

// requestsPlainly tells whether requestPackets serves: heads take their virtual channel as
// they cross, at once, and go where they have been decided for.
func (u *packetUnit) requestsPlainly(d *Domain) bool {
	return d.Combined != 0 && d.escape == nil && !d.storeForward && !neverPlain
}
