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

// version is set by make (-ldflags -X) to the commit that it builds.
var version string

// Version names the build of weft: what make has said, or the module's version,
// which for a build from a checkout holds the commit. Of a program of another module it is
// weft's version and that of the program.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	for _, d := range info.Deps {
		if d.Path == "github.com/weft-sim/weft" {
			if d.Replace != nil {
				d = &debug.Module{Version: "devel"}
			}
			return d.Version + " in " + info.Main.Path + " " + info.Main.Version
		}
	}
	return info.Main.Version
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
