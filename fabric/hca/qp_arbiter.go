package hca

import "github.com/weft-sim/weft/sim"

// QP names a queue pair to an adapter: any number, unique on it.
type QP int64

// Responder, added to a QP's number, names its adapter's queue of answers to reads, under the same
// context.
const Responder QP = 1 << 61

// Request is a work request: so many bytes on a QP.
type Request struct {
	QP    QP
	Bytes int64
	Mark
}

// Mark is the owner's, for telling requests apart and where they go.
type Mark struct {
	Peer   QP // at the other adapter
	ID     int32
	To     int32 // the other adapter
	Quiet  bool
	Source Source
	Lane   uint8 // virtual lane, below 32, where the owner chooses by lanes; the same for all requests of a QP
}

// Source is where the bytes of a request are.
type Source uint8

// Sources: anywhere; a buffer, fetched even below the limit of inline requests; memory registered
// for this request, whose pages the adapter has to look up.
const (
	Anywhere Source = iota
	Packed
	Registered
)

// Burst is a part of a request that is sent in one go.
type Burst struct {
	QP   QP
	Size int64 // of this part
	Mark
	First bool // of the request
	Last  bool // of the request
}

// arbiter holds an adapter's send queues and serves the active ones round robin, up to a quantum of
// bytes at a time. Requests of a QP stay in order.
//
// With a limited number of engines so many QPs take part in the round; an engine stays with its QP
// until a request is sent, and the others wait in the order in which they became active or were last
// served. Gather engines that an arbiter assigns to QPs are described in Kagan et al., US patent
// 7,676,597 (filed 2002); the order of service is assumed.
type arbiter struct {
	current int32      // the QP served last if it is still active, else the one to serve next; -1 if none
	over    bool       // current has had its turn
	active  []activeQP // the ring; freed entries are linked
	queue   []queued   // requests that are not the first of their QP
	crowd   *crowd     // nil: few are active, and there is an engine for all
	free    int32      // list of free entries of active
	idle    int32      // list of free entries of queue
}

// crowd is what an arbiter keeps beyond the ring for many QPs.
type crowd struct {
	index   map[QP]int32    // position in active
	engines int             // 0: as many as there are QPs
	serving int             // QPs in the ring, where engines are limited
	waiting sim.FIFO[int32] // positions of QPs without an engine
}

// activeQP is a QP with its first request, in a cache line.
type activeQP struct {
	qp         QP
	left       int64 // bytes of the first request that are to be sent
	mark       Mark
	begun      bool  // of the first request, some is sent
	last       int32 // of its further requests in queue, a ring; -1: none
	next, prev int32 // in the ring of QPs
}

type queued struct {
	bytes int64
	mark  Mark
	next  int32
}

// longRing is the number of active QPs beyond which they are found by an index.
const longRing = 16

// post appends a request to its QP's send queue.
func (a *arbiter) post(r *Request) {
	at := a.find(r.QP)
	if at < 0 {
		a.activate(r)
		return
	}
	n := a.idle
	if n >= 0 {
		a.idle = a.queue[n].next
	} else {
		n = int32(len(a.queue))
		a.queue = append(a.queue, queued{})
	}
	q, to := &a.active[at], &a.queue[n]
	to.bytes, to.mark = r.Bytes, r.Mark
	if q.last < 0 {
		to.next = n
	} else {
		last := &a.queue[q.last]
		to.next, last.next = last.next, n
	}
	q.last = n
}

// find returns the position of a QP in active, or -1.
func (a *arbiter) find(qp QP) int32 {
	if a.crowd == nil && a.current >= 0 {
		at := a.current
		for visited := 1; ; visited++ {
			if a.active[at].qp == qp {
				return at
			}
			if at = a.active[at].next; at == a.current {
				return -1
			}
			if visited == longRing {
				a.buildIndex()
				break
			}
		}
	}
	if a.crowd != nil {
		if at, ok := a.crowd.index[qp]; ok {
			return at
		}
	}
	return -1
}

func (a *arbiter) buildIndex() {
	a.crowd = &crowd{index: map[QP]int32{}}
	for at := a.current; ; {
		a.crowd.index[a.active[at].qp] = at
		if at = a.active[at].next; at == a.current {
			return
		}
	}
}

// activate adds a QP with one request at the end of the ring, or of those that wait for an engine.
func (a *arbiter) activate(r *Request) {
	at := a.free
	if at >= 0 {
		a.free = a.active[at].next
	} else {
		at = int32(len(a.active))
		a.active = append(a.active, activeQP{})
	}
	q := &a.active[at]
	q.qp, q.left, q.begun, q.last = r.QP, r.Bytes, false, -1
	q.mark = r.Mark
	if a.crowd != nil {
		a.crowd.index[r.QP] = at
		if !a.crowd.admits(at) {
			return
		}
	}
	a.link(at)
}

// admits tells whether there is an engine for the QP at a position; if not, it is kept waiting.
func (c *crowd) admits(at int32) bool {
	if c.engines == 0 {
		return true
	}
	if c.serving == c.engines {
		c.waiting.Put(at)
		return false
	}
	c.serving++
	return true
}

// link adds a QP at the end of the ring: behind all that wait for their turn, before the one
// served.
func (a *arbiter) link(at int32) {
	q := &a.active[at]
	if a.current < 0 {
		a.current = at
		q.next, q.prev = at, at
		return
	}
	next := &a.active[a.current]
	q.next, q.prev = a.current, next.prev
	a.active[next.prev].next, next.prev = at, at
}

// yield passes the engine of a QP that has sent a request to the first that waits; the QP then
// waits, too, if it has more.
func (a *arbiter) yield(at int32, more bool) {
	c := a.crowd
	if c == nil || c.engines == 0 {
		return
	}
	if c.waiting.Len() == 0 {
		if !more {
			c.serving--
		}
		return
	}
	if more {
		a.unlink(at)
		c.waiting.Put(at)
	}
	a.link(c.waiting.Take())
}

// next takes the next burst into b: the quantum's part of the first request of the QP whose turn it
// is. A request ends a turn.
func (a *arbiter) next(quantum int64, b *Burst) bool {
	if a.current < 0 {
		return false
	}
	if a.over {
		a.current = a.active[a.current].next
	}
	at := a.current
	q := &a.active[at]
	size := min(q.left, quantum)
	b.QP, b.Size, b.Mark = q.qp, size, q.mark
	b.First, b.Last = !q.begun, size == q.left
	q.left -= size
	q.begun = true
	a.over = true
	if !b.Last {
		return true
	}
	if q.last < 0 {
		a.deactivate(at)
		a.yield(at, false)
		return true
	}
	last := &a.queue[q.last]
	n := last.next
	r := &a.queue[n]
	q.left, q.mark, q.begun = r.bytes, r.mark, false
	if last.next = r.next; n == q.last {
		q.last = -1
	}
	r.next = a.idle
	a.idle = n
	a.yield(at, true)
	return true
}

func (a *arbiter) deactivate(at int32) {
	q := &a.active[at]
	if a.crowd != nil {
		delete(a.crowd.index, q.qp)
	}
	a.unlink(at)
	q.next = a.free
	a.free = at
}

// unlink takes a QP out of the ring; the turn goes to the next.
func (a *arbiter) unlink(at int32) {
	q := &a.active[at]
	a.active[q.prev].next, a.active[q.next].prev = q.next, q.prev
	a.current, a.over = q.next, false
	if q.next == at {
		a.current = -1
	}
}

// For owners that choose between virtual lanes, as a port's arbitration does: round robin is then
// between the QPs of a lane.

// Lanes is the set of lanes on which QPs that take turns have requests. Cost: linear in these QPs.
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

// NextOn is [HCA.Next] for a lane of [HCA.Lanes], with at most so many bytes: of the QP on the lane
// whose turn is not over, or else that was served longest ago. Cost: linear in the QPs that take
// turns.
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
	first, end = h.send(now, b)
	return b, first, end
}

// choose gives the turn to a QP on a lane: the one whose turn is not over, or the first. The QP
// becomes the ring's last, so that QPs of other lanes before it keep their turn.
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
	if at != head {
		a.unlink(at)
		a.current = head
		a.link(at)
	}
	a.current, a.over = at, false
}
