//go:build !unix

package experiments

import (
	"os"
)

// lockFile does nothing where there is no flock: two runs into one folder are
// then not refused.
func lockFile(*os.File) error { return nil }

// ProcessorSeconds is 0: the system is not asked.
func ProcessorSeconds() float64 { return 0 }
