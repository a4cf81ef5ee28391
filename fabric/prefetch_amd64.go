package fabric

import "unsafe"

// Reading memory that is not in a cache takes a hundred times as long as what
// is done with it, and a network of ten thousand terminals is not. What a switch
// will touch is known before it is its turn; these ask for it then. They change
// nothing but time.

const prefetching = true

// prefetchEach asks for the elements of an array, each of so many bytes, whose
// numbers are in n places, so many bytes apart.
//
//go:noescape
func prefetchEach(index *int32, n int, stride uintptr, first unsafe.Pointer, size uintptr)

// prefetchSet asks for the members of a set out of the first 64 elements of an array.
//
//go:noescape
func prefetchSet(set uint64, first unsafe.Pointer, size uintptr)
