package core

import "github.com/weft-sim/weft/sim/check"

// upcoming is what a queue keeps of the packets behind the one at its front, where the
// stages of a switch overlap: while the front bids for the crossbar, the second packet
// asks for a virtual channel, and the third has its route computed. Each stage works on
// one packet of a queue at a time. 32 bytes.
//
// A virtual channel is given ahead only when the front waits for nothing but its turn
// (see mayAsk). Otherwise packets of two queues could wait for ever, each for the
// channel that is held behind the other, although the routing is free of deadlock.
type upcoming struct {
	packets int32  // behind the front
	head    int32  `snap:"-"` // of the second packet, in the pool, + 1
	left    int32  // flits of the front packet that are in the queue, when there is a second
	out     int32  // output virtual channel that the second has been given; -1: none
	ready   uint32 // step in which the second has its route or, if out >= 0, its virtual channel
	third   uint32 // step in which the third packet has its route
	asleep  Part   // what the second, which is in a list of those that wait for a virtual channel, waits for; 0: it is in none
}

// later is the later one of two steps.
func later(a, b uint32) uint32 {
	if int32(a-b) > 0 {
		return a
	}
	return b
}

func (d *domain) behindFront(sw *switchState, local uint32) *upcoming {
	return check.At(d.upcoming, uint32(sw.queue0)+local)
}

// isStreaming tells, where packets are the unit, whether that at the front of a queue crosses
// the switch, so that its step is that of its tail.
func (d *domain) isStreaming(queue int32) bool {
	return d.unit != nil && check.At(d.unit.streams, uint32(queue)>>6).under>>(queue&63)&1 != 0
}

// asksAhead tells whether the second packet of a queue may be given a virtual channel at
// all. With escape channels, and where packets must be whole before they ask, it waits
// until it is at the front.
func (d *domain) asksAhead() bool { return d.combined == 0 && d.escape == nil && !d.storeForward }

// joins notes that the head of a packet has come into a queue behind others, before a step.
func (d *domain) joins(sw *switchState, local uint32, v *inVC, step uint32) {
	u := d.behindFront(sw, local)
	switch u.packets++; u.packets {
	case 1:
		u.head, u.left, u.out, u.asleep = v.last, v.count-1, -1, 0
		u.ready = step + d.routeDelay
		if (d.combined != 0 || v.out < 0) && v.packet&headFlit != 0 && !d.isStreaming(sw.queue0+int32(local)) {
			u.ready = later(step, v.ready) + d.routeDelay // the front may have its route computed still
		}
		d.offerSecond(sw, local, v)
	case 2:
		u.third = step
		if u.out < 0 {
			u.third = later(step, u.ready)
		}
		u.third += d.routeDelay
	}
}

// offerSecond lets the second packet of a queue ask for a virtual channel, if there is one
// that may and the front holds its own. (While the bit of a queue stands for the second
// packet, the front is past that stage.)
func (d *domain) offerSecond(sw *switchState, local uint32, v *inVC) {
	u := d.behindFront(sw, local)
	if v.out >= 0 && u.packets > 0 && u.out < 0 && u.asleep == 0 && d.asksAhead() {
		sw.mask(local).va |= 1 << (local & 63)
		d.activate((sw.queue0 + int32(local)) >> 6)
	}
}

// mayAsk tells whether the second packet of a queue may ask for a virtual channel in a
// step: it has its route, the front has its virtual channel, and credits for all that is
// left of it, which is in the queue. The front then leaves whatever others do.
func (d *domain) mayAsk(sw *switchState, local uint32, v *inVC, step uint32) bool {
	u, bit := d.behindFront(sw, local), uint64(1)<<(local&63)
	if d.pool[u.head-1].hop == multicastHop { // its branches take theirs as they begin
		sw.mask(local).va &^= bit
		return false
	}
	if int32(u.ready-step) > 0 || int32(v.ready-step) > 0 && !d.isStreaming(sw.queue0+int32(local)) {
		return false
	}
	if d.cutThrough { // the credits are the front's from the start
		return true
	}
	credits := sw.outVC(uint32(v.out)).credits
	if credits == 0 { // wakeQueue tells
		sw.mask(local).va &^= bit
	}
	return credits >= u.left
}

// asking is the head that asks for a virtual channel on behalf of a queue.
func (d *domain) asking(sw *switchState, local uint32, v *inVC) *queued {
	if d.upcoming != nil && d.combined == 0 && v.out >= 0 {
		return &d.pool[d.behindFront(sw, local).head-1].queued
	}
	return &v.queued
}

// ofFronts keeps the matches of packets at the front of their queues, which observers
// are told of.
func (d *domain) ofFronts(sw *switchState, matches []request) []request {
	if d.upcoming == nil {
		return matches
	}
	kept := d.matcher.chosen[:0]
	for _, r := range matches {
		if sw.queue(r.local()).out < 0 {
			kept = append(kept, r)
		}
	}
	return kept
}

// leaves notes that the tail of the packet at the front of a queue has left in a step, and
// that the next one, which is there, is the front now, with what it has come to.
func (d *domain) leaves(sw *switchState, local uint32, v *inVC, step uint32) {
	u := d.behindFront(sw, local)
	if u.packets == 0 { // it is to be discarded
		return
	}
	u.packets--
	v.ready = later(step+1, u.ready)
	asleep := u.asleep
	if m, bit := sw.mask(local), uint64(1)<<(local&63); u.out >= 0 {
		v.out = u.out
		m.va &^= bit
		m.sa |= bit
	} else if asleep != 0 {
		m.va &^= bit
	}
	d.findSecond(sw, local, v, u.third, step+1)
	if asleep == PartCredit && d.observer != nil {
		d.observer.sleeps(d, sw.queue0+int32(local), asleep)
	}
}

// findSecond makes the packet behind the front of a queue, which has its route in a step,
// the second, and that behind it the third from another step on.
func (d *domain) findSecond(sw *switchState, local uint32, v *inVC, routed, from uint32) {
	u := d.behindFront(sw, local)
	u.out, u.asleep = -1, 0
	if u.packets == 0 {
		return
	}
	u.head, u.left = d.pool[v.last-1].next, 1
	for d.pool[u.head-1].packet&headFlit == 0 {
		u.head = d.pool[u.head-1].next
		u.left++
	}
	u.ready = routed
	if u.packets > 1 {
		u.third = later(from, routed) + d.routeDelay
	}
	d.offerSecond(sw, local, v)
}

// comes is the steps in which the second packet of a queue has its route and its virtual
// channel, if it comes to the front in step from; held is false if it has none yet.
func (d *domain) comes(queue int32, from uint32) (routed, ready uint32, held bool) {
	if d.upcoming == nil {
		return from + d.routeDelay, 0, false
	}
	u := &d.upcoming[queue]
	if u.out >= 0 {
		return from, later(from, u.ready), true
	}
	return later(from, u.ready), 0, false
}

// purgeUpcoming purges a queue ([purge.queue]) and brings what is kept of the packets
// behind its front up to date.
func (p *purge) purgeUpcoming(sw *switchState, local uint32) {
	d, v := p.d, sw.queue(local)
	u, queue := d.behindFront(sw, local), sw.queue0+int32(local)
	m, bit := sw.mask(local), uint64(1)<<(local&63)
	rises, stays := false, false
	if u.packets > 0 {
		second := &d.pool[u.head-1]
		o := sw.outPort(second.hop >> 16)
		if u.asleep != 0 { // it asks again
			d.waitNoMore(o, queue)
			u.asleep = 0
		}
		gone := p.takes(&second.packet)
		if gone && u.out >= 0 {
			sw.outVC(uint32(u.out)).owner = ^queue
			o.free |= 1 << (uint32(u.out) % uint32(d.vcs) & 15)
			p.released = append(p.released, o)
			u.out = -1
		}
		rises = !gone && p.takesFront(sw, local, v)
		stays = !gone && !rises
	}
	out, ready := u.out, u.ready
	now := d.steps.at[0].number
	p.queue(sw, local)
	u.packets = 0
	d.eachQueued(v, func(q *queued) { u.packets += q.packet & headFlit })
	if v.count > 0 && v.packet&headFlit != 0 {
		u.packets--
	}
	if rises && out >= 0 {
		v.out, v.ready = out, later(now, ready)
		m.va &^= bit
		m.sa |= bit
	}
	if v.out >= 0 {
		m.va &^= bit // it stood for the second
	}
	if !stays {
		d.findSecond(sw, local, v, now+d.routeDelay, now)
		return
	}
	third := u.third
	d.findSecond(sw, local, v, ready, now)
	u.third = later(third, u.third)
	if u.out = out; out >= 0 {
		m.va &^= bit
	}
}

// waitNoMore takes a queue out of the list of those that wait for a port.
func (d *domain) waitNoMore(o *outPort, queue int32) { d.unlink(&o.waiters, queue) }

// unlink takes a queue out of a list of those that wait, if it is there.
func (d *domain) unlink(list *int32, queue int32) {
	for at := list; *at != 0; at = &d.waitNext[*at-1] {
		if *at == queue+1 {
			*at = d.waitNext[queue]
			return
		}
	}
}

// secondWakes notes that the second packet of a queue, if it is that which slept, asks
// again.
func (d *domain) secondWakes(queue int32) (second bool) {
	if d.upcoming == nil {
		return false
	}
	u := &d.upcoming[queue]
	second = u.asleep != 0
	u.asleep = 0
	return second
}

func newUpcoming(n *network, queues int) []upcoming {
	if !n.config.Switch.Overlaps() {
		return nil
	}
	list := make([]upcoming, queues)
	for q := range list {
		list[q].out = -1
	}
	return list
}
