package sim

import (
	"math/bits"
	"slices"
)

// eventQueue is a hierarchical timing wheel (Varghese and Lauck, SOSP 1987,
// scheme 7) of event values: wheelLevels wheels of wheelSlots slots, each slot
// of a level as wide as the whole level below it. The events of the present
// slot of the lowest level are sorted once into the total order; those that
// are scheduled for it later go to a small heap beside it, and events beyond
// the highest level to another. Scheduling and taking are O(1) but for the sort
// and the heaps; nothing is allocated in steady state.
type eventQueue struct {
	now     int64   // slot number (time >> slotShift) whose events are in current and late
	current []Event // sorted
	head    int     // of current: the events before it are taken
	late    eventHeap
	far     eventHeap
	filling bool // events of the present slot go to current, which is sorted afterwards
	levels  [wheelLevels]wheelLevel
	nodes   []eventNode // slots are linked lists in this pool
	free    int32
	size    int
}

const (
	slotShift   = 10 // the lowest level's slots are 1024 ps wide
	wheelBits   = 8
	wheelSlots  = 1 << wheelBits
	wheelLevels = 4 // reach: 2^(10+32) ps = 4.4 s
)

type wheelLevel struct {
	head [wheelSlots]int32 // first node + 1; 0: empty
	used [wheelSlots / 64]uint64
}

type eventNode struct {
	e    Event
	next int32 // node + 1
}

func (q *eventQueue) push(e Event) {
	q.size++
	q.place(e)
}

// place files e by its distance from now.
func (q *eventQueue) place(e Event) {
	slot := int64(e.At) >> slotShift
	if slot <= q.now {
		if q.filling {
			q.current = append(q.current, e)
		} else {
			q.late.push(e)
		}
		return
	}
	// The level is the highest in which slot and now differ, so that every
	// slot of a level holds one revolution only.
	level := (bits.Len64(uint64(slot^q.now)) - 1) / wheelBits
	if level >= wheelLevels {
		q.far.push(e)
		return
	}
	i := int(slot>>(level*wheelBits)) & (wheelSlots - 1)
	l := &q.levels[level]
	n := q.free
	if n == 0 {
		q.nodes = append(q.nodes, eventNode{})
		n = int32(len(q.nodes))
	} else {
		q.free = q.nodes[n-1].next
	}
	q.nodes[n-1] = eventNode{e, l.head[i]}
	l.head[i] = n
	l.used[i/64] |= 1 << (i % 64)
}

// peek returns the earliest event's time; ok is false if there is none.
func (q *eventQueue) peek() (at Time, ok bool) {
	switch {
	case q.takesLate():
		return q.late[0].At, true
	case q.head < len(q.current) || q.advance():
		return q.current[q.head].At, true
	}
	return 0, false
}

// takesLate tells whether the next event is in the heap of late ones.
func (q *eventQueue) takesLate() bool {
	return len(q.late) > 0 && (q.head == len(q.current) || q.late[0].before(&q.current[q.head]))
}

// pop takes the earliest event. The queue must not be empty.
func (q *eventQueue) pop() Event {
	q.size--
	if q.takesLate() {
		return q.late.pop()
	}
	if q.head == len(q.current) && !q.advance() {
		panic("sim: pop from an empty event queue")
	}
	q.head++
	return q.current[q.head-1]
}

// advance moves now to the next slot that has events; false if there is none.
func (q *eventQueue) advance() bool {
	q.current, q.head, q.filling = q.current[:0], 0, true
	for len(q.current) == 0 && q.turn() {
	}
	q.filling = false
	if len(q.current) > 1 {
		slices.SortFunc(q.current, func(a, b Event) int {
			if a.before(&b) {
				return -1
			}
			return 1
		})
	}
	return len(q.current) > 0
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
		q.place(q.far.pop())
	}
	return true
}

// empty files the events of slot i of a level anew, relative to now.
func (q *eventQueue) empty(level, i int) {
	l := &q.levels[level]
	n := l.head[i]
	l.head[i] = 0
	l.used[i/64] &^= 1 << (i % 64)
	for n != 0 {
		node := q.nodes[n-1]
		q.nodes[n-1].next = q.free
		q.free = n
		q.place(node.e)
		n = node.next
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
