package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/sim/snapshot"
)

// Kernel runs a model: it hands events to their handlers in the order of [Event] and ticks clocked
// components, in one order of time. It is not safe for concurrent use; parallel models have a
// kernel a part.
type Kernel struct {
	now      Time
	queue    eventQueue
	handlers []Handler
	clocked  []Clocked
	seq      uint64
	handled  uint64
	until    Time   // of the running Run
	bound    Time   // the first event, or behind until; holds if
	seen     uint64 // is seq
	stopped  bool
}

// Clocked is a component that works in ticks of its own clock, such as a fabric, and files its near
// future in wheels of typed values. It ticks after the events of the same time.
type Clocked interface {
	// NextTick is the time of the next tick with work; MaxTime if there is none until an event.
	NextTick() Time
	// Tick does the work of time now.
	Tick(now Time)
}

// NewKernel returns a kernel at time 0.
func NewKernel() *Kernel { return &Kernel{} }

// Now is the present simulated time.
func (k *Kernel) Now() Time { return k.now }

// Handled is the number of events handled so far, ticks not counted.
func (k *Kernel) Handled() uint64 { return k.handled }

// Pending is the number of events scheduled and not yet handled.
func (k *Kernel) Pending() int { return k.queue.size }

// Register adds a handler and returns the name to schedule events by. Among simultaneous events
// earlier handlers are served first.
func (k *Kernel) Register(h Handler) HandlerID {
	k.handlers = append(k.handlers, h)
	return HandlerID(len(k.handlers) - 1)
}

// RegisterClocked adds a clocked component. Components tick in the order in which they were added.
func (k *Kernel) RegisterClocked(c Clocked) { k.clocked = append(k.clocked, c) }

// Schedule enters an event at time at, which must not be in the past.
func (k *Kernel) Schedule(at Time, h HandlerID, kind uint16, target int32, arg int64) {
	if at < k.now {
		panic(fmt.Sprintf("sim: event scheduled at %v, which is before now (%v)", at, k.now))
	}
	k.seq++
	k.queue.push(at, h, kind, target, arg, k.seq)
}

// ScheduleKeyed is Schedule for events whose order of scheduling is not the model's, such as other
// kernels'. At one target and time they follow those of Schedule, by ascending keys below 2^63.
func (k *Kernel) ScheduleKeyed(at Time, h HandlerID, kind uint16, target int32, arg int64, key uint64) {
	if at < k.now {
		panic(fmt.Sprintf("sim: event scheduled at %v, which is before now (%v)", at, k.now))
	}
	k.seen = k.seq + 1
	k.queue.push(at, h, kind, target, arg, keyed|key)
}

// keyed is the bit that keys have above the numbers of Schedule.
const keyed uint64 = 1 << 63

// Next is the time of the next event or tick; MaxTime if there is none.
func (k *Kernel) Next() Time {
	next := MaxTime
	for _, c := range k.clocked {
		next = min(next, c.NextTick())
	}
	if at, any := k.queue.peek(); any {
		next = min(next, at)
	}
	return next
}

// After schedules an event a delay from now.
func (k *Kernel) After(delay Time, h HandlerID, kind uint16, target int32, arg int64) {
	k.Schedule(k.now+delay, h, kind, target, arg)
}

// Stop makes the running Run return after the present event or tick.
func (k *Kernel) Stop() { k.stopped, k.seen = true, k.seq+1 }

// Stopped tells whether Stop has been called since Run.
func (k *Kernel) Stopped() bool { return k.stopped }

// Pass moves on to a time in a tick if nothing else is to be done before, and is true then: the
// component, the only clocked one, may do the work of that time in the same tick.
func (k *Kernel) Pass(to Time) bool {
	if k.seen != k.seq || to >= k.bound {
		return k.look(to)
	}
	k.now = to
	return true
}

// look finds the bound, for Pass.
func (k *Kernel) look(to Time) bool {
	k.seen, k.bound = k.seq, k.until+1
	if at, any := k.queue.peek(); any {
		k.bound = min(k.bound, at)
	}
	if to >= k.bound || k.stopped {
		return false
	}
	k.now = to
	return true
}

// Run handles everything up to and including time until, and is true if more is left. Afterwards
// Now is until, or the time of the last thing done if the model ran dry or was stopped.
func (k *Kernel) Run(until Time) (more bool) {
	k.stopped, k.until, k.seen = false, min(until, MaxTime-1), k.seq+1
	for !k.stopped {
		tick := MaxTime
		for _, c := range k.clocked {
			tick = min(tick, c.NextTick())
		}
		e := k.queue.pop(min(k.until, tick)) // valid until something is scheduled
		switch {
		case e != nil:
			k.now = e.At
			k.handled++
			k.handlers[e.Handler].Handle(k, *e)
		case tick > until || tick == MaxTime:
			return k.rest(until, tick)
		default:
			if tick < k.now {
				panic(fmt.Sprintf("sim: a tick at %v, which is before now (%v)", tick, k.now))
			}
			k.now = tick
			for _, c := range k.clocked {
				if len(k.clocked) == 1 || c.NextTick() == tick { // one alone has just said so
					c.Tick(tick)
				}
			}
		}
	}
	return true
}

// rest ends a Run that has nothing left to do until a time, with the next tick at another.
func (k *Kernel) rest(until, tick Time) (more bool) {
	if at, any := k.queue.peek(); any {
		tick = min(tick, at)
	}
	if tick == MaxTime {
		return false
	}
	k.now = until
	return true
}

// HandlerID names a handler registered with a kernel.
type HandlerID uint16

// Event is something that happens to a model entity at a time: a small value without pointers (32
// bytes). Simultaneous events are handled in ascending order of handler, then target, then scheduling:
// a total order that follows from the model alone, because events for one target are always scheduled
// by one goroutine at a time.
type Event struct {
	At      Time
	Arg     int64     // the model's own
	seq     uint64    // order of scheduling
	Target  int32     // which of the handler's entities
	Handler HandlerID // who handles it
	Kind    uint16    // what happens, in the handler's own numbering
}

// Handler receives the events scheduled for it. It may schedule others, also for the present time.
type Handler interface {
	Handle(k *Kernel, e Event)
}

func (e *Event) before(o *Event) bool {
	switch {
	case e.At != o.At:
		return e.At < o.At
	case e.Handler != o.Handler:
		return e.Handler < o.Handler
	case e.Target != o.Target:
		return e.Target < o.Target
	}
	return e.seq < o.seq
}

// compare orders events as before does, for sorting.
func compare(a, b Event) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Handler, b.Handler), cmp.Compare(a.Target, b.Target), cmp.Compare(a.seq, b.seq))
}

// eventHeap is a binary heap of event values; the earliest is at index 0.
type eventHeap []Event

func (h *eventHeap) push(e Event) {
	s := append(*h, e)
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(&s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = e
	*h = s
}

func (h *eventHeap) pop() Event {
	s := *h
	first, last := s[0], s[len(s)-1]
	s = s[:len(s)-1]
	i := 0
	for {
		c := 2*i + 1
		if c >= len(s) {
			break
		}
		if c+1 < len(s) && s[c+1].before(&s[c]) {
			c++
		}
		if !s[c].before(&last) {
			break
		}
		s[i] = s[c]
		i = c
	}
	if len(s) > 0 {
		s[i] = last
	}
	*h = s
	return first
}

// ArchiveKernels writes the time of kernels that simulate the parts of one model, how many events
// they have handled, and those that are to come; or reads that into new kernels with the same
// handlers, in any number of parts. It is called between two events, and of several kernels between
// two windows. owner archives the argument of an event, fails if a handler could not take it, and
// tells whose of the kernels it is. Clocked components are not part of it, and are read before.
//
// The form does not depend on the parts: events are in the order of [Event]; those of one target,
// which belongs to one part, in the order of scheduling, with new numbers when read. Cost: n log n
// in the events.
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
	slices.SortStableFunc(events, compare)
	before := now
	snapshot.List(a, &events, func(a *snapshot.Archive, e *Event) {
		e.archive(a, before)
		before = e.At
		if a.Err() != nil {
			return
		}
		of := owner(a, e)
		if a.Reading() && a.Err() == nil {
			if k := kernels[of]; e.seq < keyed {
				k.Schedule(e.At, e.Handler, e.Kind, e.Target, e.Arg)
			} else {
				k.ScheduleKeyed(e.At, e.Handler, e.Kind, e.Target, e.Arg, e.seq&^keyed)
			}
		}
	})
}

// archive archives an event but for its argument, which its handler knows, relative to the event
// before. Read events have a sequence number only if that is a key.
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

// events appends all events to come, in no particular order.
func (q *eventQueue) events(dst []Event) []Event {
	for _, key := range q.order[q.head:] {
		dst = append(dst, q.current[key&q.inKey])
	}
	dst = append(dst, q.late...)
	dst = append(dst, q.far...)
	for _, slots := range [][]eventSlot{q.near.slots[:], q.blocks.slots[:]} {
		for _, s := range slots {
			for n := s.first; n != 0; n = q.chunks[n].next {
				dst = append(dst, q.chunks[n].events[:q.chunks[n].count]...)
			}
		}
	}
	return dst
}
