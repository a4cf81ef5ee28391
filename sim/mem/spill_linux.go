package mem

import (
	"os"
	"syscall"
)

// spillFile is the file of a [Spill].
type spillFile struct {
	file *os.File
	size int64
}

// grow makes the file longer by a multiple of the size of pages, and returns what is new.
// The room on the disk is taken at once, as there is nobody to tell of its lack later.
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
