package mem

import "unsafe"

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
