//go:build !amd64

package mem

import "unsafe"

// Prefetching tells whether Prefetch does anything on this processor.
const Prefetching = false

// Prefetch does nothing.
func Prefetch(unsafe.Pointer) {}

// PrefetchRow is Prefetch of the four cache lines from p on.
func PrefetchRow(unsafe.Pointer) {}

// PrefetchEach asks for some elements of an array.
func PrefetchEach(*int32, int, uintptr, unsafe.Pointer, uintptr) {}

// PrefetchSet asks for the members of a set out of an array.
func PrefetchSet(uint64, unsafe.Pointer, uintptr) {}
