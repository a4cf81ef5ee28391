package kinds

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// longPoints can be kept some thirty times in each replication.
const longPoints = enginetest.Dragonfly + `
routing = { type = "ugal-l" }
[traffic]
load = 0.3
[measure]
warmup = 500
window = 3000
replications = 2
links = true
[sweep]
"traffic.pattern" = ["uniform", "worst-case"]
`

// longProgram is one on a fabric.
const longProgram = `kind = "mpi"
fabric = { flit_bytes = "64B" }
placement = { per_node = 2 }
workload = { type = "osu-alltoall", iterations = 1, bytes = "9KiB" }
` + enginetest.HalfFly + `[job]
ranks = 40
machine = "fabric"
finish_times = true
[measure]
replications = 2
[sweep]
"noise.start_skew" = ["2us"]
`

// longRun has points that take long, or longer by a setting.
type longRun struct {
	kind, text, longer string
	tables             []string // beside results.csv
}

// longRuns has some of each kind whose points are kept.
var longRuns = map[string]longRun{
	"traffic": {"traffic", longPoints, "measure.window=200000", []string{"links.csv"}},
	"faults": {"traffic", strings.NewReplacer("vcs = 9", "vcs = 9\nflow_control = \"cut-through\"\nbuffer_flits = 16", "window = 700", "window = 3000").Replace(enginetest.OwnFaults) + `
[traffic]
load = 0.4
packet_flits = [2, 5]
[sweep]
"switch.hold" = [false, true]
`, "measure.window=200000", nil},
	"observed": {"traffic", strings.NewReplacer("[measure]", "[measure]\nblame = true\nlevels = true", "[sweep]", "[trace]\npackets = 60\nchoose = \"slowest\"\n[sweep]").Replace(longPoints),
		"measure.window=200000", []string{"blame.csv", "congestion.csv", "levels.csv", "packets.csv"}},
	"faults, traced": {"traffic", strings.Replace(enginetest.OwnFaults, "window = 700", "window = 3000", 1) + `
[traffic]
load = 0.4
packet_flits = [2, 5]
[trace]
packets = 500
every = 3
[sweep]
seed = [1, 2]
`, "measure.window=200000", []string{"packets.csv"}},
	"search": {"traffic", strings.NewReplacer("[measure]", "[measure]\nfind = \"saturation\"\nload_precision = 0.2\nbudget = 6000", "window = 3000", "window = 1500", "load = 0.3\n", "").Replace(longPoints),
		"measure.budget=100000", []string{"search.csv"}},
	"precision": {"traffic", strings.NewReplacer("warmup = 500\nwindow = 3000", "precision = 0.003\nbudget = 12000").Replace(longPoints),
		"measure.budget=200000", []string{"links.csv"}},
	"exchange": {"exchange", "kind = \"exchange\"\n" + enginetest.Dragonfly + `
routing = { type = "ugal-l" }
exchange = { packet_flits = 40 }
[sweep]
"exchange.order" = ["ring", "random"]
`, "exchange.packet_flits=600", nil},
	"program on a fabric": {"mpi", longProgram, "workload.iterations=40", []string{"ranks.csv"}},
	"program on a fabric, observed": {"mpi", strings.NewReplacer("finish_times = true\n", "", "replications = 2\n", "links = true\nblame = true\nseries = 5\n[trace]\npackets = 50\nchoose = \"slowest\"\n").Replace(longProgram),
		"workload.iterations=20", []string{"links.csv", "blame.csv", "congestion.csv", "packets.csv", "series/0.csv"}},
	"multicast": {"multicast-latency", `
kind = "multicast-latency"
topology = { type = "torus", dims = [4, 4], terminals = 2 }
switch = { buffer_flits = 64 }
routing = { type = "dor" }
groups = { pattern = "random", groups = 12, joins = 4 }
messages = { count = 4, warmup = 2, rotate = true, unicast_load = 0.1, unicast_flits = 4 }
measure = { groups = true, links = true }
[sweep]
"messages.carrier" = ["multicast", "broadcast-scatter-allgather"]
`, "messages.count=300", []string{"groups.csv", "links.csv"}},
	"program": {"mpi", `
kind = "mpi"
job = { ranks = 96, finish_times = true }
workload = { type = "osu-alltoall", bytes = "9KiB", iterations = 20 }
measure = { replications = 2 }
[sweep]
"job.machine" = ["loggp", "loggops"]
`, "workload.iterations=400", []string{"ranks.csv"}},
}

// file has longer points, for more kills, where SOAK_TIME is set.
func (r *longRun) file(t *testing.T) *experiments.File {
	if simtest.Soak() {
		return enginetest.Load(t, r.text, r.longer)
	}
	return enginetest.Load(t, r.text)
}

// same compares what two runs have written.
func (r *longRun) same(t *testing.T, got, want string) {
	t.Helper()
	for _, name := range append([]string{"results.csv", "resolved.toml"}, r.tables...) {
		simtest.ErrorIf(t, enginetest.Read(t, got, name) != enginetest.Read(t, want, name), "%s differs", name)
	}
}

// TestKindsAreKept: a kind whose points can be kept is tested here, and another one says
// why its points begin again.
func TestKindsAreKept(t *testing.T) {
	for _, k := range experiments.DescribeKinds() {
		tested := slices.ContainsFunc(slices.Collect(maps.Values(longRuns)), func(r longRun) bool { return r.kind == k.Name })
		simtest.ErrorIf(t, tested == (k.BeginsAgain != ""), "kind %s is tested: %v; its points begin again: %q", k.Name, tested, k.BeginsAgain)
	}
}

// killedIn is the environment variable by which a test tells its other process the result
// folder, killedRun that for the name of the run, and killedAt for the number of threads and
// the question at which it ends.
const (
	killedIn  = "WEFT_TEST_KILLED_IN"
	killedRun = "WEFT_TEST_KILLED_RUN"
	killedAt  = "WEFT_TEST_KILLED_AT"
)

// TestToBeKilled is the other process of TestKilled. It keeps its points at every question
// and kills itself at the one that it is told, if it is told one. At an odd one, or the first
// after it by which a snapshot is there, it ends at once; at an even one by another thread while
// the simulation goes on, so that it may die anywhere, also while it writes.
func TestToBeKilled(t *testing.T) {
	dir := os.Getenv(killedIn)
	if dir == "" {
		t.Skip("runs in a process of TestKilled")
	}
	enginetest.DivideAlways(t)
	r := longRuns[os.Getenv(killedRun)]
	var threads int
	var last int64
	simtest.Must(fmt.Sscan(os.Getenv(killedAt), &threads, &last))(t)
	e := engine.Execution{Dir: dir, Jobs: 2, Threads: threads, Resume: true, SnapshotEvery: time.Hour}
	ctx := &moments{Context: t.Context(), at: func(int64) {}}
	if last > 0 {
		e.SnapshotEvery = time.Nanosecond
		ctx.at = func(n int64) {
			switch {
			case n < last:
			case last%2 == 1 && isKept(dir):
				killSelf()
				select {}
			case last%2 == 0 && n == last:
				go killSelf()
			case last%2 == 0:
				select {} // the signal is on its way
			}
		}
	}
	simtest.Must(engine.Execute(ctx, r.file(t), e))(t)
	if last > 0 {
		select {} // the signal is on its way
	}
}

func isKept(dir string) bool {
	kept, _ := filepath.Glob(filepath.Join(dir, "snapshots", "*.weft"))
	return len(kept) > 0
}

func killSelf() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
}

// TestKilled kills a run of long points at moments of their simulated time. It goes on from the snapshots
// that it has left each time, on one, two or three threads, and has the bytes of one without
// a break. Traffic or mpi is killed; every kind where SOAK_TIME is set.
func TestKilled(t *testing.T) {
	if os.Getenv(killedIn) != "" {
		t.Skip("is the process that is killed")
	}
	kinds := []string{"traffic", "program on a fabric"}
	if simtest.Soak() {
		kinds = slices.Sorted(maps.Keys(longRuns))
	}
	for _, name := range simtest.Some(t, 0, kinds...) {
		r := longRuns[name]
		t.Run(name, func(t *testing.T) { checkKilled(t, name, &r) })
	}
}

func checkKilled(t *testing.T, name string, r *longRun) {
	want := filepath.Join(t.TempDir(), "whole")
	enginetest.Execute(t, r.file(t), engine.Execution{Dir: want, Jobs: 2})
	kills := 4
	if simtest.Soak() {
		kills = 30
	}
	dir, random := filepath.Join(t.TempDir(), "killed"), sim.NewStream(1, "kills", 0)
	run := func(last int) (*exec.Cmd, error) {
		c := exec.Command(os.Args[0], "-test.run=^TestToBeKilled$", "-test.timeout=0")
		c.Env = append(os.Environ(), killedIn+"="+dir, killedRun+"="+name, fmt.Sprint(killedAt, "=", 1+random.IntN(3), " ", last))
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		if err := c.Run(); err != nil {
			return c, fmt.Errorf("%w\n%s", err, &out)
		}
		return c, nil
	}
	for kill := range kills {
		// Two points side by side take in all at least 35 questions.
		last := 4 + random.IntN(4)
		c, err := run(last)
		simtest.FatalIf(t, err == nil || c.ProcessState.Exited(), "kill %d: the process ended by itself (%v): the points are too short", kill, err)
		simtest.ErrorIf(t, last%2 == 1 && !isKept(dir), "kill %d: nothing is kept", kill)
	}
	simtest.Must(run(0))(t)
	r.same(t, dir, want)
	_, err := os.Stat(filepath.Join(dir, "snapshots"))
	simtest.ErrorIf(t, !os.IsNotExist(err), "the snapshots of a finished run are still there: %v", err)
}

// TestInterrupted: points that are told to end are kept as far as they are, although the time for a
// snapshot has not come, and the run goes on from there on other threads with the same bytes.
func TestInterrupted(t *testing.T) {
	enginetest.DivideAlways(t)
	experiments.Grace = time.Hour
	t.Cleanup(func() { experiments.Grace = 0 })
	for name, r := range longRuns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkInterrupted(t, &r)
		})
	}
}

func checkInterrupted(t *testing.T, r *longRun) {
	f := r.file(t)
	want, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "interrupted")
	whole := &moments{Context: t.Context(), at: func(int64) {}}
	simtest.Must(engine.Execute(whole, f, engine.Execution{Dir: want, Jobs: 1}))(t)
	kept := 0
	for _, last := range []int64{whole.asked.Load() / 4, whole.asked.Load() / 3} {
		outcome, err := engine.Execute(endingAt(t.Context(), last), f, engine.Execution{Dir: dir, Jobs: 1, Resume: true, SnapshotEvery: time.Hour})
		simtest.FatalIf(t, !errors.Is(err, experiments.ErrInterrupted), "ended at question %d of %d: %v", last, whole.asked.Load(), err)
		kept += outcome.Kept
	}
	simtest.FatalIf(t, kept == 0, "nothing is kept")
	enginetest.Execute(t, f, engine.Execution{Dir: dir, Jobs: 1, Threads: 2, Resume: true, SnapshotEvery: time.Hour})
	r.same(t, dir, want)
}

// TestKeptIsDamaged: a snapshot that is damaged or of another build counts as none.
func TestKeptIsDamaged(t *testing.T) {
	f := enginetest.Load(t, longPoints, "measure.window=300", "measure.replications=1")
	dir := t.TempDir()
	want := enginetest.Execute(t, f, engine.Execution{Jobs: 1}).Results
	simtest.Check(t, os.MkdirAll(filepath.Join(dir, "snapshots"), 0o777))
	for _, p := range f.Points {
		simtest.Check(t, os.WriteFile(filepath.Join(dir, "snapshots", p.Hash+".0.weft"), []byte("weft snapshot\n\x01 and more"), 0o666))
	}
	got := enginetest.Execute(t, f, engine.Execution{Dir: dir, Jobs: 1, Resume: true, SnapshotEvery: time.Hour})
	simtest.ErrorIf(t, !reflect.DeepEqual(got.Results, want), "%v\nwant\n%v", got.Results.Rows, want.Rows)
}

// moments is a context that counts how often it is asked whether work is to end. Simulations
// ask every so many cycles or events: the number of a question is a moment of simulated time,
// whatever the machine does beside.
type moments struct {
	context.Context
	asked atomic.Int64
	at    func(n int64) // is told of the nth question before it is answered
}

// Err implements [context.Context].
func (m *moments) Err() error {
	m.at(m.asked.Add(1))
	return m.Context.Err()
}

// endingAt is a context that ends at its nth question.
func endingAt(parent context.Context, n int64) *moments {
	ctx, end := context.WithCancel(parent)
	return &moments{Context: ctx, at: func(i int64) {
		if i == n {
			end()
		}
	}}
}

// TestSlurmTaskGoesOn: a task of a job array that ends while it computes a point has left
// its state in the result folder; the next one goes on from there, comes to the same row and
// takes the state away.
func TestSlurmTaskGoesOn(t *testing.T) {
	dir := t.TempDir()
	toml := filepath.Join(dir, "long.toml")
	text := "title = \"long\"\nkind = \"traffic\"\n" + strings.Replace(longPoints, `["uniform", "worst-case"]`, `["uniform"]`, 1)
	simtest.Check(t, os.WriteFile(toml, []byte(text), 0o666))
	file := simtest.Must(experiments.Open(toml, experiments.Options{}))(t)
	// task computes the point in a result folder until ctx ends, and returns its row.
	task := func(ctx context.Context, folder string) (cells any, err error) {
		slurm := filepath.Join(dir, folder, "slurm")
		job := map[string]any{"file": toml, "threads": 2, "snapshot_every": time.Microsecond, "tasks": [][]string{{file.Points[0].Hash}}}
		content := simtest.Must(json.Marshal(job))(t)
		simtest.Check(t, os.MkdirAll(slurm, 0o777))
		simtest.Check(t, os.WriteFile(filepath.Join(slurm, "job.json"), content, 0o666))
		if err := engine.SlurmTask(ctx, filepath.Join(slurm, "job.json"), 0); err != nil {
			return nil, err
		}
		journal := simtest.Must(os.ReadFile(filepath.Join(slurm, "task-0.journal")))(t)
		lines := strings.Split(strings.TrimSpace(string(journal)), "\n")
		var last map[string]any
		simtest.Check(t, json.Unmarshal([]byte(lines[len(lines)-1][len("01234567 "):]), &last))
		return last["cells"], nil
	}
	want, err := task(t.Context(), "whole")
	simtest.FatalIf(t, err != nil || want == nil, "%v %v", want, err)
	kept := filepath.Join(dir, "killed", "snapshots", file.Points[0].Hash+".*.weft")
	simtest.Refuse(task(endingAt(t.Context(), 20), "killed"))(t, "")
	states, _ := filepath.Glob(kept)
	simtest.FatalIf(t, len(states) == 0, "nothing is kept")
	got := simtest.Must(task(t.Context(), "killed"))(t)
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	simtest.ErrorIf(t, string(a) != string(b), "went on to\n%s\nwant\n%s", a, b)
	states, _ = filepath.Glob(kept)
	simtest.ErrorIf(t, len(states) != 0, "%q are left", states)
}
