//go:build !linux

package sim

import "math"

// systemMemory is not known.
func systemMemory() int64 { return math.MaxInt64 }
