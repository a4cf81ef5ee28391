package core

import (
	"github.com/weft-sim/weft/sim/check"
)

// upcoming is what a queue keeps of the packets behind the one at its front, where the
// stages of a switch overlap: while the front bids for the crossbar, the second packet
// asks for a virtual channel, and the third has its route computed. Each stage works on
// one packet of a queue at a time. 32 bytes.
//
// A virtual channel is given ahead only when the front waits for nothing but its turn
// (see mayAsk). Otherwise packets of two queues could wait for ever, each for the
// channel that is held behind the other, although the routing is free of deadlock.
type upcoming struct {
	packets int32  // behind the front, if there are any (masks.second)
	head    int32  `snap:"-"` // of the second packet, in the pool, + 1
	left    int32  // flits of the front packet that are in the queue, when there is a second
	out     int32  // output virtual channel that the second has been given; -1: none
	ready   uint32 // step in which the second has its route or, if out >= 0, its virtual channel
	third   uint32 // step in which the third packet has its route
	waits   Part   // what the second waits for, while it is asleep (masks.asleep)
}

// later is the later one of two steps.
func later(a, b uint32) uint32 {
	if int32(a-b) > 0 {
		return a
	}
	return b
}

func (d *Domain) behindFront(sw *SwitchState, local uint32) *upcoming {
	return check.At(d.Upcoming, uint32(sw.Queue0)+local)
}

// IsStreaming tells, where packets are the unit, whether that at the front of a queue crosses
// the switch, so that its step is that of its tail.
func (d *Domain) IsStreaming(queue int32) bool {
	return d.Unit != nil && check.At(d.Unit.streams, uint32(queue)>>6).under>>(queue&63)&1 != 0
}

// asksAhead is all ones if the second packet of a queue may be given a virtual channel at
// all. With escape channels, and where packets must be whole before they ask, it waits
// until it is at the front.
func (d *Domain) asksAhead() uint64 {
	if d.Combined == 0 && d.escape == nil && !d.storeForward {
		return ^uint64(0)
	}
	return 0
}

// joins notes that the head of a packet has come into a queue behind others, before a step.
func (d *Domain) joins(sw *SwitchState, local uint32, v *InVC, step uint32) {
	u, m, bit := d.behindFront(sw, local), sw.mask(local), uint64(1)<<(local&63)
	if m.second&bit == 0 { // its record, which is often far, is written without being read
		m.second |= bit
		ready := step
		if (d.Combined != 0 || v.Out < 0) && v.Packet&HeadFlit != 0 && !d.IsStreaming(sw.Queue0+int32(local)) {
			ready = later(step, v.Ready) // the front may have its route computed still
		}
		u.packets, u.head, u.left, u.out, u.ready = 1, v.Last, v.Count-1, -1, ready+d.RouteDelay
		d.offerSecond(sw, local, v)
		return
	}
	if u.packets++; u.packets == 2 {
		u.third = step
		if u.out < 0 {
			u.third = later(step, u.ready)
		}
		u.third += d.RouteDelay
	}
}

// offerSecond lets the second packet of a queue, which holds no virtual channel, ask for one, if
// there is one that may and the front holds its own. (While the bit of a queue stands for the
// second packet, the front is past that stage.)
func (d *Domain) offerSecond(sw *SwitchState, local uint32, v *InVC) {
	m, bit := sw.mask(local), uint64(1)<<(local&63)
	if v.Out >= 0 && m.second&^m.asleep&bit&d.ahead != 0 {
		m.va |= bit
		d.activate((sw.Queue0 + int32(local)) >> 6)
	}
}

// mayAsk tells whether the second packet of a queue may ask for a virtual channel in a
// step: it has its route, the front has its virtual channel, and credits for all that is
// left of it, which is in the queue. The front then leaves whatever others do.
func (d *Domain) mayAsk(sw *SwitchState, local uint32, v *InVC, step uint32) bool {
	u, bit := d.behindFront(sw, local), uint64(1)<<(local&63)
	if d.multicast != nil && d.Pool[u.head-1].Hop == multicastHop { // its branches take theirs as they begin
		sw.mask(local).va &^= bit
		return false
	}
	if int32(u.ready-step) > 0 || int32(v.Ready-step) > 0 && !d.IsStreaming(sw.Queue0+int32(local)) {
		return false
	}
	if d.cutThrough { // the credits are the front's from the start
		return true
	}
	credits := sw.outVC(uint32(v.Out)).credits
	if credits == 0 { // wakeQueue tells
		sw.mask(local).va &^= bit
	}
	return credits >= u.left
}

// asking is the head that asks for a virtual channel on behalf of a queue.
func (d *Domain) asking(sw *SwitchState, local uint32, v *InVC) *Queued {
	if d.Upcoming != nil && d.Combined == 0 && v.Out >= 0 {
		return &d.Pool[d.behindFront(sw, local).head-1].Queued
	}
	return &v.Queued
}

// ofFronts keeps the matches of packets at the front of their queues, which observers
// are told of.
func (d *Domain) ofFronts(sw *SwitchState, matches []Request) []Request {
	if d.Upcoming == nil {
		return matches
	}
	kept := d.Matcher.chosen[:0]
	for _, r := range matches {
		if sw.Queue(r.Local()).Out < 0 {
			kept = append(kept, r)
		}
	}
	return kept
}

// leaves notes that the tail of the packet at the front of a queue has left in a step, and
// that the next one, which is there, is the front now, with what it has come to.
func (d *Domain) leaves(sw *SwitchState, local uint32, v *InVC, step uint32) {
	u, m, bit := d.behindFront(sw, local), sw.mask(local), uint64(1)<<(local&63)
	if m.second&bit == 0 { // it is to be discarded
		return
	}
	u.packets--
	v.Ready = later(step+1, u.ready)
	asleep := m.asleep&bit != 0
	if u.out >= 0 {
		v.Out = u.out
		m.va &^= bit
		m.sa |= bit
	} else if asleep {
		m.va &^= bit
	}
	d.findSecond(sw, local, v, u.third, step+1)
	if asleep && u.waits == PartCredit && d.observer != nil {
		d.observer.Sleeps(d, sw.Queue0+int32(local), PartCredit)
	}
}

// findSecond makes the packet behind the front of a queue, which has its route in a step,
// the second, and that behind it the third from another step on.
func (d *Domain) findSecond(sw *SwitchState, local uint32, v *InVC, routed, from uint32) {
	u, m, bit := d.behindFront(sw, local), sw.mask(local), uint64(1)<<(local&63)
	u.out = -1
	m.asleep &^= bit
	m.second &^= bit
	if u.packets == 0 {
		return
	}
	m.second |= bit
	u.head, u.left = d.Pool[v.Last-1].Next, 1
	for d.Pool[u.head-1].Packet&HeadFlit == 0 {
		u.head = d.Pool[u.head-1].Next
		u.left++
	}
	u.ready = routed
	if u.packets > 1 {
		u.third = later(from, routed) + d.RouteDelay
	}
	d.offerSecond(sw, local, v)
}

// Comes is the steps in which the second packet of a queue has its route and its virtual
// channel, if it comes to the front in step from; held is false if it has none yet.
func (d *Domain) Comes(queue int32, from uint32) (routed, ready uint32, held bool) {
	if d.Upcoming == nil {
		return from + d.RouteDelay, 0, false
	}
	u := &d.Upcoming[queue]
	if u.out >= 0 {
		return from, later(from, u.ready), true
	}
	return later(from, u.ready), 0, false
}

// purgeUpcoming purges a queue ([purge.queue]) and brings what is kept of the packets
// behind its front up to date.
func (p *purge) purgeUpcoming(sw *SwitchState, local uint32) {
	d, v := p.d, sw.Queue(local)
	u, queue := d.behindFront(sw, local), sw.Queue0+int32(local)
	m, bit := sw.mask(local), uint64(1)<<(local&63)
	rises, stays := false, false
	if m.second&bit != 0 {
		second := &d.Pool[u.head-1]
		o := sw.OutPort(second.Hop >> 16)
		if m.asleep&bit != 0 { // it asks again
			d.waitNoMore(o, queue)
			m.asleep &^= bit
		}
		gone := p.takes(second.Packet)
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
	now := d.Steps.at[0].Number
	p.queue(sw, local)
	u.packets = 0
	d.EachQueued(v, func(q *Queued) { u.packets += q.Packet & HeadFlit })
	if v.Count > 0 && v.Packet&HeadFlit != 0 {
		u.packets--
	}
	if rises && out >= 0 {
		v.Out, v.Ready = out, later(now, ready)
		m.va &^= bit
		m.sa |= bit
	}
	if v.Out >= 0 {
		m.va &^= bit // it stood for the second
	}
	if !stays {
		d.findSecond(sw, local, v, now+d.RouteDelay, now)
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
func (d *Domain) waitNoMore(o *OutPort, queue int32) { d.unlink(&o.waiters, queue) }

// unlink takes a queue out of a list of those that wait, if it is there.
func (d *Domain) unlink(list *int32, queue int32) {
	for at := list; *at != 0; at = &d.waitNext[*at-1] {
		if *at == queue+1 {
			*at = d.waitNext[queue]
			return
		}
	}
}

// secondWakes notes that the second packet of a queue, if it is that which slept, asks
// again.
func (m *masks) secondWakes(bit uint64) (second bool) {
	second = m.asleep&bit != 0
	m.asleep &^= bit
	return second
}

func newUpcoming(n *network, queues int) []upcoming {
	if !n.Config.Switch.Overlaps() {
		return nil
	}
	list := make([]upcoming, queues)
	for q := range list {
		list[q].out = -1
	}
	return list
}
