package experiments

import (
	"os"
	"runtime/debug"

	"github.com/weft-sim/weft/sim/mem"
)

// collectAt is the share of the live memory, in percent, that may be garbage before
// it is collected: a simulation allocates little while it runs, so that half of Go's
// setting costs next to no time and saves up to a quarter of the memory.
const collectAt = 50

// ReserveMemory prepares the process for large networks: memory that it takes
// afterwards, up to what networks of some 50,000 terminals need, is in large pages,
// where the system has them; and garbage is collected early, unless the environment
// variable GOGC says when. A program calls it once, first.
func ReserveMemory() {
	mem.ReserveHugePages(128 << 20)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
}
