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
	for len(k.queue.lookers) < len(k.handlers) {
		k.queue.lookers = append(k.queue.lookers, nil)
	}
	k.queue.lookers[h] = k.handlers[h].(Looker)
}

// show shows an event to its handler, if that wants to see it.
func (q *eventQueue) show(e *Event) {
	if int(e.Handler) < len(q.lookers) {
		if l := q.lookers[e.Handler]; l != nil {
			l.LookAhead(e)
		}
	}
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
			q.show(&q.current[q.order[i]&q.inKey])
		}
	} else {
		q.shown -= len(q.current)
	}
	for q.shown < aheadEvents && len(q.order) < aheadEvents {
		next, ok := q.nearAfter(q.ahead)
		if !ok {
			return
		}
		c := &q.chunks[q.near.slots[next&(nearSlots-1)].first]
		if c.count == chunkEvents {
			return
		}
		q.ahead = next
		for k := range c.count {
			q.show(&c.events[k])
		}
		q.shown += int(c.count)
	}
}

// nearAfter is the first slot after one in the near part that has events filed.
func (q *eventQueue) nearAfter(slot int64) (next int64, ok bool) {
	from := int(slot+1) & (nearSlots - 1)
	i, ok := q.near.next(from)
	if !ok {
		if i, ok = q.near.next(0); !ok {
			return 0, false
		}
		i += nearSlots
	}
	next = slot + 1 + int64(i-from)
	return next, next <= q.now+nearSlots
}
