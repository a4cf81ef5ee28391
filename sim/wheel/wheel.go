// Package wheel files what clocked components wait for by the cycle in which it is due.
package wheel

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"github.com/weft-sim/weft/sim/check"
)

// Wheel is the near future of a clocked component: values of one type filed by the cycle in which
// they are due. Items live in chunks that pass from emptied cycles to filling ones: memory follows
// the items in flight and stays warm. Items beyond the wheel's reach wait in lists of many cycles
// each; nothing is sorted. A cycle's items keep the order of filing.
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
	// far takes what is beyond the last block within reach. A block is an eighth of the slots; when
	// now enters another, reach moves on by one.
	far       farFuture[T]
	blockBits uint
}

const (
	chunkItems  = 64
	slabChunks  = 16 // chunks allocated together
	wheelBlocks = 8  // of the slots: now's, and those ahead
)

// wheelSlot is a ring of chunks, full but for the last: its hot fields are a pointer and a counter.
type wheelSlot[T any] struct {
	last *wheelChunk[T]
	room uint32 // bytes of the unused places in last
}

// used is the number of places in use in the last chunk.
func (s *wheelSlot[T]) used() int { return chunkItems - int(s.room)/int(unsafe.Sizeof(*new(T))) }

// each visits the items of a slot that has some, chunk by chunk, in the order of filing.
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

// New makes a wheel that files up to reach cycles ahead directly; items further ahead cost more.
func New[T any](reach int64) *Wheel[T] {
	blockBits := uint(0)
	for (wheelBlocks-1)<<blockBits < reach && wheelBlocks<<blockBits < 1<<16 {
		blockBits++
	}
	slots := make([]wheelSlot[T], wheelBlocks<<blockBits)
	w := &Wheel[T]{slots: slots, first: &slots[0], mask: int64(len(slots)) - 1, now: -1, turn: -1, blockBits: blockBits}
	w.reach = (wheelBlocks-1)<<blockBits - 1 // -1, the cycle before the first, is in block -1
	return w
}

// Place files an item for a cycle after the one last taken and returns its address, to be filled in
// before the next call.
func (w *Wheel[T]) Place(cycle int64) *T {
	if w.HasRoom(cycle) {
		return w.Fill(cycle)
	}
	return w.extend(cycle)
}

// HasRoom tells whether there is room at hand for an item of a cycle, which [Wheel.Fill] then files
// as [Wheel.Place] does. Both are inlined in the hottest callers.
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

// Next takes a batch of a cycle's items; nil at the end. It is valid until the next call. Cycles
// must be taken in ascending order and completely; Place for a later cycle is allowed in between.
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

// Skip takes a cycle, as Next does, if it is cheap to see that it has no items; otherwise it is
// false, and Next is due. It is inlined in the hottest callers.
func (w *Wheel[T]) Skip(cycle int64) bool {
	if cycle > w.turn || w.Has(cycle) {
		return false
	}
	w.now = cycle
	return true
}

// Has tells whether a cycle, no later than a block after the one last taken, has items.
func (w *Wheel[T]) Has(cycle int64) bool { return w.slot(cycle).last != nil }

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
	w.far.take(last, func(cycle int64, item *T) { *w.Place(cycle) = *item })
}

// Len is the number of items filed. It counts them.
func (w *Wheel[T]) Len() int {
	n := w.filed * chunkItems
	for i := range w.slots {
		if s := &w.slots[i]; s.last != nil {
			n += s.used() - chunkItems
		}
	}
	for _, l := range w.far.lists {
		n += len(l.items)
	}
	return n
}

// NextCycle is the first cycle with items after the one last taken; not ok if none. It scans: call
// it when idle.
func (w *Wheel[T]) NextCycle() (cycle int64, ok bool) {
	if w.filed > 0 {
		for c := w.now + 1; c <= w.reach; c++ {
			if w.slots[c&w.mask].last != nil {
				return c, true
			}
		}
	}
	if len(w.far.lists) == 0 {
		return 0, false
	}
	items := w.far.lists[0].items
	return slices.MinFunc(items, func(a, b farItem[T]) int { return cmp.Compare(a.cycle, b.cycle) }).cycle, true
}

// Each calls visit with every item, for audits. It does not take them.
func (w *Wheel[T]) Each(visit func(T)) { w.Items(func(_ int64, item *T) { visit(*item) }) }

// Items visits every item with its cycle, in the order of filing within a cycle; cycles are in no
// particular order. It does not take them.
func (w *Wheel[T]) Items(visit func(cycle int64, item *T)) {
	w.used(func(c int64, s *wheelSlot[T]) {
		s.each(func(batch []T) {
			for i := range batch {
				visit(c, &batch[i])
			}
		})
	})
	for _, l := range w.far.lists {
		for i := range l.items {
			visit(l.items[i].cycle, &l.items[i].item)
		}
	}
}

// Remove takes away items for which drop is true. Cost: linear in items and the wheel's reach.
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
	w.far.remove(drop)
}

// farFuture holds a wheel's items beyond its reach: a list for each block of cycles with some, by
// block. A cycle's items, always in one list, keep their order.
type farFuture[T any] struct {
	lists []*farList[T]
	free  []*farList[T] // empty ones
}

type farList[T any] struct {
	block int64
	items []farItem[T]
}

type farItem[T any] struct {
	cycle int64
	item  T
}

// place files an item of a block beyond reach and returns its address, for the caller to fill in.
func (f *farFuture[T]) place(block, cycle int64) *T {
	i, known := slices.BinarySearchFunc(f.lists, block, func(l *farList[T], block int64) int { return cmp.Compare(l.block, block) })
	if !known {
		l := &farList[T]{}
		if n := len(f.free); n > 0 {
			l, f.free = f.free[n-1], f.free[:n-1]
		}
		l.block, l.items = block, l.items[:0]
		f.lists = slices.Insert(f.lists, i, l)
	}
	l := f.lists[i]
	l.items = append(l.items, farItem[T]{cycle: cycle})
	return &l.items[len(l.items)-1].item
}

// take takes the items of all blocks up to one, in order; visit may file items beyond it.
func (f *farFuture[T]) take(last int64, visit func(cycle int64, item *T)) {
	for len(f.lists) > 0 && f.lists[0].block <= last {
		l := f.lists[0]
		f.lists = slices.Delete(f.lists, 0, 1)
		for i := range l.items {
			visit(l.items[i].cycle, &l.items[i].item)
		}
		f.free = append(f.free, l)
	}
}

// remove takes away every item for which drop returns true.
func (f *farFuture[T]) remove(drop func(*T) bool) {
	f.lists = slices.DeleteFunc(f.lists, func(l *farList[T]) bool {
		l.items = slices.DeleteFunc(l.items, func(p farItem[T]) bool { return drop(&p.item) })
		return len(l.items) == 0
	})
}
