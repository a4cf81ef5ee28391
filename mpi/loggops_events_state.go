package mpi

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/sim/snapshot"
)

// keptEvent is an event of the queue with its operation, unless that is in a group, or
// the event stands for nothing any more.
type keptEvent struct {
	timedEvent
	has bool
	of  liveOp
}

// events archives the queue.
func (x *loggopsArchiver) events() {
	x.Mark("queue")
	var all []keptEvent
	if !x.Reading() {
		all = x.queued()
	}
	before := int64(0)
	snapshot.List(x.Archive, &all, func(a *snapshot.Archive, e *keptEvent) {
		later := e.time - before
		snapshot.Int(a, &later)
		x.Check(later >= 0 && later <= 2*farFuture-before, "an event %d after %d", later, before)
		e.time = before + later
		before = e.time
		snapshot.Int(a, &e.kind)
		x.number(&e.number)
		if snapshot.Bool(a, &e.has); e.has {
			x.operation(&e.of)
			e.of.number = e.number
		}
		e.parked = !e.has
		if x.Reading() && x.Err() == nil {
			x.file(e)
		}
	})
}

// file puts an event that has been read into the queue of its part.
func (x *loggopsArchiver) file(e *keptEvent) {
	m := x.parts[0]
	switch known := x.parked[e.number]; {
	case e.has:
		ok := known.of == nil && (x.happens(&e.of, e.kind) || e.kind == Recv && e.of.Kind == Recv)
		if x.Check(ok, "%v of rank %d has an event %d", e.of.Op, e.of.rank, e.kind); !ok {
			return
		}
		m = x.at(&e.of, e.kind)
		e.op = x.settle(m, &e.of)
	case known.of != nil:
		if x.Check(e.kind == known.kind, "an event %d of operation %d", e.kind, e.number); x.Err() != nil {
			return
		}
		m, e.op = known.of, known.op
	default:
		e.op = 0 // whose operation has another number
		x.Check(e.kind <= arrival, "an event %d of number %d", e.kind, e.number)
	}
	m.queue.push(e.timedEvent)
}

// queued are the events of all parts in their order.
func (x *loggopsArchiver) queued() (all []keptEvent) {
	for _, m := range x.parts {
		m.queue.each(func(e *timedEvent) {
			k := keptEvent{timedEvent: *e}
			if op := &m.live[e.op]; !e.parked && op.number == e.number {
				k.has, k.of = true, *op
			}
			all = append(all, k)
		})
	}
	slices.SortStableFunc(all, func(a, b keptEvent) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.number, b.number))
	})
	return all
}

// each visits the events, in no particular order.
func (q *radixQueue) each(visit func(*timedEvent)) {
	for i := range q.buckets {
		bucket := q.buckets[i]
		if i == 0 {
			bucket = bucket[q.head:]
		}
		for k := range bucket {
			visit(&bucket[k])
		}
	}
	for _, heap := range []timedHeap{q.inserts, q.heap} {
		for k := range heap {
			visit(&heap[k])
		}
	}
}
