package experiments

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"time"
)

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

// BenchColumns are the columns of weft bench's table.
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
	done, _, err := f.NewRun(p, Circumstances{Threads: threads}).Compute(ctx)
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
