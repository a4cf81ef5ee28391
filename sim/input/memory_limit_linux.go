package input

import (
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
)

// systemMemory is the memory of the machine or of the control group that this
// process is in, in bytes, read once.
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
