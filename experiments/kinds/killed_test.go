package kinds

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim"
)

// longPoints take some tenths of a second each.
const longPoints = `
[topology]
type = "dragonfly"
p = 2
a = 4
h = 2
[routing]
type = "ugal-l"
[traffic]
load = 0.3
[measure]
warmup = 500
window = 12000
replications = 2
links = true
[sweep]
"traffic.pattern" = ["uniform", "worst-case"]
`

// killedFile has longer points, for more kills, where SOAK_TIME is set.
func killedFile(t *testing.T) *experiments.File {
	var options experiments.Options
	if os.Getenv("SOAK_TIME") != "" {
		options.Set = []string{"measure.window=200000"}
	}
	return load(t, longPoints, options)
}

// killedIn is the environment variable by which a test tells its other process the result
// folder.
const killedIn = "WEFT_TEST_KILLED_IN"

// TestToBeKilled is the other process of TestKilled.
func TestToBeKilled(t *testing.T) {
	dir := os.Getenv(killedIn)
	if dir == "" {
		t.Skip("runs in a process of TestKilled")
	}
	execute(t, killedFile(t), experiments.Execution{Dir: dir, Jobs: 2, Resume: true, SnapshotEvery: 10 * time.Millisecond})
}

// TestKilled kills a run of long points at random moments. It goes on from the snapshots
// that it has left each time, and has the bytes of one without a break.
func TestKilled(t *testing.T) {
	if os.Getenv(killedIn) != "" {
		t.Skip("is the process that is killed")
	}
	want := filepath.Join(t.TempDir(), "whole")
	execute(t, killedFile(t), experiments.Execution{Dir: want, Jobs: 2})
	kills := 4
	if os.Getenv("SOAK_TIME") != "" {
		kills = 30
	}
	dir, random, kept := filepath.Join(t.TempDir(), "killed"), sim.NewStream(1, "kills", 0), 0
	start := func() *exec.Cmd {
		c := exec.Command(os.Args[0], "-test.run=^TestToBeKilled$")
		c.Env = append(os.Environ(), killedIn+"="+dir)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for range kills {
		before := newest(t, dir)
		c := start()
		for range 600 { // until it has kept something, or ended
			if newest(t, dir).After(before) {
				kept++
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
		_ = c.Process.Kill() // it may have ended
		_ = c.Wait()
	}
	if kept < 2 {
		t.Errorf("%d processes that were killed had kept something: the points are too short", kept)
	}
	if err := start().Wait(); err != nil {
		t.Fatalf("the run does not end: %v", err)
	}
	for _, name := range []string{"results.csv", "links.csv", "resolved.toml"} {
		if read(t, dir, name) != read(t, want, name) {
			t.Errorf("%s differs after %d kills", name, kills)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "snapshots")); !os.IsNotExist(err) {
		t.Errorf("the snapshots of a finished run are still there: %v", err)
	}
}

// TestInterrupted: points that are told to end are kept as far as they are, although the
// time for a snapshot has not come, and the run goes on from there with the same bytes.
func TestInterrupted(t *testing.T) {
	f := load(t, longPoints, experiments.Options{Set: []string{"measure.window=40000"}})
	want, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "interrupted")
	execute(t, f, experiments.Execution{Dir: want, Jobs: 2})
	kept := 0
	for try := 0; try < 20 && kept < 2; try++ { // a machine that is busy may leave no time for it
		ctx, cancel := context.WithCancel(t.Context())
		outcome, err := f.Execute(ctx, experiments.Execution{Dir: dir, Jobs: 2, Resume: true, SnapshotEvery: time.Hour, Progress: func(p experiments.Progress) {
			if slices.ContainsFunc(p.Running, func(p experiments.PointProgress) bool { return p.Done > 0 }) {
				cancel()
			}
		}})
		cancel()
		if !errors.Is(err, experiments.ErrInterrupted) {
			t.Fatal(err)
		}
		kept += outcome.Kept
	}
	if kept == 0 || newest(t, dir).IsZero() {
		t.Fatal("nothing is kept")
	}
	execute(t, f, experiments.Execution{Dir: dir, Jobs: 1, Threads: 2, Resume: true})
	for _, name := range []string{"results.csv", "links.csv"} {
		if read(t, dir, name) != read(t, want, name) {
			t.Errorf("%s differs", name)
		}
	}
}

// newest is when the last snapshot in a result folder was written.
func newest(t *testing.T, dir string) (at time.Time) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "snapshots", "*.weft"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if info, err := os.Stat(name); err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at
}

// TestKeptIsDamaged: a snapshot that is damaged or of another build counts as none.
func TestKeptIsDamaged(t *testing.T) {
	f := load(t, longPoints, experiments.Options{Set: []string{"measure.window=300", "measure.replications=1"}})
	dir := t.TempDir()
	want := execute(t, f, experiments.Execution{Jobs: 1}).Results
	if err := os.MkdirAll(filepath.Join(dir, "snapshots"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Points {
		if err := os.WriteFile(filepath.Join(dir, "snapshots", p.Hash+".0.weft"), []byte("weft snapshot\n\x01 and more"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got := execute(t, f, experiments.Execution{Dir: dir, Jobs: 1, Resume: true, SnapshotEvery: time.Hour})
	if len(got.Failures) > 0 || len(got.Results.Rows) != len(want.Rows) {
		t.Fatalf("%d rows, %d failures", len(got.Results.Rows), len(got.Failures))
	}
	for i := range want.Rows {
		for j := range want.Rows[i] {
			if got.Results.Rows[i][j] != want.Rows[i][j] {
				t.Errorf("row %d: %s, want %s", i, got.Results.Rows[i][j], want.Rows[i][j])
			}
		}
	}
}
