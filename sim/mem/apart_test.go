package mem

import (
	"runtime"
	"testing"
	"unsafe"
)

// Slices made one after the other lie at least two cache lines apart, and cannot grow
// into the space between.
func TestApart(t *testing.T) {
	var ends []uintptr
	var keep [][]uint16 // or their memory could be used again
	for n := range 40 {
		s := Apart[uint16](n + 1)
		if len(s) != n+1 || cap(s) != n+1 {
			t.Fatalf("len %d, cap %d, want %d", len(s), cap(s), n+1)
		}
		first := uintptr(unsafe.Pointer(&s[0]))
		last := first + uintptr(len(s))*2
		for i := 0; i < len(ends); i += 2 {
			if first < ends[i+1]+lineBytes && ends[i] < last+lineBytes {
				t.Errorf("%d elements at %x to %x lie near others at %x to %x", n+1, first, last, ends[i], ends[i+1])
			}
		}
		ends, keep = append(ends, first, last), append(keep, s)
	}
	runtime.KeepAlive(keep)
}
