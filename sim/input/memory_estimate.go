package input

import (
	"fmt"
	"github.com/weft-sim/weft/sim/param"
	"math"
	"runtime/debug"
)

// Memory is how many bytes this process may hold: what the machine has, or less
// where a control group or GOMEMLIMIT (see package runtime) says so. It is
// math.MaxInt64 where the system does not tell.
func Memory() int64 { return min(systemMemory(), debug.SetMemoryLimit(-1)) }

// CheckMemory refuses what would take more than [Memory], before it is allocated.
// bytes is a low estimate; key and value name the setting that it follows from,
// and what names the thing that would be held, in the plural. A nil error says
// that it may fit.
func CheckMemory(key string, value any, what string, bytes float64) error {
	if bytes <= float64(Memory()) {
		return nil
	}
	return &param.ParamError{Key: key, Value: value, Want: fmt.Sprintf("what fits into the memory of this machine: %s take at least %s, and it has %s", what, gibibytes(bytes), gibibytes(float64(Memory())))}
}

func gibibytes(bytes float64) string {
	if bytes >= math.MaxInt64 {
		return "more than 8 EiB"
	}
	return fmt.Sprintf("%.3g GiB", bytes/(1<<30))
}
