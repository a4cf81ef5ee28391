package experiments

import (
	"github.com/weft-sim/weft/sim/mem"
)

// ReserveMemory prepares the process for large networks: memory that it takes
// afterwards, up to what networks of some 50,000 terminals need, is in large pages,
// where the system has them. A program calls it once, first.
func ReserveMemory() { mem.ReserveHugePages(128 << 20) }
