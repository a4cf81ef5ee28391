// Package mem speeds up the reading of memory: it asks for cache lines before they
// are needed, and for large pages; and it lets large data lie in files. Nothing of it
// changes a result.
//
// Reading memory that is not in a cache takes a hundred times as long as what is
// done with it, and the state of ten thousand terminals is in none. What is needed
// next is often known before it is its turn.
package mem

import (
	"math/bits"
	"sync"
	"unsafe"
)

// Records is a table of records that never move, by their numbers from 0 on. Several
// goroutines may use it at once, each for records that are its own at the time. The
// zero value is an empty table.
type Records[T any] struct {
	pieces [32]unsafe.Pointer // of 64, 64, 128, 256, ... records
	mutex  sync.Mutex
	used   uint32
}

const (
	firstBits    = 6
	firstRecords = 1 << firstBits
)

// At is record i, which must have been handed out.
func (r *Records[T]) At(i int32) *T {
	piece, offset := pieceOf(uint32(i))
	return (*T)(unsafe.Add(r.pieces[piece&31], uintptr(offset)*unsafe.Sizeof(*new(T))))
}

// pieceOf tells where a record is: piece k holds the records from 64 * 2^(k-1) on, and
// piece 0 those before.
func pieceOf(i uint32) (piece int, offset uint32) {
	piece = bits.Len32(i >> firstBits)
	return piece, i &^ (firstRecords << piece >> 1 &^ (firstRecords - 1))
}

// Take hands out records first to end-1, which nobody had before: at most so many, or
// with most = 0 as many as lie in one piece.
func (r *Records[T]) Take(most int) (first, end int32) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	from := r.used
	piece, _ := pieceOf(from)
	if r.pieces[piece] == nil {
		r.pieces[piece] = unsafe.Pointer(unsafe.SliceData(HugePages(make([]T, firstRecords<<max(0, piece-1)))))
	}
	r.used = firstRecords << piece
	if most > 0 {
		r.used = min(r.used, from+uint32(most))
	}
	return int32(from), int32(r.used)
}

// Used is the number of records that have been handed out.
func (r *Records[T]) Used() int32 {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return int32(r.used)
}

// Reserve hands out the first n records of a table that is empty.
func (r *Records[T]) Reserve(n int32) {
	for r.Used() < n {
		_, end := r.Take(0)
		r.mutex.Lock()
		r.used = uint32(min(end, n))
		r.mutex.Unlock()
	}
}

// lineBytes is what processors hand each other when one writes what another has read: a
// cache line, or two beside each other, which some fetch together.
const lineBytes = 128

// Apart makes a slice that shares no cache line with anything else. What a thread writes
// all the time must not lie beside what another one does: each write would take the line
// from the other's cache. Small objects that are made one after the other do.
func Apart[T any](n int) []T {
	pad := (lineBytes + int(unsafe.Sizeof(*new(T))) - 1) / int(unsafe.Sizeof(*new(T)))
	return make([]T, pad+n+pad)[pad : pad+n : pad+n]
}
