//go:build unix

package experiments

import (
	"os"
	"syscall"
)

// ProcessorSeconds is the processor time that this process has used, 0 where the system
// does not tell.
func ProcessorSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// LockFile makes this process the only writer of a file until it is closed.
func LockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
