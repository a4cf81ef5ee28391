package sim

// A Looker is a handler that is shown events some time before they are due, so
// that it can ask for the memory that handling them will touch (see
// [Prefetch]). Events may change, none is promised to be shown, and some are
// shown more than once: it must not depend on what it sees.
type Looker interface {
	Handler
	LookAhead(e *Event)
}

// LookAhead makes the kernel show a registered handler's events to it. It pays
// where what the handler touches does not fit into the processor's caches, and
// costs some nanoseconds an event.
func (k *Kernel) LookAhead(h HandlerID) {
	if k.lookers == nil {
		k.queue.show = func(e *Event) {
			if int(e.Handler) < len(k.lookers) && k.lookers[e.Handler] != nil {
				k.lookers[e.Handler].LookAhead(e)
			}
		}
	}
	for len(k.lookers) < len(k.handlers) {
		k.lookers = append(k.lookers, nil)
	}
	k.lookers[h] = k.handlers[h].(Looker)
}

// Events are shown when about aheadEvents others come before them: late enough
// for what they need to stay in the caches, early enough for it to arrive.
const aheadEvents = 16

// lookAhead shows the events that have come close with the present slot: the
// first of its own, if it is a crowded one, whose others take shows; else those
// of the slots that follow, up to a crowded one.
func (q *eventQueue) lookAhead() {
	if q.ahead < q.now {
		q.ahead, q.shown = q.now, 0
		for i := range min(len(q.order), aheadEvents) {
			q.show(&q.current[q.order[i]])
		}
	} else {
		q.shown -= len(q.current)
	}
	const mask = wheelSlots - 1
	for q.shown < aheadEvents && len(q.order) < aheadEvents {
		i, ok := q.levels[0].next(int(q.ahead&mask) + 1)
		if !ok {
			return
		}
		c := &q.chunks[q.levels[0].slots[i].first-1]
		if c.count == chunkEvents {
			return
		}
		q.ahead = q.ahead&^mask | int64(i)
		for k := range c.count {
			q.show(&c.events[k])
		}
		q.shown += int(c.count)
	}
}
