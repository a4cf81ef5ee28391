package experiments

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-sim/weft/sim/mem"
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

// peakMemory is the most memory that this process has had resident, in bytes; where the
// system does not tell, what it has taken from the system.
func peakMemory() int64 {
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		_, rest, _ := strings.Cut(string(status), "VmHWM:")
		if fields := strings.Fields(rest); len(fields) > 0 {
			kibibytes, _ := strconv.ParseInt(fields[0], 10, 64)
			return kibibytes << 10
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
