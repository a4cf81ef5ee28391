package sim

import "fmt"

// Kernel runs a model: it hands events to their handlers in the order of
// [Event] and ticks clocked components, in one order of time. It is not safe
// for concurrent use; parallel models give every partition a kernel.
type Kernel struct {
	now      Time
	queue    eventQueue
	handlers []Handler
	clocked  []Clocked
	seq      uint64
	handled  uint64
	stopped  bool
}

// Clocked is a component that works in ticks of its own clock, such as a
// fabric, and keeps its own near future in wheels of typed values. The kernel
// ticks it after the events of the same time.
type Clocked interface {
	// NextTick is the time of the next tick that has work; MaxTime if there
	// is none until an event gives it some.
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

// Register adds a handler and returns the name to schedule its events by.
// Handlers registered earlier are served first among simultaneous events.
func (k *Kernel) Register(h Handler) HandlerID {
	k.handlers = append(k.handlers, h)
	return HandlerID(len(k.handlers) - 1)
}

// RegisterClocked adds a clocked component. Components tick in the order in
// which they were added.
func (k *Kernel) RegisterClocked(c Clocked) { k.clocked = append(k.clocked, c) }

// Schedule enters an event at time at, which must not be in the past.
func (k *Kernel) Schedule(at Time, h HandlerID, kind uint16, target int32, arg int64) {
	if at < k.now {
		panic(fmt.Sprintf("sim: event scheduled at %v, which is before now (%v)", at, k.now))
	}
	k.seq++
	k.queue.push(at, h, kind, target, arg, k.seq)
}

// ScheduleKeyed is Schedule for events whose order of scheduling does not follow from
// the model, as that of events which other kernels send: among the events for one target
// at one time, they come behind those of Schedule, in ascending order of their keys, which
// must be below 2^63.
func (k *Kernel) ScheduleKeyed(at Time, h HandlerID, kind uint16, target int32, arg int64, key uint64) {
	if at < k.now {
		panic(fmt.Sprintf("sim: event scheduled at %v, which is before now (%v)", at, k.now))
	}
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
func (k *Kernel) Stop() { k.stopped = true }

// Run handles everything up to and including time until, and returns true if
// more is left after it. Afterwards Now is until, or the time of the last
// thing done if the model ran dry or was stopped.
func (k *Kernel) Run(until Time) (more bool) {
	k.stopped = false
	for !k.stopped {
		tick := MaxTime
		for _, c := range k.clocked {
			tick = min(tick, c.NextTick())
		}
		e := k.queue.pop(min(until, tick, MaxTime-1)) // valid until something is scheduled
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

// rest ends a Run that has nothing left to do until a time, with the next tick at
// another.
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
