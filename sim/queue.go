package sim

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/snapshot"
)

// eventQueue is a hierarchical timing wheel (Varghese and Lauck, SOSP 1987, scheme 7) of event
// values. Its near part has a slot for each of the next wheelSlots ones; beyond it is a wheel of
// blocks, each as wide as the whole near part. The events of the present slot are sorted once into
// the total order; those that are scheduled for it later go to a small heap, and events beyond the
// present turn of the wheel to another. Scheduling and taking are O(1) but for the sort and the
// heaps; nothing is allocated in steady state. A slot holds its events in chunks, in the order of
// filing, so that filing them anew and sorting them reads memory in order.
type eventQueue struct {
	now     int64    // slot number (time >> slotShift) whose events are in current and late
	block   int64    // now >> wheelBits, or the one that begins after now
	current []Event  // of the present slot
	order   []uint64 // keys of them, sorted; see sort
	inKey   uint64   // the bits of a key that are a position in current
	head    int      // of order: the events before it are taken
	late    eventHeap
	far     eventHeap
	near    eventWheel
	blocks  eventWheel
	chunks  []eventChunk // number 0 is full for good
	free    int32        // list of free chunks; 0 ends it
	size    int
	taken   Event // the last one out of late
}

const (
	slotShift  = 12 // slots are 4096 ps wide
	wheelBits  = 12
	wheelSlots = Slots // 17 us in the near part, 69 ms in the wheel of blocks
)

type eventWheel struct {
	slots [wheelSlots]eventSlot
	used  SlotSet
}

// Slots is the number of slots of a timing wheel.
const Slots = 1 << wheelBits

// SlotSet is a set of slots. The zero value is empty.
type SlotSet struct {
	used  [Slots / 64]uint64
	words uint64 // of used that are not 0
}

// Add adds a slot, and tells whether it is new.
func (s *SlotSet) Add(i int) bool {
	word, bit := &s.used[uint(i)/64%(Slots/64)], uint64(1)<<(uint(i)%64)
	before := *word
	*word |= bit
	s.words |= 1 << (uint(i) / 64)
	return before&bit == 0
}

// Remove takes a slot away.
func (s *SlotSet) Remove(i int) {
	word := &s.used[uint(i)/64%(Slots/64)]
	if *word &^= 1 << (uint(i) % 64); *word == 0 {
		s.words &^= 1 << (uint(i) / 64)
	}
}

// eventSlot is a list of chunks, all of them full but the last; 0: empty.
type eventSlot struct{ first, last int32 }

type eventChunk struct {
	next   int32 // 0: none
	count  int32
	_      [3]uint64 // an event does not straddle cache lines
	events [chunkEvents]Event
}

const chunkEvents = 7

func (q *eventQueue) push(at Time, handler HandlerID, kind uint16, target int32, arg int64, seq uint64) {
	q.size++
	q.place(at, handler, kind, target, arg, seq)
}

// place files an event by its distance from now. It takes fields, to keep them in registers.
func (q *eventQueue) place(at Time, handler HandlerID, kind uint16, target int32, arg int64, seq uint64) {
	slot := int64(at) >> slotShift
	w, i := &q.near, uint(slot)&(wheelSlots-1)
	if distance := slot - q.now; uint64(distance-1) >= wheelSlots {
		if distance <= 0 {
			q.late.push(Event{At: at, Handler: handler, Kind: kind, Target: target, Arg: arg, seq: seq})
			return
		}
		block := slot >> wheelBits
		if block>>wheelBits != q.block>>wheelBits { // every slot of the wheel holds one turn only
			q.far.push(Event{At: at, Handler: handler, Kind: kind, Target: target, Arg: arg, seq: seq})
			return
		}
		w, i = &q.blocks, uint(block)&(wheelSlots-1)
	}
	s := &w.slots[i]
	if len(q.chunks) == 0 {
		q.chunks = append(make([]eventChunk, 0, 64), eventChunk{count: chunkEvents})
	}
	c := &q.chunks[s.last]
	if c.count == chunkEvents {
		if s.last == 0 {
			w.used.Add(int(i))
		}
		c = q.extend(s)
	}
	to := &c.events[c.count]
	c.count++
	to.At, to.Arg, to.seq, to.Target, to.Handler, to.Kind = at, arg, seq, target, handler, kind
}

// extend appends an empty chunk to a slot and returns it.
func (q *eventQueue) extend(s *eventSlot) *eventChunk {
	n := q.free
	if n == 0 {
		n = int32(len(q.chunks))
		if len(q.chunks) == cap(q.chunks) {
			more := mem.HugePages(make([]eventChunk, len(q.chunks), 2*len(q.chunks)))
			copy(more, q.chunks)
			q.chunks = more
		}
		q.chunks = append(q.chunks, eventChunk{})
	} else {
		q.free = q.chunks[n].next
		mem.Prefetch(unsafe.Pointer(&q.chunks[q.free]))
	}
	c := &q.chunks[n]
	c.next, c.count = 0, 0
	if s.last == 0 {
		s.first = n
	} else {
		q.chunks[s.last].next = n
	}
	s.last = n
	return c
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
func (q *eventQueue) next() *Event { return &q.current[q.order[q.head]&q.inKey] }

// takesLate tells whether the next event is in the heap of late ones.
func (q *eventQueue) takesLate() bool {
	return len(q.late) > 0 && (q.head == len(q.order) || q.late[0].before(q.next()))
}

// pop takes the earliest event up to until, and returns where it is until the queue changes; else
// nil.
func (q *eventQueue) pop(until Time) *Event {
	if len(q.late) > 0 && q.takesLate() {
		if q.late[0].At > until {
			return nil
		}
		q.size--
		q.taken = q.late.pop()
		return &q.taken
	}
	if q.head == len(q.order) && (q.size == 0 || !q.advance()) {
		return nil
	}
	e := q.next()
	if e.At > until {
		return nil
	}
	q.size--
	q.head++
	return e
}

// advance moves now to the next slot that has events; false if there is none.
func (q *eventQueue) advance() bool {
	q.current, q.head = q.current[:0], 0
	any := q.turn()
	q.sort()
	return any
}

// The keys of order hold, from the highest bit on, time in slot, handler, target, position in
// current.
const (
	positionBits = 16
	positions    = 1<<positionBits - 1
	handlerBits  = 64 - slotShift - 32 - positionBits
)

func (q *eventQueue) sort() {
	q.order, q.inKey = q.order[:0], positions
	if len(q.current) == 1 {
		q.order = append(q.order, 0)
		return
	}
	var handlers HandlerID
	sorted, last := true, uint64(0)
	for i := range q.current {
		e := &q.current[i]
		handlers |= e.Handler
		key := uint64(e.At)<<(64-slotShift) | uint64(e.Handler)<<(32+positionBits)
		key |= uint64(uint32(e.Target)^1<<31)<<positionBits | uint64(i) // negative targets come first
		sorted = sorted && last <= key
		last = key
		q.order = append(q.order, key)
	}
	if handlers>>handlerBits != 0 || len(q.current) > positions {
		q.sortEvents()
		return
	}
	if !sorted {
		sortKeys(q.order)
	}
	// One target's events of one time are in the order of filing, which is scheduling's but for
	// events that came down from a block after ones filed at once.
	for i := 1; i < len(q.order); i++ {
		for j := i; j > 0 && (q.order[j]^q.order[j-1])>>positionBits == 0; j-- {
			if q.current[q.order[j-1]&positions].seq < q.current[q.order[j]&positions].seq {
				break
			}
			q.order[j], q.order[j-1] = q.order[j-1], q.order[j]
		}
	}
}

// sortEvents sorts the events themselves, where handlers or events are too many for keys.
func (q *eventQueue) sortEvents() {
	slices.SortFunc(q.current, compare)
	for i := range q.order {
		q.order[i] = uint64(i)
	}
	q.inKey = ^uint64(0)
}

// sortKeys sorts few keys by insertion.
func sortKeys(keys []uint64) {
	if len(keys) > 32 {
		slices.Sort(keys)
		return
	}
	for i := 1; i < len(keys); i++ {
		key, j := keys[i], i
		for ; j > 0 && keys[j-1] > key; j-- {
			keys[j] = keys[j-1]
		}
		keys[j] = key
	}
}

// turn empties the next slot that has events into current; false if there is none.
func (q *eventQueue) turn() bool {
	for {
		if i, ok := q.near.used.Next(int(q.now + 1 - q.block<<wheelBits)); ok {
			q.now = q.block<<wheelBits + int64(i)
			q.near.used.Remove(i)
			q.empty(&q.near.slots[i])
			return true
		}
		block, ok := q.nextBlock()
		if !ok {
			return false
		}
		q.enter(block)
	}
}

// nextBlock is the first block after the present one that has events.
func (q *eventQueue) nextBlock() (block int64, ok bool) {
	if q.near.used.words != 0 { // a near part's length ahead at the most
		return q.block + 1, true
	}
	at := int(q.block) & (wheelSlots - 1)
	if i, ok := q.blocks.used.Next(at + 1); ok {
		return q.block + int64(i-at), true
	}
	if len(q.far) > 0 {
		return int64(q.far[0].At) >> (slotShift + wheelBits), true
	}
	return 0, false
}

// enter moves now to just before a block, and files anew what is nearer by that.
func (q *eventQueue) enter(block int64) {
	q.block, q.now = block, block<<wheelBits-1
	i := int(block) & (wheelSlots - 1)
	q.blocks.used.Remove(i)
	q.empty(&q.blocks.slots[i])
	for len(q.far) > 0 && int64(q.far[0].At)>>(slotShift+2*wheelBits) == block>>wheelBits {
		e := q.far.pop()
		q.place(e.At, e.Handler, e.Kind, e.Target, e.Arg, e.seq)
	}
}

// empty files a slot's events anew, or into current if it is the present one.
func (q *eventQueue) empty(s *eventSlot) {
	n := s.first
	*s = eventSlot{}
	for n != 0 {
		// The chunk may move while its events are filed, not change: it is not free yet.
		c := &q.chunks[n]
		next := c.next
		if next != 0 {
			for line := uintptr(0); line < unsafe.Sizeof(*c); line += 64 {
				mem.Prefetch(unsafe.Add(unsafe.Pointer(&q.chunks[next]), line))
			}
		}
		if int64(c.events[0].At)>>slotShift == q.now {
			q.current = append(q.current, c.events[:c.count]...)
		} else {
			for k := range c.count {
				e := &c.events[k]
				q.place(e.At, e.Handler, e.Kind, e.Target, e.Arg, e.seq)
			}
		}
		q.chunks[n].next = q.free
		q.free = n
		n = next
	}
}

// Next finds the first slot of the set from one on.
func (s *SlotSet) Next(from int) (int, bool) {
	if from >= Slots {
		return 0, false
	}
	if word := s.used[from/64] >> (from % 64); word != 0 {
		return from + bits.TrailingZeros64(word), true
	}
	words := s.words >> (from / 64) >> 1
	if words == 0 {
		return 0, false
	}
	i := from/64 + 1 + bits.TrailingZeros64(words)
	return i*64 + bits.TrailingZeros64(s.used[i]), true
}

// FIFO is a queue, first in, first out. It keeps the memory of its most items. The zero value is
// empty.
type FIFO[T any] struct {
	ring         []T // len: a power of 2
	first, count uint32
}

// Len is the number of items.
func (q *FIFO[T]) Len() int { return int(q.count) }

// At is item i, 0 being the first; valid until one is put in.
func (q *FIFO[T]) At(i int) *T { return &q.ring[(q.first+uint32(i))&uint32(len(q.ring)-1)] }

// Put appends an item.
func (q *FIFO[T]) Put(item T) {
	if int(q.count) == len(q.ring) {
		q.grow()
	}
	q.count++
	*q.At(int(q.count) - 1) = item
}

func (q *FIFO[T]) grow() {
	ring := make([]T, max(8, 2*len(q.ring)))
	for i := range q.count {
		ring[i] = *q.At(int(i))
	}
	q.ring, q.first = ring, 0
}

// Take removes the first item.
func (q *FIFO[T]) Take() T {
	item := *q.At(0)
	q.first++
	q.count--
	return item
}

// Archive implements [snapshot.Archiver].
func (q *FIFO[T]) Archive(a *snapshot.Archive) {
	items := lists.Make(q.Len(), func(i int) T { return *q.At(i) })
	if snapshot.Value(a, &items); a.Reading() {
		*q = FIFO[T]{}
		for _, item := range items {
			q.Put(item)
		}
	}
}
