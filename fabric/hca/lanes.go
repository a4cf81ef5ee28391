package hca

import "github.com/weft-sim/weft/sim"

// This file is for owners that choose between virtual lanes, as the arbitration of an
// adapter's port does; round robin is then between the QPs of a lane.

// Lanes is the set of lanes on which QPs that take turns have requests. Cost: linear in
// these QPs.
func (h *HCA) Lanes() (set uint32) {
	if h.current < 0 {
		return 0
	}
	for at := h.current; ; {
		set |= 1 << h.active[at].mark.Lane
		if at = h.active[at].next; at == h.current {
			return set
		}
	}
}

// NextOn is [HCA.Next] for a lane of [HCA.Lanes]: the next burst of the QP on it that was
// served longest ago, of at most so many bytes. Cost: linear in the QPs that take turns.
func (h *HCA) NextOn(now sim.Time, lane uint8, most int64) (b *Burst, first, end sim.Time) {
	if now < h.busyUntil {
		panic("hca: a burst while the engine is busy")
	}
	h.choose(lane)
	b = &h.shared.burst
	h.next(min(h.shared.quantum, most), b)
	first, end = h.send(now, b.QP, b.Size, b.First, b.Turned)
	return b, first, end
}

// choose makes it the turn of the first QP on a lane. The QP leaves its place in the ring
// for the last one, so that those before it, of other lanes, keep their turn.
func (a *arbiter) choose(lane uint8) {
	head := a.current
	if a.over {
		head = a.active[head].next
	}
	at := head
	for a.active[at].mark.Lane != lane {
		if at = a.active[at].next; at == head {
			panic("hca: no QP on the lane")
		}
	}
	a.current, a.over = at, false
	if at == head {
		return // the last one behind itself
	}
	q := &a.active[at]
	a.active[q.prev].next, a.active[q.next].prev = q.next, q.prev
	last := a.active[head].prev
	q.next, q.prev = head, last
	a.active[last].next, a.active[head].prev = at, at
}
