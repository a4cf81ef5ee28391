package sim

import (
	"math/bits"
	"slices"
	"unsafe"
)

// eventQueue is a hierarchical timing wheel (Varghese and Lauck, SOSP 1987,
// scheme 7) of event values: wheelLevels wheels of wheelSlots slots, each slot
// of a level as wide as the whole level below it. The events of the present
// slot of the lowest level are sorted once into the total order; those that
// are scheduled for it later go to a small heap beside it, and events beyond
// the highest level to another. Scheduling and taking are O(1) but for the sort
// and the heaps; nothing is allocated in steady state.
//
// A slot holds its events in chunks, in the order of scheduling, so that
// filing them anew and sorting them reads memory in order.
type eventQueue struct {
	now     int64    // slot number (time >> slotShift) whose events are in current and late
	current []Event  // of the present slot, in the order of scheduling
	order   []uint64 // positions in current, sorted
	head    int      // of order: the events before it are taken
	late    eventHeap
	far     eventHeap
	filling bool // events of the present slot go to current, which is sorted afterwards
	levels  [wheelLevels]wheelLevel
	chunks  []eventChunk
	free    int32 // list of free chunks, by number + 1
	size    int
	taken   Event // the last one out of late

	// See lookAhead; show is nil if nobody wants to see events.
	show  func(*Event)
	ahead int64 // the last slot whose events were shown
	shown int   // of the slots after the present one
}

const (
	slotShift   = 12 // the lowest level's slots are 4096 ps wide
	wheelBits   = 9
	wheelSlots  = 1 << wheelBits
	wheelLevels = 4 // reach: 2^(12+36) ps = 281 s
)

type wheelLevel struct {
	slots [wheelSlots]eventSlot
	used  [wheelSlots / 64]uint64
}

// eventSlot is a list of chunks, all of them full but the last.
type eventSlot struct{ first, last int32 } // chunk + 1; 0: empty

type eventChunk struct {
	next   int32 // chunk + 1
	count  int32
	_      [3]uint64 // an event does not straddle cache lines
	events [chunkEvents]Event
}

const chunkEvents = 7

func (q *eventQueue) push(e *Event) {
	q.size++
	q.place(e)
}

// place files e by its distance from now.
func (q *eventQueue) place(e *Event) {
	slot := int64(e.At) >> slotShift
	if slot <= q.now {
		if q.filling {
			q.current = append(q.current, *e)
		} else {
			q.late.push(*e)
		}
		return
	}
	// The level is the highest in which slot and now differ, so that every
	// slot of a level holds one revolution only.
	level := (bits.Len64(uint64(slot^q.now)) - 1) / wheelBits
	if level >= wheelLevels {
		q.far.push(*e)
		return
	}
	i := uint(slot>>(level*wheelBits)) & (wheelSlots - 1)
	l := &q.levels[level]
	s := &l.slots[i]
	if s.last == 0 || q.chunks[s.last-1].count == chunkEvents {
		q.extend(s)
		l.used[i/64] |= 1 << (i % 64)
	}
	c := &q.chunks[s.last-1]
	to := &c.events[c.count]
	c.count++
	// Field by field: what has just been written that way is not copied faster.
	to.At, to.Arg, to.seq, to.Target, to.Handler, to.Kind = e.At, e.Arg, e.seq, e.Target, e.Handler, e.Kind
	if slot <= q.ahead {
		q.show(to)
		q.shown++
	}
}

// extend appends an empty chunk to a slot.
func (q *eventQueue) extend(s *eventSlot) {
	n := q.free
	if n == 0 {
		q.chunks = append(q.chunks, eventChunk{})
		n = int32(len(q.chunks))
	} else {
		q.free = q.chunks[n-1].next
		if q.free != 0 {
			Prefetch(unsafe.Pointer(&q.chunks[q.free-1]))
		}
	}
	c := &q.chunks[n-1]
	c.next, c.count = 0, 0
	if s.last == 0 {
		s.first = n
	} else {
		q.chunks[s.last-1].next = n
	}
	s.last = n
}

// peek returns the earliest event's time; ok is false if there is none.
func (q *eventQueue) peek() (at Time, ok bool) {
	switch {
	case q.takesLate():
		return q.late[0].At, true
	case q.head < len(q.order) || q.advance():
		return q.next().At, true
	}
	return 0, false
}

// next is the first of the sorted events.
func (q *eventQueue) next() *Event { return &q.current[q.order[q.head]] }

// takesLate tells whether the next event is in the heap of late ones.
func (q *eventQueue) takesLate() bool {
	return len(q.late) > 0 && (q.head == len(q.order) || q.late[0].before(q.next()))
}

// pop takes the earliest event and returns where it is until the queue changes.
// The queue must not be empty.
func (q *eventQueue) pop() *Event {
	q.size--
	if q.takesLate() {
		q.taken = q.late.pop()
		return &q.taken
	}
	if q.head == len(q.order) && !q.advance() {
		panic("sim: pop from an empty event queue")
	}
	q.head++
	if next := q.head - 1 + aheadEvents; q.show != nil && next < len(q.order) {
		q.show(&q.current[q.order[next]])
	}
	return &q.current[q.order[q.head-1]]
}

// advance moves now to the next slot that has events; false if there is none.
func (q *eventQueue) advance() bool {
	q.current, q.head, q.filling = q.current[:0], 0, true
	for len(q.current) == 0 && q.turn() {
	}
	q.filling = false
	q.sort()
	if q.show != nil {
		q.lookAhead()
	}
	return len(q.current) > 0
}

// sort makes order. Its keys hold, from the highest bit on, the time in the slot,
// the handler, the target and the position in current, which is the order of
// scheduling; each as wide as this slot's events need it.
func (q *eventQueue) sort() {
	q.order = q.order[:0]
	if len(q.current) == 1 {
		q.order = append(q.order, 0)
		return
	}
	var handlers HandlerID
	var targets uint32
	for i := range q.current {
		handlers |= q.current[i].Handler
		targets |= uint32(q.current[i].Target)
	}
	flip := targets & (1 << 31) // negative targets come first
	orderBits := bits.Len(uint(len(q.current)))
	targetBits := bits.Len32(targets)
	handlerBits := bits.Len16(uint16(handlers))
	if slotShift+handlerBits+targetBits+orderBits > 64 {
		// Too many handlers or events for a key: the events themselves.
		slices.SortFunc(q.current, func(a, b Event) int {
			if a.before(&b) {
				return -1
			}
			return 1
		})
		for i := range q.current {
			q.order = append(q.order, uint64(i))
		}
		return
	}
	sorted, last := true, uint64(0)
	for i := range q.current {
		e := &q.current[i]
		key := (uint64(e.At)&(1<<slotShift-1))<<handlerBits | uint64(e.Handler)
		key = (key<<targetBits|uint64(uint32(e.Target)^flip))<<orderBits | uint64(i)
		sorted = sorted && last <= key
		last = key
		q.order = append(q.order, key)
	}
	if !sorted {
		slices.Sort(q.order)
	}
	for i := range q.order {
		q.order[i] &= 1<<orderBits - 1
	}
}

// turn empties the next slot that has events, into current if it is of the
// lowest level; false if there is none.
func (q *eventQueue) turn() bool {
	for level := range wheelLevels {
		shift := level * wheelBits
		from := int(q.now>>shift) & (wheelSlots - 1)
		if i, ok := q.levels[level].next(from + 1); ok {
			q.now = (q.now>>shift - int64(from) + int64(i)) << shift
			q.empty(level, i)
			return true
		}
	}
	if len(q.far) == 0 {
		return false
	}
	q.now = int64(q.far[0].At) >> slotShift
	for len(q.far) > 0 && (int64(q.far[0].At)>>slotShift^q.now)>>(wheelLevels*wheelBits) == 0 {
		e := q.far.pop()
		q.place(&e)
	}
	return true
}

// empty files the events of slot i of a level anew, relative to now.
func (q *eventQueue) empty(level, i int) {
	l := &q.levels[level]
	n := l.slots[i].first
	l.slots[i] = eventSlot{}
	l.used[i/64] &^= 1 << (i % 64)
	for n != 0 {
		// The chunk may move while its events are filed, not change: it is not
		// free yet.
		c := &q.chunks[n-1]
		next := c.next
		if next != 0 {
			for line := uintptr(0); line < unsafe.Sizeof(*c); line += 64 {
				Prefetch(unsafe.Add(unsafe.Pointer(&q.chunks[next-1]), line))
			}
		}
		if level == 0 {
			q.current = append(q.current, c.events[:c.count]...)
		} else {
			for k := range c.count {
				q.place(&c.events[k])
			}
		}
		q.chunks[n-1].next = q.free
		q.free = n
		n = next
	}
}

// next finds the first used slot at or after from.
func (l *wheelLevel) next(from int) (int, bool) {
	for w := from / 64; w < len(l.used); w++ {
		word := l.used[w]
		if w == from/64 {
			word &= ^uint64(0) << (from % 64)
		}
		if word != 0 {
			return w*64 + bits.TrailingZeros64(word), true
		}
	}
	return 0, false
}
