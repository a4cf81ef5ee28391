// Package mem speeds up the reading of memory: it asks for cache lines ahead and for large pages,
// and lets large data lie in files. It never changes a result.
//
// Reading memory outside the caches takes a hundred times as long as the work on it, and the state
// of ten thousand terminals is in none. What is needed next is often known before.
package mem

import (
	"math/bits"
	"runtime"
	"sync"
	"unsafe"
)

// Records is a table of records that never move, numbered from 0. Several goroutines may use it at
// once, each for its own records. The zero value is empty.
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

// pieceOf tells where a record is: piece k holds those from 64 * 2^(k-1) on, piece 0 those before.
func pieceOf(i uint32) (piece int, offset uint32) {
	piece = bits.Len32(i >> firstBits)
	return piece, i &^ (firstRecords << piece >> 1 &^ (firstRecords - 1))
}

// Take hands out new records first to end-1: most of them or fewer, or with most = 0 as many as lie
// in one piece.
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

// lineBytes is what processors hand each other when one writes what another has read: a cache line,
// or a pair that is fetched together.
const lineBytes = 128

// Apart makes a slice that shares no cache line with anything else: each write of a thread would
// take the line from another thread's cache. Small objects made one after the other do share lines.
func Apart[T any](n int) []T {
	pad := (lineBytes + int(unsafe.Sizeof(*new(T))) - 1) / int(unsafe.Sizeof(*new(T)))
	return make([]T, pad+n+pad)[pad : pad+n : pad+n]
}

const (
	// spillAfter is what lies on the heap before a file is made, in bytes.
	spillAfter = 16 << 20
	// spillRegion is what the file grows by, in bytes, and is touched before pages may go back.
	spillRegion = 32 << 20
	// faultAround is what the system makes present when a byte is touched.
	faultAround = 64 << 10
)

// Spill is memory for large data that are gone through in order. Beyond 16 MiB it lies in a
// nameless temporary file, which the system caches: the pages of this process stay few. Without
// such a file, or with a nil Spill, it is heap memory. It is for types without pointers, and freed
// with the Spill: who holds a slice of it must hold the Spill.
type Spill struct {
	heap    int64 // bytes taken there
	free    []byte
	regions [][]byte
	file    spillFile
	failed  bool
	touched int64
}

// OnFile tells whether there is a file, with room.
func (s *Spill) OnFile() bool { return s.mapped() && !s.failed }

func (s *Spill) mapped() bool { return s != nil && len(s.regions) > 0 }

// allocate gives zeroed memory.
func (s *Spill) allocate(bytes int) unsafe.Pointer {
	if s == nil || s.failed || s.heap+int64(bytes) <= spillAfter {
		if s != nil {
			s.heap += int64(bytes)
		}
		return unsafe.Pointer(unsafe.SliceData(make([]uint64, (bytes+7)/8)))
	}
	bytes = (bytes + 7) &^ 7
	if bytes > len(s.free) {
		s.Forget()
		region, err := s.file.grow((max(bytes, spillRegion) + 1<<16 - 1) &^ (1<<16 - 1))
		if err != nil {
			s.failed = true
			return s.allocate(bytes)
		}
		if s.regions == nil {
			runtime.SetFinalizer(s, (*Spill).Free)
		}
		s.regions, s.free = append(s.regions, region), region
	}
	p := unsafe.Pointer(unsafe.SliceData(s.free))
	s.free = s.free[bytes:]
	return p
}

// Touched says that so many bytes were read or written, in any order; now and then it forgets them.
// Several threads may call [Spill.Forget], but not this.
func (s *Spill) Touched(bytes int) {
	if s.mapped() {
		if s.touched += int64(bytes); s.touched > spillRegion {
			s.touched = 0
			s.Forget()
		}
	}
}

// Forget gives the pages of the file back to the system, which keeps what they hold.
func (s *Spill) Forget() {
	if s.mapped() {
		s.file.forget(s.regions)
	}
}

// Free gives the file back; nothing of it may be used any more.
func (s *Spill) Free() {
	if s.mapped() {
		s.file.release(s.regions)
		*s = Spill{failed: true}
		runtime.SetFinalizer(s, nil)
	}
}

// Slice is a slice of n zeros.
func Slice[T any](s *Spill, n int) []T {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(s.allocate(n*int(unsafe.Sizeof(*new(T))))), n)
}

// List is a sequence that grows in pieces, without copies or memory taken twice. Its items have no
// pointers.
type List[T any] struct {
	Spill  *Spill // where they lie; nil: on the heap
	pieces []*[PieceItems]T
	n      int
}

const (
	pieceBits = 12
	// PieceItems are the items of a piece of a list.
	PieceItems = 1 << pieceBits
)

// Len is the number of items.
func (l *List[T]) Len() int { return l.n }

// At is the address of item i.
func (l *List[T]) At(i int32) *T { return &l.pieces[uint32(i)>>pieceBits][uint32(i)%PieceItems] }

// Add appends an item.
func (l *List[T]) Add(item T) {
	if l.n>>pieceBits == len(l.pieces) {
		l.pieces = append(l.pieces, (*[PieceItems]T)(unsafe.Pointer(unsafe.SliceData(Slice[T](l.Spill, PieceItems)))))
	}
	l.pieces[l.n>>pieceBits][l.n%PieceItems] = item
	l.n++
}

// Pieces yields the items in slices, as they lie.
func (l *List[T]) Pieces(yield func([]T) bool) {
	for k, piece := range l.pieces {
		l.Spill.Touched(max(PieceItems*int(unsafe.Sizeof(*new(T))), faultAround))
		if !yield(piece[:min(l.n-k*PieceItems, PieceItems)]) {
			break
		}
	}
	runtime.KeepAlive(l.Spill)
}

// All yields the addresses of all items.
func (l *List[T]) All(yield func(int32, *T) bool) {
	for i := range int32(l.n) {
		if i%PieceItems == 0 {
			l.Spill.Touched(PieceItems * int(unsafe.Sizeof(*new(T))))
		}
		if !yield(i, l.At(i)) {
			break
		}
	}
	runtime.KeepAlive(l.Spill)
}
