//go:build unix

package experiments

import (
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
