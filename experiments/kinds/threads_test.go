package kinds

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	kind "github.com/weft-sim/weft/experiments/kinds/mpi"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestFilesOnThreads: the files that come with weft, with their [quick] tables, write the
// same bytes on any number of threads: tables, figures and all else but what says how long it
// took. These are the examples of message passing through the fabric; where SOAK_TIME is set,
// all examples and papers, of all kinds.
func TestFilesOnThreads(t *testing.T) {
	enginetest.DivideAlways(t)
	soak := os.Getenv("SOAK_TIME") != ""
	names := experiments.Embedded("examples")
	if soak {
		names = append(names, experiments.Embedded("papers")...)
	}
	files, ran, divided := 0, map[string]int{}, map[string]int{} // points by kind
	for _, name := range names {
		f := simtest.Must(experiments.Open(name, experiments.Options{Quick: true}))(t)
		if !soak && !throughFabric(f) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			points, divides := sameFilesOnThreads(t, f)
			files++
			ran[f.Kind()] += points
			divided[f.Kind()] += divides
		})
	}
	t.Logf("%d files; points: %v; of these simulated by several threads: %v", files, ran, divided)
	simtest.ErrorIf(t, files > 0 && !soak && divided["mpi"] == 0, "none")
	if files < len(names) { // or -run names some
		return
	}
	for _, k := range experiments.DescribeKinds() {
		simtest.ErrorIf(t, ran[k.Name] == 0, "no file of kind %s", k.Name)
	}
	for _, kind := range []string{"traffic", "mpi", "multicast-latency", "exchange"} {
		simtest.ErrorIf(t, divided[kind] == 0, "no point of kind %s was simulated by several threads", kind)
	}
}

// TestTilesOnThreads: a network large enough for one thread to simulate it in tiles, 1,056
// terminals with 16 virtual channels and channels of 20 cycles between groups (TestTiles of
// fabric/core), has the same rows and tables on any number of threads, which divide it otherwise.
func TestTilesOnThreads(t *testing.T) {
	enginetest.DivideAlways(t)
	f := enginetest.Load(t, `kind = "traffic"
[topology]
type = "dragonfly"
p = 4
a = 8
h = 4
[routing]
type = "par"
[switch]
vcs = 16
[channel.global]
latency = "20ns"
[traffic]
pattern = "uniform"
load = 0.3
[measure]
warmup = 50
window = 100
blame = true
`)
	enginetest.SameOnThreads(t, "tiles", f, simtest.Threads(t, 0), true, "blame", "congestion")
}

// throughFabric tells whether all that a file simulates is message passing through the fabric.
func throughFabric(f *experiments.File) bool {
	return f.Kind() == "mpi" && !slices.ContainsFunc(f.Points, func(p *experiments.Point) bool { return p.Config().(*kind.Config).Job.Machine != "fabric" })
}

// sameFilesOnThreads runs a file on several numbers of threads, and compares what is in the
// result folders. It returns the number of points, and of those that have been divided.
func sameFilesOnThreads(t *testing.T, f *experiments.File) (points, divided int) {
	t.Helper()
	var first map[string]string
	for _, n := range simtest.Threads(t, 0) {
		dir := filepath.Join(t.TempDir(), "results")
		o := enginetest.Execute(t, f, engine.Execution{Dir: dir, Jobs: 1, Threads: n})
		points, divided = o.Finished, o.Finished
		for why, on := range o.OnOneThread {
			t.Logf("%d threads: %d points on one: %s", n, on, why)
			divided -= on
		}
		got := folder(t, dir)
		for _, p := range f.Plots {
			if p.Table == "performance" || p.Table == "timing" { // says how long it took
				maps.DeleteFunc(got, func(name, _ string) bool { return strings.HasPrefix(name, p.File+".") })
			}
		}
		if n == 1 {
			first = got
			continue
		}
		simtest.EqualSlices(t, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(first)), "%d threads write", n)
		for name, text := range got {
			simtest.ErrorIf(t, text != first[name], "%s, %d threads:\n%.1000s\none:\n%.1000s", name, n, text, first[name])
		}
	}
	return points, divided
}

// folder is what is in a result folder, without what says how long it took and on what.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	simtest.Check(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		switch entry.Name() {
		case "manifest.json", "performance.csv", "timing.csv", "journal":
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			files[name] = enginetest.Read(t, path)
		}
		return err
	}))
	simtest.ErrorIf(t, len(files) < 2, "%s holds %d files", dir, len(files)) // results.csv and resolved.toml
	return files
}
