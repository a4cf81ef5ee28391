package mem

import (
	"runtime"
	"syscall"
	"unsafe"
)

// HugePages asks the operating system to back a slice with pages of 2 MiB and
// returns it. A model that goes through much memory in the order of its events
// finds the translation of hardly any address in the processor's small cache
// for those of 4 KiB. It helps memory that has not been touched yet, as a large
// slice from make is; small slices are left alone, and failures ignored.
func HugePages[T any](s []T) []T {
	const huge = 2 << 20
	if len(s) == 0 {
		return s
	}
	// The pages at both ends hold other objects of the heap, too, whose pages
	// may be as large.
	first := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	size := uintptr(len(s)) * unsafe.Sizeof(s[0])
	if size < huge/2 {
		return s
	}
	begin := first &^ (huge - 1)
	end := (first + size + huge - 1) &^ (huge - 1)
	syscall.Syscall(syscall.SYS_MADVISE, begin, end-begin, syscall.MADV_HUGEPAGE)
	return s
}

// ReserveHugePages lets so many bytes of the heap, to be allocated from now on in
// pieces of any size, be backed by pages of 2 MiB. It takes address space, no memory, and
// collects garbage once.
func ReserveHugePages(bytes int) {
	// The heap keeps the addresses of what it has freed, and allocates the lowest
	// first; the operating system keeps what it has been asked for them.
	HugePages(make([]byte, bytes))
	runtime.GC()
}
