//go:build !linux

package experiments

import "runtime"

// peakMemory is the memory that this process has taken from the system, in
// bytes.
func peakMemory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
