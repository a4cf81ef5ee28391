package sim

import "math/bits"

// eventQueue is a hierarchical timing wheel (Varghese and Lauck, SOSP 1987,
// scheme 7) of event values: wheelLevels wheels of wheelSlots slots, each slot
// of a level as wide as the whole level below it. The events of the present
// slot of the lowest level stand in a small heap, which yields the total
// order; events beyond the highest level in another. Scheduling and taking
// are O(1) but for those heaps; nothing is allocated in steady state.
type eventQueue struct {
	now     int64 // slot number (time >> slotShift) whose events are in current
	current eventHeap
	far     eventHeap
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
		q.current.push(e)
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
	if len(q.current) == 0 && !q.advance() {
		return 0, false
	}
	return q.current[0].At, true
}

// pop takes the earliest event. The queue must not be empty.
func (q *eventQueue) pop() Event {
	if len(q.current) == 0 && !q.advance() {
		panic("sim: pop from an empty event queue")
	}
	q.size--
	return q.current.pop()
}

// advance moves now to the next slot that has events; false if there is none.
func (q *eventQueue) advance() bool {
	for level := range wheelLevels {
		shift := level * wheelBits
		from := int(q.now>>shift) & (wheelSlots - 1)
		i, ok := q.levels[level].next(from + 1)
		if !ok {
			continue
		}
		q.now = (q.now>>shift - int64(from) + int64(i)) << shift
		q.empty(level, i)
		if len(q.current) > 0 {
			return true
		}
		return q.advance() // the slot's events went to lower levels
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
