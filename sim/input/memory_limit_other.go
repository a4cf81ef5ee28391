//go:build !linux

package input

import "math"

// systemMemory is not known.
func systemMemory() int64 { return math.MaxInt64 }
