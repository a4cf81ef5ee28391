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

// LaneTurns is, by lane, whose turn it is; the owner keeps it for [HCA.NextOn].
type LaneTurns [32]laneTurn

// laneTurn is what is left of the turn of a QP on a lane.
type laneTurn struct {
	qp   QP
	left int64 // bytes
}

// NextOn is [HCA.Next] for a lane of [HCA.Lanes], with at most so many bytes: the next
// burst of the QP on the lane whose turn is not over, otherwise of that which was served
// longest ago. Cost: linear in the QPs that take turns.
func (h *HCA) NextOn(now sim.Time, lane uint8, most int64, turns *LaneTurns) (b *Burst, first, end sim.Time) {
	if now < h.busyUntil {
		panic("hca: a burst while the engine is busy")
	}
	turn := &turns[lane]
	h.choose(lane, turn)
	if qp := h.active[h.current].qp; turn.left == 0 || turn.qp != qp {
		*turn = laneTurn{qp, h.shared.quantum}
	}
	b = &h.shared.burst
	h.next(min(turn.left, most), b)
	if turn.left -= b.Size; b.Last {
		turn.left = 0 // a request ends a turn
	}
	first, end = h.send(now, b.QP, b.Size, b.First, b.Turned)
	return b, first, end
}

// choose makes it the turn of a QP on a lane: the one whose turn is not over, or the
// first. The QP leaves its place in the ring for the last one, so that those before it, of
// other lanes, keep their turn.
func (a *arbiter) choose(lane uint8, turn *laneTurn) {
	head := a.current
	if a.over {
		head = a.active[head].next
	}
	at := head
	for a.active[at].mark.Lane != lane || turn.left > 0 && a.active[at].qp != turn.qp {
		if at = a.active[at].next; at != head {
			continue
		}
		if turn.left == 0 {
			panic("hca: no QP on the lane")
		}
		turn.left = 0 // its QP waits for an engine
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
