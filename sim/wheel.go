package sim

// Wheel is the near future of a clocked component: values of one type filed
// by the cycle in which they are due. Items live in chunks that are handed on
// from emptied cycles to filling ones, so that memory follows the number of
// items in flight and stays warm. Items beyond the wheel's reach wait in a
// heap. The order of items within a cycle is not part of the contract;
// whoever takes them must not depend on it.
type Wheel[T any] struct {
	slots  []wheelSlot
	mask   int64
	now    int64 // cycle last taken from
	chunks []wheelChunk[T]
	free   int32 // first free chunk + 1
	open   int32 // chunk last handed out + 1
	far    []farItem[T]
	size   int
}

const chunkItems = 64

type wheelSlot struct {
	head, tail int32 // chunks + 1; 0: none
	room       int32 // unused places in tail
}

type wheelChunk[T any] struct {
	items [chunkItems]T
	next  int32 // chunk + 1
}

type farItem[T any] struct {
	cycle int64
	item  T
}

// NewWheel makes a wheel that files items up to reach cycles ahead directly;
// items further ahead are allowed and cost more.
func NewWheel[T any](reach int64) *Wheel[T] {
	n := int64(2)
	for n <= reach && n < 1<<16 {
		n *= 2
	}
	return &Wheel[T]{slots: make([]wheelSlot, n), mask: n - 1, now: -1}
}

// Push files an item for a cycle later than the one last taken.
func (w *Wheel[T]) Push(cycle int64, item T) {
	if cycle-w.now > w.mask {
		w.pushFar(cycle, item)
		return
	}
	s := &w.slots[cycle&w.mask]
	if s.room == 0 {
		w.extend(s)
	}
	w.chunks[s.tail-1].items[chunkItems-s.room] = item
	s.room--
	w.size++
}

func (w *Wheel[T]) extend(s *wheelSlot) {
	c := w.free
	if c == 0 {
		w.chunks = append(w.chunks, wheelChunk[T]{})
		c = int32(len(w.chunks))
	} else {
		w.free = w.chunks[c-1].next
	}
	w.chunks[c-1].next = 0
	if s.tail == 0 {
		s.head = c
	} else {
		w.chunks[s.tail-1].next = c
	}
	s.tail, s.room = c, chunkItems
}

// Next takes a batch of the items of cycle; nil when there are no more. The
// batch is valid until the next call. Cycles must be taken in ascending order
// and completely; Push for a later cycle is allowed in between.
func (w *Wheel[T]) Next(cycle int64) []T {
	if w.open != 0 {
		w.chunks[w.open-1].next = w.free
		w.free, w.open = w.open, 0
	}
	if w.now < cycle {
		w.now = cycle
		w.fetchFar()
	}
	s := &w.slots[cycle&w.mask]
	c := s.head
	if c == 0 {
		return nil
	}
	n := int32(chunkItems)
	if c == s.tail {
		n -= s.room
		*s = wheelSlot{}
	} else {
		s.head = w.chunks[c-1].next
	}
	w.open = c
	w.size -= int(n)
	return w.chunks[c-1].items[:n]
}

// Len is the number of items filed.
func (w *Wheel[T]) Len() int { return w.size + len(w.far) }

// NextCycle is the first cycle after the one last taken that has items; ok is
// false if there are none. It scans; call it only when idle.
func (w *Wheel[T]) NextCycle() (cycle int64, ok bool) {
	if w.size > 0 {
		for c := w.now + 1; c <= w.now+w.mask; c++ {
			if w.slots[c&w.mask].head != 0 {
				return c, true
			}
		}
	}
	if len(w.far) > 0 {
		return w.far[0].cycle, true
	}
	return 0, false
}

// Each calls visit with every item, for audits. It does not take them.
func (w *Wheel[T]) Each(visit func(T)) {
	for i := range w.slots {
		s := &w.slots[i]
		for c := s.head; c != 0; c = w.chunks[c-1].next {
			n := int32(chunkItems)
			if c == s.tail {
				n -= s.room
			}
			for _, item := range w.chunks[c-1].items[:n] {
				visit(item)
			}
		}
	}
	for i := range w.far {
		visit(w.far[i].item)
	}
}

// pushFar enters an item into the heap of those beyond reach.
func (w *Wheel[T]) pushFar(cycle int64, item T) {
	h := append(w.far, farItem[T]{cycle, item})
	i := len(h) - 1
	for i > 0 && h[(i-1)/2].cycle > cycle {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = farItem[T]{cycle, item}
	w.far = h
}

// fetchFar files the items that have come within reach.
func (w *Wheel[T]) fetchFar() {
	for len(w.far) > 0 && w.far[0].cycle-w.now <= w.mask {
		first := w.far[0]
		h := w.far
		last := h[len(h)-1]
		h = h[:len(h)-1]
		i := 0
		for {
			c := 2*i + 1
			if c >= len(h) {
				break
			}
			if c+1 < len(h) && h[c+1].cycle < h[c].cycle {
				c++
			}
			if h[c].cycle >= last.cycle {
				break
			}
			h[i] = h[c]
			i = c
		}
		if len(h) > 0 {
			h[i] = last
		}
		w.far = h
		w.Push(first.cycle, first.item)
	}
}
