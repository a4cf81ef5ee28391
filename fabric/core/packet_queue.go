package core

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric"
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

// pass has the tails cross that do so in a step at a switch: they release what their
// packets hold.
func (u *packetUnit) pass(d *Domain, sw *SwitchState, step uint32) {
	first, held := check.Of(u.streams).From(uint32(sw.Queue0)>>6), check.Of(d.hold.ports).From(uint32(sw.Port0))
	places := check.Of(d.Matcher.Places)
	for w := range sw.masks {
		m := first.At(uint32(w))
		for left := m.tail; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.Queue(local)
			if v.Ready != step {
				continue
			}
			u.tails--
			m.tail &^= left & -left
			if u.Followed != nil {
				u.Followed.tailCrosses(d, sw, local, v.Hop>>16, step)
			}
			m.under &^= left & -left
			if u.timed {
				u.leave(d, sw, local, v, step, false)
				continue
			}
			if v.dst < 0 {
				u.endPass(d, sw, local, v, step)
				continue
			}
			output := v.Hop >> 16
			in, out := held.At(uint32(places.At(local).Port)), held.At(output)
			in.input, out.output = false, false
			if u.watched {
				u.complete(d, sw.Port0+int32(output), crossing)
			}
			u.leave(d, sw, local, v, step, true)
			if in.inputWaiters|out.outputWaiters != 0 {
				u.wakeAll(d, &in.inputWaiters)
				u.wakeAll(d, &out.outputWaiters)
			}
		}
	}
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

// sleep takes a queue out of the bidding until the ports that it waits for are let go.
func (u *packetUnit) sleep(d *Domain, sw *SwitchState, local uint32, list *int32) {
	if u.Followed != nil && u.Followed.polls {
		return
	}
	sw.mask(local).sa &^= 1 << (local & 63)
	queue := sw.Queue0 + int32(local)
	d.waitNext[queue] = *list
	*list = queue + 1
}

// sleepUntil takes a queue out of the bidding until a later cycle.
func (u *packetUnit) sleepUntil(d *Domain, sw *SwitchState, local uint32, cycle int64) {
	m := sw.mask(local)
	m.sa &^= 1 << (local & 63)
	if sw.Queue(local).Out < 0 { // otherwise it is the packet behind that asks
		m.va &^= 1 << (local & 63)
	}
	u.at(cycle, queueWakes, sw.Queue0+int32(local), sw.Port0)
}

// wakeAll lets those of a list bid again.
func (u *packetUnit) wakeAll(d *Domain, list *int32) {
	for q := *list; q != 0; q = d.waitNext[q-1] {
		u.wake(d, q-1)
	}
	*list = 0
}

// wake lets the packet at the front of a queue bid again.
func (u *packetUnit) wake(d *Domain, queue int32) {
	m, bit := &d.Masks[queue>>6], uint64(1)<<(queue&63)
	if d.Combined == 0 && d.Queues[queue].Out < 0 {
		m.va |= bit
	} else {
		m.sa |= bit
	}
	d.activate(queue >> 6)
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
	flits = int(d.flitsOf(v.Packet >> PacketBits))
	pool, n := d.Pool, v.Last
	for range v.Count - 1 {
		n = pool[n-1].Next
		flits += int(d.flitsOf(pool[n-1].Packet >> PacketBits))
	}
	return flits
}
