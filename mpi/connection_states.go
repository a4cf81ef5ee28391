package mpi

import (
	"iter"
	"math/bits"
	"unsafe"

	"github.com/weft-sim/weft/sim/mem"
)

// linkState is that of a connection on demand, on one side.
type linkState uint8

const (
	linkNone linkState = iota
	linkPending
	linkReady
)

// links holds the states of all connections on demand: for each rank a table of
// its peers, 2 bits each, made with its first connection. Tables lie in slabs of
// a few MiB.
type links struct {
	words int         // of a table
	table []*linkBits // the first of each rank's; nil: none
	slab  []linkBits  // what is left of the last one
}

// linkBits packs the states of 32 peers.
type linkBits uint64

func newLinks(ranks, peers int) links {
	return links{words: (peers + 31) / 32, table: make([]*linkBits, ranks)}
}

// of is the word with the state of a's link to a peer; nil without a table.
func (l *links) of(a, peer int32) *linkBits {
	t := l.table[a]
	if t == nil {
		return nil
	}
	return (*linkBits)(unsafe.Add(unsafe.Pointer(t), uintptr(peer>>5)*unsafe.Sizeof(*t)))
}

func (l *links) get(a, peer int32) linkState {
	w := l.of(a, peer)
	if w == nil {
		return linkNone
	}
	return linkState(*w >> (peer & 31 * 2) & 3)
}

func (l *links) set(a, peer int32, state linkState) {
	w := l.of(a, peer)
	if w == nil {
		l.make(a)
		w = l.of(a, peer)
	}
	*w = *w&^(3<<(peer&31*2)) | linkBits(state)<<(peer&31*2)
}

// make adds a's table.
func (l *links) make(a int32) {
	if len(l.slab) < l.words {
		const slab = 4 << 20 // bytes
		tables := min(max(1, slab/8/l.words), len(l.table))
		l.slab = mem.HugePages(make([]linkBits, tables*l.words))
	}
	l.table[a], l.slab = &l.slab[0], l.slab[l.words:]
}

// ready visits the peers in ascending order to which a's links are ready.
func (l *links) ready(a int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		if l.table[a] == nil {
			return
		}
		for word := range int32(l.words) {
			first := word * 32
			for left := *l.of(a, first); left != 0; {
				i := int32(bits.TrailingZeros64(uint64(left))) / 2
				state := linkState(left >> (2 * i) & 3)
				left &^= 3 << (2 * i)
				if state == linkReady && !yield(first+i) {
					return
				}
			}
		}
	}
}

// expect asks for the state of a's link to a peer ahead.
func (l *links) expect(a, peer int32) {
	if w := l.of(a, peer); w != nil {
		mem.Prefetch(unsafe.Pointer(w))
	}
}

// divisor divides by a number that is not known before, without a division:
// Lemire, Kaser, Kurz, Faster remainder by direct computation, Software:
// Practice and Experience 49, 2019, section 3.
type divisor struct {
	n       int32
	inverse uint64 // 2^64/n, rounded up; of 1 it would be 2^64
}

func newDivisor(n int) divisor {
	d := divisor{n: int32(min(n, 1<<31-1))}
	if n > 1 {
		d.inverse = ^uint64(0)/uint64(d.n) + 1
	}
	return d
}

// of is a/n rounded down, for a >= 0.
func (d *divisor) of(a int32) int32 {
	if d.inverse == 0 {
		return a
	}
	q, _ := bits.Mul64(uint64(a), d.inverse)
	return int32(q)
}
