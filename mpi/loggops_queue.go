package mpi

import (
	"cmp"
	"math/bits"
	"slices"
)

// timedEvent is an event of the LogGOPS machine. Events are ordered by (time, number).
type timedEvent struct {
	time   int64
	number int64
	op     int32
	kind   Kind
	parked bool // it stands for a parkGroup
}

// radixQueue is a monotone priority queue of events (Ahuja, Mehlhorn, Orlin, Tarjan, Faster
// Algorithms for the Shortest Path Problem, JACM 1990): no event may be earlier than the last one
// that came out. Bucket i > 0 holds the events whose time differs from the time of the last one
// first in bit i-1, bucket 0 the events of the same time, sorted by number. An event moves at most
// once per bit of its delay; unlike a binary heap's, accesses to memory are sequential.
//
// Unlike the kernel's queue, it takes events back with a later time and their old number, as
// LogGOPS does.
type radixQueue struct {
	buckets [65][]timedEvent
	head    int       // of bucket 0
	inserts timedHeap // of the last time, with a number out of turn
	last    int64
	size    int
	heap    timedHeap // in place of the buckets where events may be earlier than the last one out
	anyTime bool
}

func (q *radixQueue) push(e timedEvent) {
	q.size++
	if q.anyTime {
		q.heap.push(e)
		return
	}
	i := bits.Len64(uint64(e.time ^ q.last))
	if now := q.buckets[0]; i == 0 && q.head < len(now) && now[len(now)-1].number > e.number {
		q.inserts.push(e)
		return
	}
	q.buckets[i] = append(q.buckets[i], e)
}

// pop removes the first event; the queue must not be empty.
func (q *radixQueue) pop() timedEvent {
	if q.anyTime {
		q.size--
		return q.heap.pop()
	}
	if q.head == len(q.buckets[0]) && len(q.inserts) == 0 {
		q.refill()
	}
	q.size--
	if len(q.inserts) > 0 && (q.head == len(q.buckets[0]) || q.inserts[0].number < q.buckets[0][q.head].number) {
		return q.inserts.pop()
	}
	e := q.buckets[0][q.head]
	q.head++
	return e
}

// refill moves the earliest events into bucket 0.
func (q *radixQueue) refill() {
	q.buckets[0] = q.buckets[0][:0]
	q.head = 0
	i := 1
	for len(q.buckets[i]) == 0 {
		i++
	}
	from := q.buckets[i]
	first := from[0].time
	for _, e := range from {
		first = min(first, e.time)
	}
	q.last = first
	for _, e := range from {
		j := bits.Len64(uint64(e.time ^ first))
		q.buckets[j] = append(q.buckets[j], e)
	}
	q.buckets[i] = from[:0]
	byNumber := func(a, b timedEvent) int { return cmp.Compare(a.number, b.number) }
	if now := q.buckets[0]; !slices.IsSortedFunc(now, byNumber) {
		slices.SortFunc(now, byNumber)
	}
}

// timedHeap is a binary heap of events by (time, number). It is not generic, as other heaps here:
// calls of a type parameter's method are not inlined, and heaps are where a run with many waiting
// events spends most of its time.
type timedHeap []timedEvent

func (e *timedEvent) before(o *timedEvent) bool {
	return e.time < o.time || e.time == o.time && e.number < o.number
}

func (q *timedHeap) push(e timedEvent) {
	h := append(*q, e)
	i := len(h) - 1
	for i > 0 && e.before(&h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = e
	*q = h
}

func (q *timedHeap) pop() timedEvent {
	h := *q
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	i := 0
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].before(&h[c]) {
			c++
		}
		if !h[c].before(&last) {
			break
		}
		h[i] = h[c]
		i = c
	}
	if len(h) > 0 {
		h[i] = last
	}
	*q = h
	return first
}

// Waiting for a busy resource. By the rules, an event that finds its CPU or NIC busy goes back into
// the queue at the time when that will be free, with its old number: up to n times each, of n events
// that wait. But events that need the same resources always go back to the same time, and only the
// one with the lowest number gets anywhere. So they wait in a group, sorted by number, and the first
// alone stands in the queue. Times and order are as the rules have them: free times never sink, so
// that an event that finds the resource still busy merely moves on, and the numbers decide at the end.
//
// In the compatible mode with several CPUs events can be released into the past; there the rules
// are followed literally.

// parkGroup holds the events of one kind, rank, CPU and NIC that wait.
type parkGroup struct {
	heap  timedHeap // by number: times are 0
	first int64     // number of the event that stands in the queue for the group; others that did are stale
}

// parkGroup finds the group of an event: messages, sends and calcs of a rank need different
// resources.
func (m *loggopsMachine) parkGroup(kind Kind, rank int32, cpu, nic uint8) *parkGroup {
	slot := int64(rank)*3 + int64(kind-Send)/2 // send 0, calc 1
	if kind == arrival {
		slot = int64(rank)*3 + 2
	}
	if m.cpus == 1 && m.nics == 1 {
		return &m.groups[slot]
	}
	if kind == Calc {
		nic = 0
	}
	key := slot<<16 | int64(cpu)<<8 | int64(nic)
	g := m.sparse[key]
	if g == nil {
		if m.sparse == nil { // nothing has waited, also of a state that was read
			m.sparse = map[int64]*parkGroup{}
		}
		g = &parkGroup{}
		m.sparse[key] = g
	}
	return g
}

// park makes e wait in g if its resources are busy, until free. It returns the event to carry out
// now, or false; unpark must follow once that event has been carried out.
func (m *loggopsMachine) park(e *timedEvent, g *parkGroup, free int64) bool {
	if e.parked {
		if e.number != g.first || len(g.heap) == 0 {
			return false // stale
		}
		if free > e.time {
			m.queue.push(timedEvent{free, e.number, e.op, e.kind, true})
			return false
		}
		g.heap.pop()
		return true
	}
	if free <= e.time {
		return true
	}
	if m.queue.anyTime {
		m.queue.push(timedEvent{free, e.number, e.op, e.kind, false})
		return false
	}
	if len(g.heap) == 0 || e.number < g.first {
		g.first = e.number
		m.queue.push(timedEvent{free, e.number, e.op, e.kind, true})
	}
	g.heap.push(timedEvent{0, e.number, e.op, e.kind, true})
	return false
}

// unpark puts g's next event into the queue after its first one, e, was carried out; resources are
// busy until free.
func (m *loggopsMachine) unpark(e *timedEvent, g *parkGroup, free int64) {
	if e.parked && len(g.heap) > 0 {
		next := g.heap[0]
		g.first = next.number
		m.queue.push(timedEvent{max(free, e.time), next.number, next.op, e.kind, true})
	}
}

// The variant of ATLAHS. Where LogGOPSim has a message keep its receiver's CPU and NIC for its bytes, ATLAHS has
// it on its way for them, and then in the receiver for g and o (and O a byte) from when it finds a receive:
//
//   - a send keeps CPU and NIC as ever; its message arrives L and (s-1) G after the CPU is through;
//   - a message that finds a receive waits for the receive's CPU and the NIC, is out of the NIC after g and
//     received o + (s-1) O later; one that finds none waits for it and keeps nothing busy;
//   - a receive that finds a message begins when what it requires is done, waits until the NIC has
//     sent, and takes g, o and (s-1) O;
//   - a sender by rendezvous is held until its message is received, its NIC until that is out of the other.
//
// ATLAHS lets a CPU's clock sink where a receive finds its message while the CPU is busy; this does
// not. It delays messages of 0 bytes by 3,700 ns in place of L; here they count as 1 byte.

// afterNIC is what a message still takes on the CPU when the receiver's NIC is through with it.
func (m *loggopsMachine) afterNIC(size int64) int64 {
	if !m.Atlahs {
		return 0
	}
	return m.Overhead + m.cost(m.bytes(size), m.overByte)
}

func (m *loggopsMachine) arrives(e timedEvent) {
	send := &m.live[e.op]
	rank := send.Peer
	lists := &m.lists[rank]
	posted := m.match.oldest(&lists.posted, send.rank, send.Tag)
	if posted != 0 && !e.parked {
		send.at = m.live[m.match.nodes[posted].item].CPU
	}
	cpu, rx := m.cpu(rank, send.at), m.rx(rank, send.NIC)
	free := e.time
	if posted != 0 {
		free = max(*cpu, *rx)
	}
	g := m.parkGroup(arrival, rank, send.at, send.NIC)
	if !m.park(&e, g, free) {
		return
	}
	m.ready = m.ready[:0]
	if posted == 0 {
		m.match.add(&lists.early, send.rank, send.Tag, e.op)
		m.unpark(&e, g, max(*cpu, *rx))
		return
	}
	recv := m.match.nodes[posted].item
	m.match.remove(&lists.posted, posted)
	*rx = e.time + m.Gap
	*cpu = *rx + m.afterNIC(send.Size)
	m.unpark(&e, g, *cpu)
	m.matched(recv, e.op, *cpu, *cpu, false)
}

// takesEarly has a receive take in a message that waits for it.
func (m *loggopsMachine) takesEarly(recv, early int32, now int64) {
	r := &m.live[recv]
	cpu, rx := m.cpu(r.rank, r.CPU), m.rx(r.rank, r.NIC)
	out := max(now, *m.tx(r.rank, r.NIC)) + m.Gap
	in := out + m.afterNIC(m.live[early].Size)
	*rx, *cpu = max(*rx, out), max(*cpu, in)
	m.matched(recv, early, in, in, true)
}
