package core_test

import (
	"syscall"
	"time"
)

// cpuTime is the processor time that the process has used: what benchmarks
// report, since wall time says little on a shared machine.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
