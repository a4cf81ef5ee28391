package hca

import (
	"slices"

	"github.com/weft-sim/weft/sim"
)

// QP names a queue pair to an adapter: any number, unique on it.
type QP int64

// Request is a work request: so many bytes on a QP.
type Request struct {
	QP    QP
	Bytes int64
	Mark
}

// Mark is the owner's, for telling requests apart and where they go.
type Mark struct {
	Peer  QP // at the other adapter
	ID    int32
	To    int32 // the other adapter
	Quiet bool
	Lane  uint8 // virtual lane, below 32, where the owner chooses by lanes; the same for all requests of a QP
}

// Burst is a part of a request that is sent in one go.
type Burst struct {
	QP   QP
	Size int64 // of this part
	Mark
	First bool // of the request
	Last  bool // of the request
	// Turned tells that the burst before was of another QP.
	Turned bool
}

// arbiter holds the send queues of an adapter and serves the active ones round
// robin, up to a quantum of bytes at a time. Requests of one QP stay in order.
//
// With a limited number of engines so many QPs take part in the round; an engine
// stays with its QP until a request is sent, and the others wait in the order in
// which they became active or were last served: with one engine, requests are
// sent whole. Gather engines that an arbiter assigns to QPs are described in Kagan
// et al., US patent 7,676,597 (filed 2002); the order of service is assumed.
type arbiter struct {
	engines int // 0: as many as there are QPs
	last    QP  // served last
	served  bool
	over    bool         // the first of the ring has had its turn
	ring    []*sendQueue // that take turns: the one served last if it is still active, else the one to serve next, first
	waiting []*sendQueue // without an engine
	index   map[QP]*sendQueue
	free    []*sendQueue // of QPs that have nothing to send
}

// sendQueue is that of a QP with requests.
type sendQueue struct {
	qp       QP
	begun    bool      // of the first request, some is sent
	requests []Request // the first as far as it is left
}

// post appends a request to its QP's send queue. A QP that had none comes to the end of the
// ring, behind all that wait for their turn and before the one that is being served, or of
// those that wait for an engine.
func (a *arbiter) post(r Request) {
	if q := a.index[r.QP]; q != nil {
		q.requests = append(q.requests, r)
		return
	}
	q := &sendQueue{}
	if last := len(a.free) - 1; last >= 0 {
		q, a.free = a.free[last], a.free[:last]
	}
	q.qp, q.begun, q.requests = r.QP, false, append(q.requests[:0], r)
	a.enter(q)
	if a.engines > 0 && len(a.ring) == a.engines {
		a.waiting = append(a.waiting, q)
	} else {
		a.ring = append(a.ring, q)
	}
}

func (a *arbiter) enter(q *sendQueue) {
	if a.index == nil {
		a.index = map[QP]*sendQueue{}
	}
	a.index[q.qp] = q
}

// turn makes it the turn of the next QP if that of the first is over.
func (a *arbiter) turn() {
	if a.over {
		a.ring, a.over = append(a.ring[1:], a.ring[0]), false
	}
}

// next takes the next burst into b: of the QP whose turn it is, as much of its first
// request as the quantum allows. A request ends a turn, and gives the QP's engine to the
// first that waits for one; the QP itself waits then, if it has more to send.
func (a *arbiter) next(quantum int64, b *Burst) bool {
	if len(a.ring) == 0 {
		return false
	}
	a.turn()
	q := a.ring[0]
	r := &q.requests[0]
	size := min(r.Bytes, quantum)
	*b = Burst{QP: q.qp, Size: size, Mark: r.Mark, First: !q.begun, Last: size == r.Bytes, Turned: a.served && a.last != q.qp}
	a.last, a.served = q.qp, true
	r.Bytes -= size
	q.begun, a.over = !b.Last, true
	if !b.Last {
		return true
	}
	switch {
	case len(q.requests) == 1:
		delete(a.index, q.qp)
		a.ring, a.over, a.free = a.ring[1:], false, append(a.free, q)
	case len(a.waiting) > 0:
		q.requests = q.requests[1:]
		a.ring, a.over, a.waiting = a.ring[1:], false, append(a.waiting, q)
	default:
		q.requests = q.requests[1:]
		return true
	}
	if len(a.waiting) > 0 {
		a.ring, a.waiting = append(a.ring, a.waiting[0]), a.waiting[1:]
	}
	return true
}

// What follows is for owners that choose between virtual lanes, as the arbitration of an
// adapter's port does; round robin is then between the QPs of a lane.

// Lanes is the set of lanes on which QPs that take turns have requests. Cost: linear in
// these QPs.
func (h *HCA) Lanes() (set uint32) {
	for _, q := range h.ring {
		set |= 1 << q.requests[0].Lane
	}
	return set
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
	if qp := h.ring[0].qp; turn.left == 0 || turn.qp != qp {
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
// first. The QP leaves its place in the ring for the first one, so that those before it, of
// other lanes, keep their turn.
func (a *arbiter) choose(lane uint8, turn *laneTurn) {
	a.turn()
	on := func(q *sendQueue) bool {
		return q.requests[0].Lane == lane && (turn.left == 0 || q.qp == turn.qp)
	}
	at := slices.IndexFunc(a.ring, on)
	if at < 0 && turn.left > 0 {
		turn.left = 0 // its QP waits for an engine
		at = slices.IndexFunc(a.ring, on)
	}
	if at < 0 {
		panic("hca: no QP on the lane")
	}
	q := a.ring[at]
	copy(a.ring[1:at+1], a.ring[:at])
	a.ring[0] = q
}
