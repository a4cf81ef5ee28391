package input

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-sim/weft/sim/param"
)

// Memory is how many bytes this process may hold: the machine's, or less by a control group or
// GOMEMLIMIT (see package runtime). It is math.MaxInt64 where the system does not tell.
func Memory() int64 { return min(systemMemory(), debug.SetMemoryLimit(-1)) }

// CheckMemory refuses what would take more than [Memory], before it is allocated. bytes is a low
// estimate; key and value name the setting that it follows from, and what names the thing that
// would be held, in the plural. A nil error says that it may fit.
func CheckMemory(key string, value any, what string, bytes float64) error {
	if bytes <= float64(Memory()) {
		return nil
	}
	return &param.ParamError{Key: key, Value: value, Want: fmt.Sprintf("what fits into the memory of this machine: %s take at least %s, and it has %s", what, Gibibytes(bytes), Gibibytes(float64(Memory())))}
}

// Gibibytes is a number of bytes as messages have it.
func Gibibytes(bytes float64) string {
	if bytes >= math.MaxInt64 {
		return "more than 8 EiB"
	}
	return fmt.Sprintf("%.3g GiB", bytes/(1<<30))
}

// systemMemory is the memory of the machine, or of this process's control group, in bytes, read
// once.
var systemMemory = sync.OnceValue(func() int64 {
	least := int64(math.MaxInt64)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		_, rest, _ := strings.Cut(string(text), "MemTotal:")
		if fields := strings.Fields(rest); len(fields) > 0 {
			if kibibytes, err := strconv.ParseInt(fields[0], 10, 53); err == nil {
				least = kibibytes << 10
			}
		}
	}
	// Versions 2 and 1 of control groups, as a container sees its own.
	for _, limit := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(limit)
		if err != nil {
			continue
		}
		if bytes, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			least = min(least, bytes)
		}
	}
	return least
})
