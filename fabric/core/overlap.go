package core

import (
	"github.com/weft-sim/weft/sim/check"
)

func (d *Domain) behindFront(sw *SwitchState, local uint32) *upcoming {
	return check.At(d.Upcoming, uint32(sw.Queue0)+local)
}

// IsStreaming tells, with packets as the unit, whether a queue's front packet is crossing the
// switch, until its tail's step.
func (d *Domain) IsStreaming(queue int32) bool {
	return d.Unit != nil && check.At(d.Unit.streams, uint32(queue)>>6).under>>(queue&63)&1 != 0
}

// asksAhead is all ones if the second packet of a queue may get a virtual channel at all. With
// escape channels, and where packets must be whole to ask, it waits to be at the front.
func (d *Domain) asksAhead() uint64 {
	if d.Combined == 0 && d.escape == nil && !d.storeForward {
		return ^uint64(0)
	}
	return 0
}

// joins notes that a packet's head joined a queue behind others, before a step.
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

// offerSecond lets the second packet of a queue ask for a virtual channel, if it may and holds
// none, and the front holds its own. (While the bit of a queue stands for the second packet, the
// front is past that stage.)
func (d *Domain) offerSecond(sw *SwitchState, local uint32, v *InVC) {
	m, bit := sw.mask(local), uint64(1)<<(local&63)
	if v.Out >= 0 && m.second&^m.asleep&bit&d.ahead != 0 {
		m.va |= bit
		d.activate((sw.Queue0 + int32(local)) >> 6)
	}
}

// mayAsk tells whether the second packet of a queue may ask for a virtual channel in a step: it has
// its route, and the front has a virtual channel, credits for all that is left of it, and all of
// that in the queue. The front then leaves whatever others do.
func (d *Domain) mayAsk(sw *SwitchState, local uint32, v *InVC, step uint32) bool {
	u, bit := d.behindFront(sw, local), uint64(1)<<(local&63)
	if d.multicast != nil && d.Pool.At(u.head).Hop == multicastHop { // its branches take theirs as they begin
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
		return d.Pool.At(d.behindFront(sw, local).head)
	}
	return &v.Queued
}

// ofFronts keeps the matches of front packets, for observers.
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

// leaves notes that the tail of a queue's front packet left in a step, and that the next packet,
// which is there, is the front.
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

// findSecond makes the packet behind a queue's front, routed in a step, the second, and the one
// behind it the third from another step on.
func (d *Domain) findSecond(sw *SwitchState, local uint32, v *InVC, routed, from uint32) {
	u, m, bit := d.behindFront(sw, local), sw.mask(local), uint64(1)<<(local&63)
	u.out = -1
	m.asleep &^= bit
	m.second &^= bit
	if u.packets == 0 {
		return
	}
	m.second |= bit
	u.head, u.left = d.Pool.headFrom(d.seconds[sw.Queue0+int32(local)])
	u.left++ // the front
	u.ready = routed
	if u.packets > 1 {
		u.third = later(from, routed) + d.RouteDelay
	}
	d.offerSecond(sw, local, v)
}

// Comes is the steps in which a queue's second packet has its route and its virtual channel, if it
// is the front from step from on; held is false if it has no channel yet.
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
