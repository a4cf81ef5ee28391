package mpi

import (
	"testing"
	"unsafe"
)

// What events touch lies in as few cache lines of 64 bytes as LookAhead asks for.
func TestStateFillsLines(t *testing.T) {
	for _, c := range []struct {
		name       string
		size, want uintptr
	}{
		{"rank", unsafe.Sizeof(rank{}), 128},
		{"rank up to its queue", unsafe.Offsetof(rank{}.queue), 64},
		{"message", unsafe.Sizeof(message{}), 64},
		{"two nodes of a matcher", ownNodes * unsafe.Sizeof(matchNode{}), 64},
		{"progress of two ranks", 2 * unsafe.Sizeof(rankProgress{}), 64},
	} {
		if c.size != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, c.size, c.want)
		}
	}
}
