package wheel

import "math/bits"

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
