//go:build unix

package engine

import (
	"os"
	"syscall"
)

// lockFile makes this process the only writer of a file until it is closed.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
