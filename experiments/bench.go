package experiments

import (
	"context"
	"embed"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Workload is one of the fixed runs of weft bench: an experiment file of folder bench, whose first line
// says what it is about.
type Workload struct{ Name, Doc, text string }

//go:embed bench
var benches embed.FS

// Workloads are what weft bench runs: one of each thing that weft spends its
// time on, at the sizes that people use.
var Workloads = func() (all []Workload) {
	for _, name := range []string{"dragonfly-1056", "dragonfly-1056-vc-stage", "dragonfly-16512", "fat-tree-16000", "torus-24000", "multicast-10496", "alltoall-240", "lu-16384"} {
		text, err := benches.ReadFile("bench/" + name + ".toml")
		if err != nil {
			panic("experiments: " + err.Error())
		}
		doc, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		all = append(all, Workload{name, doc, string(text)})
	}
	return all
}()

// BenchColumns are the columns of weft bench's table.
var BenchColumns = []string{"workload", "unit", "ns_per_unit", "units", "events_per_s", "cpu_s", "wall_s", "setup_s", "peak_mib", "allocations"}

// Measure runs a workload once, in this process, and returns its row. Memory is
// the process's: give every workload its own.
func (w Workload) Measure(ctx context.Context, threads int) ([]string, error) {
	start := time.Now()
	f, err := Load(w.Name, w.text, Options{})
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
	unit, units := "flit-hop", done.FlitHops
	if units == 0 {
		unit, units = "event", done.Events
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
	return []string{
		w.Name, unit, number(cpu * 1e9 / float64(units)), strconv.FormatInt(units, 10), number(float64(done.Events) / wall),
		number(cpu), number(wall), number(setup.Seconds()), strconv.FormatInt(peakMemory()>>20, 10), strconv.FormatUint(after.Mallocs-before.Mallocs, 10),
	}, nil
}
