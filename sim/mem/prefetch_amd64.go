package mem

import "unsafe"

// Prefetching tells whether Prefetch does anything on this processor.
const Prefetching = true

// Prefetch asks for the cache line at p, which will soon be read. It changes
// nothing but time; any address will do.
//
//go:noescape
func Prefetch(p unsafe.Pointer)

// Prefetch4 is Prefetch of four cache lines.
//
//go:noescape
func Prefetch4(a, b, c, d unsafe.Pointer)

// PrefetchRow is Prefetch of the four cache lines from p on.
//
//go:noescape
func PrefetchRow(p unsafe.Pointer)
