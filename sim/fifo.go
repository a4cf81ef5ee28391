package sim

import "github.com/weft-sim/weft/sim/snapshot"

// FIFO is a queue, first in, first out. It takes memory for the most that it has held. The
// zero value is empty.
type FIFO[T any] struct {
	ring         []T // len: a power of 2
	first, count uint32
}

// Len is the number of items.
func (q *FIFO[T]) Len() int { return int(q.count) }

// At is item i, 0 being the first; valid until one is put in.
func (q *FIFO[T]) At(i int) *T { return &q.ring[(q.first+uint32(i))&uint32(len(q.ring)-1)] }

// Put appends an item.
func (q *FIFO[T]) Put(item T) {
	if int(q.count) == len(q.ring) {
		ring := make([]T, max(8, 2*len(q.ring)))
		for i := range q.count {
			ring[i] = *q.At(int(i))
		}
		q.ring, q.first = ring, 0
	}
	q.count++
	*q.At(int(q.count) - 1) = item
}

// Take removes the first item.
func (q *FIFO[T]) Take() T {
	item := *q.At(0)
	q.first++
	q.count--
	return item
}

// Archive implements [snapshot.Archiver].
func (q *FIFO[T]) Archive(a *snapshot.Archive) {
	var items []T
	for i := range q.Len() {
		items = append(items, *q.At(i))
	}
	if snapshot.Value(a, &items); a.Reading() {
		*q = FIFO[T]{}
		for _, item := range items {
			q.Put(item)
		}
	}
}
