package mem

import (
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"
)

// HugePages asks the operating system to back a slice with pages of 2 MiB and returns it. A model
// that goes through much memory in the order of its events misses the processor's small cache of
// translations for pages of 4 KiB. It helps untouched memory, as of a large slice from make; small
// slices are left alone, and failures ignored.
func HugePages[T any](s []T) []T {
	const huge = 2 << 20
	if len(s) == 0 {
		return s
	}
	// The pages at both ends hold other objects of the heap, too, whose pages may be as large.
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

// ReserveHugePages lets so many bytes of the heap, to the next 64 MiB and allocated from now on in
// any pieces, be backed by pages of 2 MiB. It takes address space, hardly any memory, and collects
// garbage once. Where address space is limited it does nothing.
func ReserveHugePages(bytes int) {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &limit) != nil || limit.Cur < 1<<62 {
		return
	}
	// The heap keeps the addresses that it has freed, and allocates the lowest first; the system
	// keeps its advice for them. A piece of which some was in use before is cleared: one at most.
	const piece = 64 << 20
	percent := debug.SetGCPercent(-1) // or the pieces would be the occasion for collections of their own
	pieces := make([][]byte, (bytes+piece-1)/piece)
	for i := range pieces {
		pieces[i] = HugePages(make([]byte, piece))
	}
	runtime.KeepAlive(pieces)
	runtime.GC()
	debug.SetGCPercent(percent)
}

type spillFile struct {
	file *os.File
	size int64
}

// grow makes the file longer by a multiple of the page size, and returns the new part. Its room on
// the disk is taken at once: nobody can be told of its lack later.
func (f *spillFile) grow(bytes int) ([]byte, error) {
	if f.file == nil {
		file, err := os.CreateTemp("", "weft-*.spill")
		if err != nil {
			return nil, err
		}
		os.Remove(file.Name())
		f.file = file
	}
	if err := syscall.Fallocate(int(f.file.Fd()), 0, f.size, int64(bytes)); err != nil {
		return nil, err
	}
	region, err := syscall.Mmap(int(f.file.Fd()), f.size, bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err == nil {
		f.size += int64(bytes)
	}
	return region, err
}

// forget takes the pages out of the address space; they stay in the file.
func (f *spillFile) forget(regions [][]byte) {
	for _, r := range regions {
		syscall.Madvise(r, syscall.MADV_DONTNEED)
	}
}

// release gives everything back.
func (f *spillFile) release(regions [][]byte) {
	for _, r := range regions {
		syscall.Munmap(r)
	}
	f.file.Close()
}
