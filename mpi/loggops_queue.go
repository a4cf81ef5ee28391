package mpi

import (
	"math/bits"
	"slices"
)

// timedEvent is an event of the LogGOPS machine. Events are ordered by (time, number).
type timedEvent struct {
	time   int64
	number int64
	op     int32
	kind   Kind
}

// radixQueue is a monotone priority queue of events (Ahuja, Mehlhorn, Orlin,
// Tarjan, Faster Algorithms for the Shortest Path Problem, JACM 1990): no event may be earlier
// than the last one that came out. Bucket i > 0 holds the events whose time
// differs from that of the last one first in bit i-1, bucket 0 those of the
// same time, sorted by number. An event moves at most once per bit of its
// delay, and mostly once or twice; memory is touched in sequence, which a
// binary heap does not do.
//
// The kernel's order of simultaneous events is not used here because LogGOPS
// puts an event back with a later time and its old number.
type radixQueue struct {
	buckets [65][]timedEvent
	head    int // of bucket 0
	last    int64
	size    int
}

// push inserts an event. One at the time of the last pop must have a higher
// number than all that are waiting for that time; the machine gives new events
// rising numbers and puts old ones back only with a later time.
func (q *radixQueue) push(e timedEvent) {
	i := bits.Len64(uint64(e.time ^ q.last))
	q.buckets[i] = append(q.buckets[i], e)
	q.size++
}

// pop removes the first event; the queue must not be empty.
func (q *radixQueue) pop() timedEvent {
	if q.head == len(q.buckets[0]) {
		q.refill()
	}
	e := q.buckets[0][q.head]
	q.head++
	q.size--
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
	byNumber := func(a, b timedEvent) int {
		if a.number < b.number {
			return -1
		}
		return 1
	}
	if now := q.buckets[0]; !slices.IsSortedFunc(now, byNumber) {
		slices.SortFunc(now, byNumber)
	}
}
