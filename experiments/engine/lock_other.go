//go:build !unix

package engine

import "os"

// lockFile does nothing where there is no flock: two runs into one folder are
// then not refused.
func lockFile(*os.File) error { return nil }
