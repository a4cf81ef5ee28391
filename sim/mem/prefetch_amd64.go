package mem

import "unsafe"

// Prefetching tells whether Prefetch does anything on this processor.
const Prefetching = true

// Prefetch asks for the cache line at p, soon to be read. It changes only time; any address will
// do.
//
//go:noescape
func Prefetch(p unsafe.Pointer)

// PrefetchRow is Prefetch of the four cache lines from p on.
//
//go:noescape
func PrefetchRow(p unsafe.Pointer)

// PrefetchEach asks for an array's elements, size bytes each, whose numbers are in n places, stride
// bytes apart.
//
//go:noescape
func PrefetchEach(index *int32, n int, stride uintptr, first unsafe.Pointer, size uintptr)

// PrefetchSet asks for the members of a set out of the first 64 elements of an array.
//
//go:noescape
func PrefetchSet(set uint64, first unsafe.Pointer, size uintptr)
