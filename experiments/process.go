package experiments

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weft-sim/weft/sim/mem"
)

// version is set by make (-ldflags -X) to the commit that it builds.
var version string

// Version names the build of weft: what make has said, or the module's version,
// which for a build from a checkout holds the commit. Of a program of another module it is
// weft's version and the program's own.
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
	content, err := contentOf(path)
	if err != nil {
		return v
	}
	return v + " " + hex.EncodeToString(content[:8])
})

// contentOf is a hash of the identity that Go's linker gave to an executable, which stands for its
// content or, where it has none, of the executable.
func contentOf(path string) (hash []byte, err error) {
	h := sha256.New()
	if file, err := elf.Open(path); err == nil {
		defer file.Close()
		if note := file.Section(".note.go.buildid"); note != nil {
			if id, err := note.Data(); err == nil {
				h.Write(id)
				return h.Sum(nil), nil
			}
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	_, err = io.Copy(h, file)
	return h.Sum(nil), err
}

const (
	// collectAt is the share of the live memory, in percent, that may be garbage before
	// it is collected: a simulation allocates little while it runs, so that half of Go's
	// setting costs next to no time and saves up to a quarter of the memory.
	collectAt = 50
	// leastGarbage is how many bytes of it may stand in any case: a short run that collects less
	// at a time spends a tenth of its time on that. mostGarbage is what is collected also where
	// more lives.
	leastGarbage, mostGarbage = 16 << 20, 128 << 20
	// checkGarbage is how much may stand while so many points are read or checked, of which each leaves
	// little, or twice as much as lives up to checkMore: half of the time would go into collecting less
	// at a time.
	checkGarbage, checkMore, checkedPoints = 192 << 20, 640 << 20, 1000
	// pointBytes is what each of so many points takes then, with its share of the garbage, in kinds
	// of many settings. In large pages a check takes a fifth less time, in a virtual machine.
	pointBytes = 16 << 10
)

// checking counts the loops over checkedPoints points or more.
var checking atomic.Int32

// ReserveMemory prepares the process for large networks: memory that it takes from now on, up to
// what networks of some 50,000 terminals need, is in large pages, where the system has them; and
// garbage is collected early, unless the environment variable GOGC says when. A program calls it
// once, first.
func ReserveMemory() {
	mem.ReserveHugePages(128 << 20)
	if os.Getenv("GOGC") == "" {
		collectEarly()
	}
}

// collectEarly sets how much garbage may stand until the next collection, and again behind
// each one, by what lives then.
func collectEarly() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	lives, least := live[0].Value.Uint64(), uint64(leastGarbage)
	if checking.Load() > 0 {
		least = max(checkGarbage, min(2*lives, checkMore))
	}
	debug.SetGCPercent(garbageShare(lives, least))
	collected := new([16]byte) // garbage from the start
	runtime.SetFinalizer(collected, func(*[16]byte) { collectEarly() })
}

// garbageShare is how much garbage may stand where so many bytes live, in percent of these; least: bytes
// that may in any case.
func garbageShare(live, least uint64) int {
	share := func(garbage uint64) int { return int(100 * garbage / max(1<<20, live)) }
	return max(1, share(least), min(collectAt, share(mostGarbage)))
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
