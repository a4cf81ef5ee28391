// Package early prepares a process before other packages do: Go initializes packages that are ready by their paths, and
// most of weft's stand behind this one.
package early

import (
	"os"
	"strings"

	"github.com/weft-sim/weft/sim/mem"
)

// A subcommand, and not --version or --help: memory that it takes from now on, up to what networks of some 50,000
// terminals need, is in large pages, where the system has them. The collection of garbage that this takes costs next to
// nothing as long as there is none.
func init() {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		mem.ReserveHugePages(128 << 20)
	}
}
