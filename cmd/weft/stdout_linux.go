package main

import (
	"os"
	"syscall"
)

// closedOutput tells whether standard output was closed when the process began.
// Go's runtime has opened /dev/null in its place by now, for reading and writing:
// nothing would fail, and what is printed would be lost without a word. A shell's
// > /dev/null is open for writing only; some programs open it both ways for those
// they start, which cannot be told apart.
func closedOutput(file *os.File) bool {
	info, err := file.Stat()
	if err != nil {
		return true
	}
	null, err := os.Stat(os.DevNull)
	if err != nil || !os.SameFile(info, null) {
		return false
	}
	flags, _, failed := syscall.Syscall(syscall.SYS_FCNTL, file.Fd(), syscall.F_GETFL, 0)
	return failed == 0 && flags&syscall.O_ACCMODE == syscall.O_RDWR
}
