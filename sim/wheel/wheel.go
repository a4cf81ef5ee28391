// Package wheel files what clocked components wait for by the cycle in which it is due.
package wheel

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/weft-sim/weft/sim/check"
)

// Wheel is the near future of a clocked component: values of one type filed
// by the cycle in which they are due. Items live in chunks that are handed on
// from emptied cycles to filling ones, so that memory follows the number of
// items in flight and stays warm. Items beyond the wheel's reach wait in coarser
// wheels; no item is ever sorted. The items of a cycle come in the order in which they
// were filed.
type Wheel[T any] struct {
	slots []wheelSlot[T]
	first *wheelSlot[T] // of slots
	mask  int64
	reach int64          // last cycle that has a slot now
	now   int64          // cycle last taken from
	turn  int64          // last cycle of now's block
	free  *wheelChunk[T] // list of empty chunks
	open  *wheelChunk[T] // chunk last handed out
	filed int            // chunks in slots
	// far takes what is beyond the last block within reach. A block is an eighth of
	// the slots: reach moves on by one when now enters another.
	far       farFuture[T]
	blockBits uint
}

const (
	chunkItems  = 64
	slabChunks  = 16 // chunks allocated together
	wheelBlocks = 8  // of the slots: now's, and those ahead
)

// wheelSlot is a ring of chunks, all of them full but the last: the slot's hot
// fields are then one pointer and one counter.
type wheelSlot[T any] struct {
	last *wheelChunk[T]
	room uint32 // bytes of the unused places in last
}

// used is the number of places in use in the last chunk.
func (s *wheelSlot[T]) used() int { return chunkItems - int(s.room)/int(unsafe.Sizeof(*new(T))) }

// each visits the items of a slot that has some, chunk by chunk, in the order in which they were filed.
func (s *wheelSlot[T]) each(visit func(batch []T)) {
	for c := s.last.next; ; c = c.next {
		if c == s.last {
			visit(c.items[:s.used()])
			return
		}
		visit(c.items[:])
	}
}

type wheelChunk[T any] struct {
	items [chunkItems]T
	next  *wheelChunk[T]
}

// New makes a wheel that files items up to reach cycles ahead directly;
// items further ahead are allowed and cost more.
func New[T any](reach int64) *Wheel[T] {
	blockBits := uint(0)
	for (wheelBlocks-1)<<blockBits < reach && wheelBlocks<<blockBits < 1<<16 {
		blockBits++
	}
	slots := make([]wheelSlot[T], wheelBlocks<<blockBits)
	w := &Wheel[T]{slots: slots, first: &slots[0], mask: int64(len(slots)) - 1, now: -1, turn: -1, blockBits: blockBits}
	w.far.last = wheelBlocks - 2 // -1, the cycle before the first, is in block -1
	w.reach = (w.far.last+1)<<blockBits - 1
	return w
}

// Place files an item for a cycle later than the one last taken and returns
// its address, for the caller to fill in before the next call.
func (w *Wheel[T]) Place(cycle int64) *T {
	if w.HasRoom(cycle) {
		return w.Fill(cycle)
	}
	return w.extend(cycle)
}

// HasRoom tells whether there is room at hand for an item of a cycle, which [Wheel.Fill] then
// files as [Wheel.Place] does. The two are for the hottest of callers, where they are inlined.
func (w *Wheel[T]) HasRoom(cycle int64) bool {
	if check.On {
		w.mustCome(cycle)
	}
	return w.slot(cycle).room != 0 && cycle <= w.reach
}

// Fill is [Wheel.Place] where there is room at hand.
func (w *Wheel[T]) Fill(cycle int64) *T {
	s := w.slot(cycle)
	p := (*T)(unsafe.Add(unsafe.Pointer(s.last), chunkItems*unsafe.Sizeof(*new(T))-uintptr(s.room)))
	s.room -= uint32(unsafe.Sizeof(*new(T)))
	return p
}

// slot is &w.slots[cycle&w.mask], whose check of bounds is a fifth of the cost.
func (w *Wheel[T]) slot(cycle int64) *wheelSlot[T] {
	return (*wheelSlot[T])(unsafe.Add(unsafe.Pointer(w.first), uintptr(cycle&w.mask)*unsafe.Sizeof(wheelSlot[T]{})))
}

// mustCome panics if a cycle is not later than the one last taken.
func (w *Wheel[T]) mustCome(cycle int64) {
	if cycle <= w.now {
		panic(fmt.Sprintf("wheel: an item for cycle %d is filed in cycle %d", cycle, w.now))
	}
}

// extend is Place where the slot's chunk is full or the cycle beyond reach.
func (w *Wheel[T]) extend(cycle int64) *T {
	if cycle > w.reach {
		return w.far.place(cycle>>w.blockBits, cycle)
	}
	c := w.free
	if c == nil {
		slab := make([]wheelChunk[T], slabChunks)
		for i := range slab[1:] {
			slab[i].next = &slab[i+1]
		}
		c = &slab[0]
	}
	w.free = c.next
	s := &w.slots[cycle&w.mask]
	c.next = c
	if s.last != nil {
		c.next, s.last.next = s.last.next, c
	}
	s.last, s.room = c, uint32((chunkItems-1)*unsafe.Sizeof(c.items[0]))
	w.filed++
	return &c.items[0]
}

// Next takes a batch of the items of cycle; nil when there are no more. The
// batch is valid until the next call. Cycles must be taken in ascending order
// and completely; Place for a later cycle is allowed in between.
func (w *Wheel[T]) Next(cycle int64) []T {
	if w.open != nil {
		w.open.next = w.free
		w.free, w.open = w.open, nil
	}
	if w.now < cycle {
		if cycle > w.turn {
			w.nextBlock(cycle)
		}
		w.now = cycle
	}
	s := &w.slots[cycle&w.mask]
	if s.last == nil {
		return nil
	}
	c := s.last.next
	n := chunkItems
	if c == s.last {
		n = s.used()
		*s = wheelSlot[T]{}
	} else {
		s.last.next = c.next
	}
	w.open = c
	w.filed--
	return c.items[:n]
}

// Skip takes a cycle, as Next does, if it is cheap to see that it has no items; otherwise
// it returns false, and Next is to be called. It is for the hottest of callers, where it is
// inlined.
func (w *Wheel[T]) Skip(cycle int64) bool {
	if cycle > w.turn || w.Has(cycle) {
		return false
	}
	w.now = cycle
	return true
}

// Has tells whether a cycle, no later than a block after the one last taken, has items.
func (w *Wheel[T]) Has(cycle int64) bool {
	return w.slot(cycle).last != nil
}

// Drain takes all items, as if cycle now had been taken from last: none may be of that
// cycle or an earlier one. Those of a cycle come in the order in which they were filed;
// cycles come in ascending order within the wheel's reach, and behind them those beyond,
// item by item, in no particular order. A batch is valid until visit returns; visit must
// not file items.
func (w *Wheel[T]) Drain(now int64, visit func(cycle int64, batch []T)) {
	if w.now < now {
		if now > w.turn {
			w.nextBlock(now)
		}
		w.now = now
	}
	w.used(func(c int64, s *wheelSlot[T]) {
		s.each(func(batch []T) { visit(c, batch) })
		w.clear(s)
	})
	if w.far.items > 0 {
		w.far.lists(func(l *farList[T]) bool {
			w.far.empty(l, func(p *farItem[T]) { visit(p.cycle, []T{p.item}) })
			return true
		})
	}
}

// used visits the slots that have items, in the order of their cycles.
func (w *Wheel[T]) used(visit func(cycle int64, s *wheelSlot[T])) {
	left := w.filed
	for c := w.now + 1; left > 0; c++ {
		if s := &w.slots[c&w.mask]; s.last != nil {
			s.each(func([]T) { left-- })
			visit(c, s)
		}
	}
}

// clear empties a slot: its ring of chunks becomes the head of the list of free ones.
func (w *Wheel[T]) clear(s *wheelSlot[T]) {
	s.each(func([]T) { w.filed-- })
	s.last.next, w.free = w.free, s.last.next
	*s = wheelSlot[T]{}
}

// nextBlock moves reach on as now enters another block.
func (w *Wheel[T]) nextBlock(now int64) {
	block := now >> w.blockBits
	last := block + wheelBlocks - 1
	w.turn, w.reach = (block+1)<<w.blockBits-1, (last+1)<<w.blockBits-1
	w.far.advance(last, w.blockBits, func(cycle int64, item *T) { *w.Place(cycle) = *item })
}

// Len is the number of items filed. It counts them.
func (w *Wheel[T]) Len() int {
	n := w.filed*chunkItems + w.far.items
	for i := range w.slots {
		if s := &w.slots[i]; s.last != nil {
			n += s.used() - chunkItems
		}
	}
	return n
}

// NextCycle is the first cycle after the one last taken that has items; ok is
// false if there are none. It scans; call it only when idle.
func (w *Wheel[T]) NextCycle() (cycle int64, ok bool) {
	if w.filed > 0 {
		for c := w.now + 1; c <= w.reach; c++ {
			if w.slots[c&w.mask].last != nil {
				return c, true
			}
		}
	}
	return w.far.first()
}

// Each calls visit with every item, for audits. It does not take them.
func (w *Wheel[T]) Each(visit func(T)) { w.Items(func(_ int64, item *T) { visit(*item) }) }

// Items calls visit with every item and its cycle: the items of a cycle in the order in which
// they were filed, the cycles in no particular order. It does not take them.
func (w *Wheel[T]) Items(visit func(cycle int64, item *T)) {
	w.used(func(c int64, s *wheelSlot[T]) {
		s.each(func(batch []T) {
			for i := range batch {
				visit(c, &batch[i])
			}
		})
	})
	w.far.lists(func(l *farList[T]) bool {
		l.each(func(p *farItem[T]) { visit(p.cycle, &p.item) })
		return true
	})
}

// Remove takes away every item for which drop returns true. Cost: linear in the
// items filed and the wheel's reach.
func (w *Wheel[T]) Remove(drop func(*T) bool) {
	var kept []T
	w.used(func(c int64, s *wheelSlot[T]) {
		kept = kept[:0]
		filed := 0
		s.each(func(batch []T) {
			for i := range batch {
				if filed++; !drop(&batch[i]) {
					kept = append(kept, batch[i])
				}
			}
		})
		if len(kept) < filed {
			w.clear(s)
			for _, item := range kept {
				*w.Place(c) = item
			}
		}
	})
	w.far.remove(w.blockBits, drop)
}

// farFuture holds a wheel's items beyond its reach, as a hierarchical timing wheel
// does (Varghese and Lauck, 1987, scheme 7): time in blocks of cycles, a block's
// number in digits of 8 bits, a ring of lists for each digit. An item waits in the ring
// of the highest digit in which its block differs from the last block within reach, and
// moves down as that digit is reached: at most once a digit. So there is no sorting, and
// the items of a cycle, which are always in one list, keep their order.
type farFuture[T any] struct {
	rings [farDigits]*[1 << farBits]farList[T] // nil until needed
	items int
	last  int64        // block within reach
	free  *farChunk[T] // list of empty chunks
}

const (
	farBits   = 8
	farDigits = 8 // 64 bits
)

// farList is a ring of chunks, all of them full but the last.
type farList[T any] struct {
	last *farChunk[T]
	used int // places of last
}

type farChunk[T any] struct {
	items [chunkItems]farItem[T]
	next  *farChunk[T]
}

type farItem[T any] struct {
	cycle int64
	item  T
}

// digit is the number of the ring in which an item of block waits.
func (f *farFuture[T]) digit(block int64) int {
	return (bits.Len64(uint64(block^f.last)) - 1) / farBits
}

// place files an item of a block beyond the last one and returns its address, for
// the caller to fill in.
func (f *farFuture[T]) place(block, cycle int64) *T {
	d := f.digit(block)
	if f.rings[d] == nil {
		f.rings[d] = new([1 << farBits]farList[T])
	}
	l := &f.rings[d][uint8(block>>(farBits*d))]
	if l.last == nil || l.used == chunkItems {
		c := f.free
		if c == nil {
			c = new(farChunk[T])
		} else {
			f.free = c.next
		}
		c.next = c
		if l.last != nil {
			c.next, l.last.next = l.last.next, c
		}
		l.last, l.used = c, 0
	}
	p := &l.last.items[l.used]
	l.used++
	f.items++
	p.cycle = cycle
	return &p.item
}

// advance moves the last block within reach on, and hands every item that is now in
// or before it to arrived, which must not file items here. No item may be in a block
// that has been skipped unless arrived may still have it.
func (f *farFuture[T]) advance(block int64, blockBits uint, arrived func(cycle int64, item *T)) {
	before := f.last
	top := f.digit(block)
	f.last = block
	if f.items == 0 {
		return
	}
	for d := range top + 1 {
		ring := f.rings[d]
		if ring == nil {
			continue
		}
		// Below the highest digit that changes, all lists are of blocks that have
		// been passed; in it, those up to the new digit.
		end := len(ring) - 1
		if d == top {
			end = int(uint8(block >> (farBits * d)))
		}
		for i := int(uint8(before>>(farBits*d))) + 1; i <= end; i++ {
			f.empty(&ring[i], func(p *farItem[T]) {
				if to := p.cycle >> blockBits; to > block {
					*f.place(to, p.cycle) = p.item
				} else {
					arrived(p.cycle, &p.item)
				}
			})
		}
	}
}

// empty takes the items of a list out, in the order in which they were filed.
func (f *farFuture[T]) empty(l *farList[T], visit func(*farItem[T])) {
	full := *l
	if *l = (farList[T]{}); full.last == nil {
		return
	}
	full.each(func(p *farItem[T]) {
		f.items--
		visit(p)
	})
	full.last.next, f.free = f.free, full.last.next
}

// lists calls visit with the lists that have items, lists of earlier blocks
// first, until visit returns false.
func (f *farFuture[T]) lists(visit func(*farList[T]) bool) {
	for d, ring := range f.rings {
		if ring == nil {
			continue
		}
		for i := int(uint8(f.last>>(farBits*d))) + 1; i < len(ring); i++ {
			if ring[i].last != nil && !visit(&ring[i]) {
				return
			}
		}
	}
}

// each calls visit with the items of a list.
func (l *farList[T]) each(visit func(*farItem[T])) {
	for c := l.last.next; ; c = c.next {
		n := chunkItems
		if c == l.last {
			n = l.used
		}
		for i := range c.items[:n] {
			visit(&c.items[i])
		}
		if c == l.last {
			return
		}
	}
}

// first is the earliest cycle of an item; ok is false if there is none.
func (f *farFuture[T]) first() (cycle int64, ok bool) {
	f.lists(func(l *farList[T]) bool {
		l.each(func(p *farItem[T]) {
			if !ok || p.cycle < cycle {
				cycle, ok = p.cycle, true
			}
		})
		return false
	})
	return cycle, ok
}

// remove takes away every item for which drop returns true.
func (f *farFuture[T]) remove(blockBits uint, drop func(*T) bool) {
	f.lists(func(l *farList[T]) bool {
		var kept []farItem[T]
		f.empty(l, func(p *farItem[T]) {
			if !drop(&p.item) {
				kept = append(kept, *p)
			}
		})
		for _, p := range kept {
			*f.place(p.cycle>>blockBits, p.cycle) = p.item
		}
		return true
	})
}
