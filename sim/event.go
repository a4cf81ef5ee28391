package sim

// HandlerID names a handler registered with a kernel.
type HandlerID uint16

// Event is something that happens to a model entity at a time: a small value
// without pointers (32 bytes). Simultaneous events are handled in ascending
// order of handler, then target, then the order in which they were scheduled:
// a total order that follows from the model alone, because events for one
// target are always scheduled by one goroutine at a time.
type Event struct {
	At      Time
	Arg     int64     // the model's own
	seq     uint64    // order of scheduling
	Target  int32     // which of the handler's entities
	Handler HandlerID // who handles it
	Kind    uint16    // what happens, in the handler's own numbering
}

// Handler receives the events that were scheduled for it. It may schedule
// others, also for the present time.
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
