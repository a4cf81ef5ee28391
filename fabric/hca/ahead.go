package hca

import (
	"unsafe"

	"github.com/weft-sim/weft/sim/mem"
)

// Ahead asks for memory that will be touched at adapters that were made together.
// It changes nothing but time.
type Ahead struct {
	all, active, sets unsafe.Pointer // the first of each
	cache             *contextCache
	mask              int // of a set's number
}

// NewAhead is for all adapters that were made together, of which there is one at
// least.
func NewAhead(all []HCA) Ahead {
	common := all[0].shared
	c := &common.cache
	if len(c.sets) == 0 { // no sets, but one that nobody touches will do
		c = &contextCache{sets: make([]contextSet, 1)}
	}
	return Ahead{
		all:    unsafe.Pointer(unsafe.SliceData(all)),
		active: unsafe.Pointer(unsafe.SliceData(common.active)),
		sets:   unsafe.Pointer(unsafe.SliceData(c.sets)),
		cache:  c, mask: max(0, c.perAdapter-1),
	}
}

// SetOf is the number of the set of contexts that a QP is in, on any adapter.
func (a *Ahead) SetOf(qp QP) int { return setOf(qp) & a.mask }

func (a *Ahead) adapter(i int32) unsafe.Pointer {
	return unsafe.Add(a.all, uintptr(i)*unsafe.Sizeof(HCA{}))
}

// queue is where four QPs of an adapter are, a cache line each.
func (a *Ahead) queue(i int32) unsafe.Pointer {
	return unsafe.Add(a.active, uintptr(i)*fewActive*unsafe.Sizeof(activeQP{}))
}

func (a *Ahead) set(adapter int32, set int) unsafe.Pointer {
	return unsafe.Add(a.sets, uintptr(int(adapter)*a.cache.perAdapter+set&a.mask)*unsafe.Sizeof(contextSet{}))
}

// Posted is for a request at one adapter on a QP and for taking it in at another.
func (a *Ahead) Posted(from int32, qp QP, to int32, peer QP) {
	sender := a.adapter(from)
	mem.Prefetch4(sender, a.set(from, setOf(qp)), a.adapter(to), a.set(to, setOf(peer)))
	mem.Prefetch(unsafe.Add(sender, 64))
	mem.PrefetchRow(a.queue(from))
}

// Served is for the next burst of an adapter, with the sets of its contexts there
// and at the adapter that it goes to.
func (a *Ahead) Served(from int32, own int, to int32, peer int) {
	sender := a.adapter(from)
	mem.Prefetch4(sender, a.set(from, own), a.adapter(to), a.set(to, peer))
	mem.Prefetch(unsafe.Add(sender, 64))
	mem.PrefetchRow(a.queue(from))
}

// Expect asks for the context of a QP that will soon be touched. It may be called while
// another thread uses the adapter.
func (h *HCA) Expect(qp QP) {
	if c := &h.shared.cache; len(c.sets) > 0 {
		mem.Prefetch(unsafe.Pointer(c.at(h.contexts, qp)))
	}
}
