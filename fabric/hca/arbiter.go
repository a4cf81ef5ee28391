package hca

// QP names a queue pair to an adapter: any number, unique on it.
type QP int64

// Request is a work request: so many bytes on a QP. ID is the owner's.
type Request struct {
	QP    QP
	Bytes int64
	ID    int32
}

// Burst is a part of a request that is sent in one go.
type Burst struct {
	Request
	Size  int64 // of this part
	First bool  // of the request
	Last  bool  // of the request
	// Turned tells that the burst before was of another QP.
	Turned bool
}

// arbiter holds the send queues of an adapter and serves the active ones round
// robin, up to a quantum of bytes at a time. Requests of one QP stay in order.
type arbiter struct {
	last    QP    // served last
	current int32 // the QP served last if it is still active, else the one to serve next; -1 if none
	over    bool  // current has had its turn
	served  bool
	active  []activeQP // the ring; freed entries are linked
	queue   []queued
	index   map[QP]int32 // position in active, once scanning gets long
	free    int32        // list of free entries of active
	idle    int32        // list of free entries of queue
}

type activeQP struct {
	qp         QP
	head, tail int32 // of its requests in queue
	sent       int64 // of the first request
	next, prev int32 // in the ring
}

type queued struct {
	Request
	next int32
}

// fewActive is the number of active QPs, and of requests, that an adapter has
// memory for from the start.
const fewActive = 4

// longRing is the number of active QPs beyond which they are found by an index.
const longRing = 16

func newArbiter() arbiter {
	return arbiter{current: -1, free: -1, idle: -1}
}

// post appends a request to its QP's send queue.
func (a *arbiter) post(r Request) {
	q := a.idle
	if q >= 0 {
		a.idle = a.queue[q].next
	} else {
		q = int32(len(a.queue))
		a.queue = append(a.queue, queued{})
	}
	to := &a.queue[q]
	to.QP, to.Bytes, to.ID, to.next = r.QP, r.Bytes, r.ID, -1
	if at := a.find(r.QP); at >= 0 {
		a.queue[a.active[at].tail].next = q
		a.active[at].tail = q
		return
	}
	a.activate(r.QP, q)
}

// find returns the position of a QP in active, or -1.
func (a *arbiter) find(qp QP) int32 {
	if a.index == nil && a.current >= 0 {
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
	if at, ok := a.index[qp]; ok {
		return at
	}
	return -1
}

func (a *arbiter) buildIndex() {
	a.index = map[QP]int32{}
	for at := a.current; ; {
		a.index[a.active[at].qp] = at
		if at = a.active[at].next; at == a.current {
			return
		}
	}
}

// activate adds a QP with one request at the end of the ring: after all that wait, before the
// one that is being served.
func (a *arbiter) activate(qp QP, request int32) {
	at := a.free
	if at >= 0 {
		a.free = a.active[at].next
	} else {
		at = int32(len(a.active))
		a.active = append(a.active, activeQP{})
	}
	q := &a.active[at]
	q.qp, q.head, q.tail, q.sent = qp, request, request, 0
	if a.current < 0 {
		a.current = at
		a.active[at].next, a.active[at].prev = at, at
	} else {
		next := a.current
		prev := a.active[next].prev
		a.active[at].next, a.active[at].prev = next, prev
		a.active[prev].next, a.active[next].prev = at, at
	}
	if a.index != nil {
		a.index[qp] = at
	}
}

// next takes the next burst into b: of the QP whose turn it is, as much of its first
// request as the quantum allows. A request ends a turn.
func (a *arbiter) next(quantum int64, b *Burst) bool {
	if a.current < 0 {
		return false
	}
	if a.over {
		a.current = a.active[a.current].next
	}
	at := a.current
	q := &a.active[at]
	r := &a.queue[q.head]
	size := min(r.Bytes-q.sent, quantum)
	b.Request, b.Size = r.Request, size
	b.First, b.Last, b.Turned = q.sent == 0, q.sent+size == r.Bytes, a.served && a.last != q.qp
	a.last, a.served = q.qp, true
	q.sent += size
	a.over = true
	if !b.Last {
		return true
	}
	q.sent = 0
	done := q.head
	q.head = r.next
	r.next = a.idle
	a.idle = done
	if q.head < 0 {
		a.deactivate(at)
	}
	return true
}

// turn notes that a request of a QP is served at once, with all queues empty, and
// tells whether the burst before was of another.
func (a *arbiter) turn(qp QP) (turned bool) {
	turned = a.served && a.last != qp
	a.last, a.served = qp, true
	return turned
}

// coming is the request whose turn is next, as far as can be told by now; nil if
// there is none.
func (a *arbiter) coming() *Request {
	if a.current < 0 {
		return nil
	}
	at := a.current
	if a.over {
		at = a.active[at].next
	}
	return &a.queue[a.active[at].head].Request
}

func (a *arbiter) deactivate(at int32) {
	q := &a.active[at]
	if a.index != nil {
		delete(a.index, q.qp)
	}
	a.active[q.prev].next, a.active[q.next].prev = q.next, q.prev
	a.current, a.over = q.next, false
	if q.next == at {
		a.current = -1
	}
	q.next = a.free
	a.free = at
}
