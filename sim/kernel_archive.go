package sim

import (
	"slices"

	"github.com/weft-sim/weft/sim/snapshot"
)

// ArchiveKernels writes the time of kernels that simulate the parts of one model, how many
// events they have handled, and those that are to come; or reads that into new kernels
// with the same handlers, in any number of parts. Between two events of a kernel, and of
// several ones between two of their windows. owner archives the argument of an event,
// fails if a handler could not take it, and tells whose of the kernels it is.
//
// The form does not depend on the parts: events are in the order of [Event], and those of
// one target, which belongs to one part, keep among themselves the order in which they were
// scheduled. They get new numbers when they are read.
//
// Clocked components are not part of it, and are read before. Cost: n log n in the events to come.
func ArchiveKernels(a *snapshot.Archive, kernels []*Kernel, owner func(a *snapshot.Archive, e *Event) (kernel int)) {
	a.Mark("events")
	var now Time
	var handled uint64
	var events []Event
	for _, k := range kernels {
		now = max(now, k.now)
		handled += k.handled
		events = k.queue.events(events)
	}
	snapshot.Int(a, &now)
	snapshot.Int(a, &handled)
	if a.Reading() {
		for _, k := range kernels {
			k.now = now
		}
		kernels[0].handled = handled
	}
	slices.SortStableFunc(events, func(x, y Event) int {
		switch {
		case x.before(&y):
			return -1
		case y.before(&x):
			return 1
		}
		return 0
	})
	before := now
	snapshot.List(a, &events, func(a *snapshot.Archive, e *Event) {
		e.archive(a, before)
		before = e.At
		if a.Err() != nil {
			return
		}
		of := owner(a, e)
		if a.Reading() && a.Err() == nil {
			kernels[of].again(e)
		}
	})
}

// archive archives an event but for its argument, which its handler knows. The event that
// came before it was at a time. What is read has a sequence number only if that is a key.
func (e *Event) archive(a *snapshot.Archive, before Time) {
	later := e.At - before
	snapshot.Int(a, &later)
	e.At = before + later
	snapshot.Int(a, &e.Handler)
	snapshot.Int(a, &e.Target)
	snapshot.Int(a, &e.Kind)
	isKeyed := e.seq >= keyed
	snapshot.Bool(a, &isKeyed)
	if !isKeyed {
		return
	}
	key := e.seq &^ keyed
	snapshot.Int(a, &key)
	e.seq = keyed | key
}

// again schedules an event that has been read.
func (k *Kernel) again(e *Event) {
	if e.seq < keyed {
		k.Schedule(e.At, e.Handler, e.Kind, e.Target, e.Arg)
	} else {
		k.ScheduleKeyed(e.At, e.Handler, e.Kind, e.Target, e.Arg, e.seq&^keyed)
	}
}

// events appends all events to come, in no particular order.
func (q *eventQueue) events(dst []Event) []Event {
	for _, key := range q.order[q.head:] {
		dst = append(dst, q.current[key&q.inKey])
	}
	dst = append(dst, q.late...)
	dst = append(dst, q.far...)
	for i := range q.near.slots {
		dst = q.chunked(dst, &q.near.slots[i])
	}
	for level := range q.levels {
		for i := range q.levels[level].slots {
			dst = q.chunked(dst, &q.levels[level].slots[i])
		}
	}
	return dst
}

// chunked appends the events of a slot.
func (q *eventQueue) chunked(dst []Event, s *eventSlot) []Event {
	for n := s.first; n != 0; n = q.chunks[n].next {
		dst = append(dst, q.chunks[n].events[:q.chunks[n].count]...)
	}
	return dst
}
