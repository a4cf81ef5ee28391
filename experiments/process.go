package experiments

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"time"

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
	// garbage is how many bytes of it may stand in any case: a short run that collects less
	// at a time spends a tenth of its time on that.
	garbage = 16 << 20
)

// ReserveMemory prepares the process for large networks: memory that it takes
// afterwards, up to what networks of some 50,000 terminals need, is in large pages,
// where the system has them; and garbage is collected early, unless the environment
// variable GOGC says when. A program calls it once, first.
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
	debug.SetGCPercent(max(collectAt, int(100*garbage/max(1<<20, live[0].Value.Uint64()))))
	collected := new([16]byte) // garbage from the start
	runtime.SetFinalizer(collected, func(*[16]byte) { collectEarly() })
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

// Workload is one of the fixed runs of weft bench.
type Workload struct {
	Name string
	Doc  string
	text string // experiment file
	work string // what ns_per_unit counts: "flit-hop" or "event"
}

// Workloads are what weft bench runs: one of each thing that weft spends its
// time on, at the sizes that people use.
var Workloads = []Workload{
	{"dragonfly-1056", "1,056 terminals, uniform, load 0.4, minimal routing", benchDragonfly(4, 8, 4, 0.4, 20000), "flit-hop"},
	{"dragonfly-1056-vc-stage", "the same with BookSim2's stage for virtual channels", benchDragonfly(4, 8, 4, 0.4, 20000) + "[switch]\nvc_alloc_cycles = 1\npipeline = \"serial\"\nbuffer_flits = 256\n", "flit-hop"},
	{"dragonfly-16512", "16,512 terminals, uniform, load 0.3, minimal routing", benchDragonfly(8, 16, 8, 0.3, 1000), "flit-hop"},
	{"fat-tree-16000", "16,000 terminals, uniform, load 0.3", benchTraffic("type = \"fat-tree\"\nk = 40\nn = 3", "nca", 0.3, 1000), "flit-hop"},
	{"torus-24000", "24,000 terminals, uniform, load 0.1, dimension order", benchTraffic("type = \"torus\"\ndims = [30, 20, 20]\nterminals = 2", "dor", 0.1, 500), "flit-hop"},
	{"multicast-10496", "10,496 groups on 40,960 terminals, mr4lms", `
kind = "multicast-routing"
groups = { pattern = "grid", dims = [128, 32, 40], ranks_per_terminal = 4 }
[topology]
type = "trimmed-tree"
groups = 160
group_terminals = 256
leaf_terminals = 32
middles = 8
tops = 40
top_cables = 2
[multicast]
engine = "mr4lms"
entries = "unlimited"
`, "event"},
	{"alltoall-240", "64 KiB among 240 ranks, flit by flit", `
kind = "mpi"
job = { ranks = 240, machine = "fabric" }
placement = { per_node = 12 }
workload = { type = "osu-alltoall", bytes = "64KiB", iterations = 1 }
topology = { terminals = 20 }
fabric = { flit_bytes = "256B", clock = "64ns" }
[switch]
buffer_flits = 64
`, "flit-hop"},
	{"lu-16384", "an iteration of NAS LU class E on 16,384 ranks over LogGP, 65 million messages", `
kind = "mpi"
[job]
ranks = 16384
[workload]
type = "nas-lu"
class = "E"
iterations = 1
`, "event"},
}

func benchDragonfly(p, a, h int, load float64, cycles int) string {
	return benchTraffic(fmt.Sprintf("type = \"dragonfly\"\np = %d\na = %d\nh = %d", p, a, h), "min", load, cycles)
}

func benchTraffic(topology, routing string, load float64, cycles int) string {
	return fmt.Sprintf("kind = \"traffic\"\n[topology]\n%s\n[routing]\ntype = %q\n[traffic]\nload = %g\n[measure]\nwarmup = %d\nwindow = %d\n", topology, routing, load, cycles/5, cycles)
}

// BenchColumns are those of weft bench's table.
var BenchColumns = []string{"workload", "unit", "ns_per_unit", "units", "events_per_s", "cpu_s", "wall_s", "setup_s", "peak_mib", "allocations"}

// Measure runs a workload once, in this process, and returns its row. Memory is
// the process's: give every workload its own.
func (w Workload) Measure(ctx context.Context, threads int) ([]string, error) {
	start := time.Now()
	f, err := Load(w.Name, "title = \"bench\"\n"+w.text, Options{})
	if err != nil {
		return nil, err
	}
	p := f.Points[0]
	setup := time.Since(start)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, cpu := time.Now(), ProcessorSeconds()
	done, _, err := f.NewRun(ctx, p, Circumstances{Threads: threads}).Compute(ctx)
	if err != nil {
		return nil, err
	}
	wall := time.Since(start).Seconds()
	cpu = ProcessorSeconds() - cpu
	runtime.ReadMemStats(&after)
	units := done.Events
	if w.work == "flit-hop" {
		units = done.FlitHops
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
	return []string{
		w.Name, w.work, number(cpu * 1e9 / float64(units)), strconv.FormatInt(units, 10), number(float64(done.Events) / wall),
		number(cpu), number(wall), number(setup.Seconds()), strconv.FormatInt(peakMemory()>>20, 10), strconv.FormatUint(after.Mallocs-before.Mallocs, 10),
	}, nil
}
