package experiments

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
)

// linked is the version that the linker is told:
//
//	go build -ldflags "-X github.com/weft-sim/weft/experiments.linked=v1.2.3" ./cmd/weft
var linked string

// Version names the build of weft: the version that the linker was told, as the
// Makefile does, or else the module's, which for a build from a checkout holds the
// commit.
func Version() string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}

// build names the code that runs more exactly than Version where that says
// little: by the content of the executable in builds outside version control
// or with changes, so that points computed before a change count as stale.
var build = sync.OnceValue(func() string {
	v := Version()
	if !strings.Contains(v, "devel") && !strings.Contains(v, "dirty") {
		return v
	}
	path, err := os.Executable()
	if err != nil {
		return v
	}
	file, err := os.Open(path)
	if err != nil {
		return v
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return v
	}
	return v + " " + hex.EncodeToString(h.Sum(nil)[:8])
})
