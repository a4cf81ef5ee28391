package fabric

import "math/bits"

// begin has the packet at the front of a queue hold its ports until its tail crosses, in
// a step.
func (u *packetUnit) begin(f *Fabric, sw *switchState, local, port, output uint32, tail int64) {
	held := of(f.hold.ports, uint32(sw.port0))
	at(held, port).input, at(held, output).output = true, true
	queue, bit := sw.queue0+int32(local), uint64(1)<<(local&63)
	sw.mask(local).sa &^= bit
	sw.queue(local).ready = uint32(tail)
	m := of(u.streams, uint32(queue)>>6)
	m.under |= bit
	if c := f.steps.cycleOf(tail); c > f.cycle {
		u.at(c, tailCrosses, queue, sw.port0+int32(output))
	} else {
		m.tail |= bit
		u.tails++
	}
}

// countTails is the number of tails that cross in this cycle at a switch.
func (u *packetUnit) countTails(sw *switchState) (tails int) {
	first := of(u.streams, uint32(sw.queue0)>>6)
	for w := range sw.masks {
		tails += bits.OnesCount64(at(first, uint32(w)).tail)
	}
	return tails
}

// pass has the tails cross that do so in a step at a switch: they release what their
// packets hold.
func (u *packetUnit) pass(f *Fabric, sw *switchState, step uint32) {
	first, held := of(u.streams, uint32(sw.queue0)>>6), of(f.hold.ports, uint32(sw.port0))
	places := of(f.alloc.places, 0)
	for w := range sw.masks {
		m := at(first, uint32(w))
		for left := m.tail; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.queue(local)
			if v.ready != step {
				continue
			}
			u.tails--
			m.tail &^= left & -left
			m.under &^= left & -left
			output := v.hop >> 16
			in, out := at(held, uint32(at(places, local).port)), at(held, output)
			in.input, out.output = false, false
			if u.watched {
				u.complete(f, sw.port0+int32(output), crossing)
			}
			u.leave(f, sw, local, v, step, true)
			if in.inputWaiters|out.outputWaiters != 0 {
				u.wakeAll(f, &in.inputWaiters)
				u.wakeAll(f, &out.outputWaiters)
			}
		}
	}
}

// leave brings the next packet to the front of a queue whose packet has left in a step
// and releases the virtual channel if that packet held one.
func (u *packetUnit) leave(f *Fabric, sw *switchState, local uint32, v *inVC, step uint32, held bool) {
	if held {
		ov, o := sw.outVC(uint32(v.out)), sw.outPort(v.hop>>16)
		ov.owner = ^ov.owner
		o.free |= 1 << ((uint32(v.out) - v.hop>>16*uint32(f.vcs)) & 15)
		if o.waiters != 0 {
			f.wakeWaiters(o)
		}
	}
	v.out = -1
	m, bit := sw.mask(local), uint64(1)<<(local&63)
	m.sa &^= bit
	if v.count--; v.count == 0 {
		return
	}
	if f.combined != 0 {
		m.sa |= bit
	} else {
		m.va |= bit
	}
	f.advance(v, step)
}

// sleep takes a queue out of the bidding until the ports that it waits for are let go.
func (u *packetUnit) sleep(f *Fabric, sw *switchState, local uint32, list *int32) {
	sw.mask(local).sa &^= 1 << (local & 63)
	queue := sw.queue0 + int32(local)
	f.waitNext[queue] = *list
	*list = queue + 1
}

// sleepUntil takes a queue out of the bidding until a later cycle.
func (u *packetUnit) sleepUntil(f *Fabric, sw *switchState, local uint32, cycle int64) {
	m := sw.mask(local)
	m.sa &^= 1 << (local & 63)
	m.va &^= 1 << (local & 63)
	u.at(cycle, queueWakes, sw.queue0+int32(local), sw.port0)
}

// wakeAll lets those of a list bid again.
func (u *packetUnit) wakeAll(f *Fabric, list *int32) {
	for q := *list; q != 0; q = f.waitNext[q-1] {
		u.wake(f, q-1)
	}
	*list = 0
}

// wake lets the packet at the front of a queue bid again.
func (u *packetUnit) wake(f *Fabric, queue int32) {
	m, bit := &f.masks[queue>>6], uint64(1)<<(queue&63)
	if f.combined == 0 && f.queues[queue].out < 0 {
		m.va |= bit
	} else {
		m.sa |= bit
	}
	f.activate(queue >> 6)
}

// arrive takes what has come in cycle c beside heads.
func (u *packetUnit) arrive(f *Fabric, c int64) {
	u.arriveCredits(f, c)
	for batch := u.events.Next(c); batch != nil; batch = u.events.Next(c) {
		if f.large {
			u.prefetchTails(f, batch)
		}
		for _, e := range batch {
			switch e.kind {
			case tailCrosses:
				u.streams[e.number>>6].tail |= 1 << (e.number & 63)
				f.activate(e.number >> 6)
			case queueWakes:
				u.wake(f, e.number)
			case creditsCome:
				if r := &u.credits[e.number]; r.roomAt == c {
					r.roomAt = Never
				}
				u.wakeFor(f, e.number)
			}
		}
	}
}

// queuedFlits is the length of the packets in a queue; 0 while the tail of the first is
// known to leave.
func (u *packetUnit) queuedFlits(f *Fabric, queue int32) (flits int) {
	v := &f.queues[queue]
	if v.count == 0 || u.streams[queue>>6].under>>(queue&63)&1 != 0 {
		return 0
	}
	flits = int(f.flitsOf(v.packet >> packetBits))
	pool, n := f.pool, v.last
	if f.shards != nil {
		pool = f.shards.all[f.shardOf[f.wordSwitch[queue>>6]]].pool
	}
	for range v.count - 1 {
		n = pool[n-1].next
		flits += int(f.flitsOf(pool[n-1].packet >> packetBits))
	}
	return flits
}
