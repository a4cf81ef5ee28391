package engine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/kindtest"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

const toySweep = `
kind = "toy"
title = "toy"
[sweep]
"shape.type" = ["box", "ring"]
"traffic.load" = { from = 0.1, to = 0.9, step = 0.1 }
[[plot]]
file = "latency"
x = "offered_load"
y = "latency_mean_ns"
`

// load reads the text of a file, with settings laid over it, KEY=VALUE.
func load(t *testing.T, text string, set ...string) *experiments.File {
	t.Helper()
	return simtest.Must(experiments.Load("x.toml", text, experiments.Options{Set: set}))(t)
}

// execute runs a file into dir and returns the outcome.
func execute(t *testing.T, f *experiments.File, e Execution) *Outcome {
	t.Helper()
	return simtest.Must(Execute(t.Context(), f, e))(t)
}

// outcomeOf runs a file by its text.
func outcomeOf(t *testing.T, text string, set ...string) *Outcome {
	t.Helper()
	return execute(t, load(t, text, set...), Execution{})
}

// written is the text of a table.
func written(t *testing.T, table *results.Table) string {
	t.Helper()
	var b strings.Builder
	simtest.Check(t, table.Write(&b))
	return b.String()
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	return string(simtest.Must(os.ReadFile(filepath.Join(path...)))(t))
}

// TestResults: rows in point order with the documented columns. The toy's
// latency is factor/(1-load): p = 2 for the box, 10*k = 40 for the ring.
func TestResults(t *testing.T) {
	f := load(t, "kind = \"toy\"\nseed = 5\n[sweep]\n\"shape.type\" = [\"ring\", \"box\"]\n\"traffic.load\" = [0.5, 0.75]\n")
	o := execute(t, f, Execution{Jobs: 2})
	want := "point,shape.type,traffic.load,seed,replications,offered_load,accepted_load,latency_mean_ns,draw,state\n" +
		"0,ring,0.5,5,1,0.5,0.5,80,D,steady\n1,ring,0.75,5,1,0.75,0.6,160,D,saturated\n" +
		"2,box,0.5,5,1,0.5,0.5,4,D,steady\n3,box,0.75,5,1,0.75,0.6,8,D,saturated\n"
	// Common random numbers: the same draw in every point.
	draw := o.Results.Rows[0][8]
	simtest.Equal(t, strings.ReplaceAll(written(t, o.Results), ","+draw+",", ",D,"), want, "got\n")
	links := o.Tables["links"]
	simtest.Equal(t, strings.Join(links.Columns, ","), "point,shape.type,traffic.load,seed,link,utilisation", "columns of links:")
	simtest.ErrorIf(t, len(links.Rows) != 8 || strings.Join(links.Rows[3], ",") != "1,ring,0.75,5,b,0.375", "links: %v", links.Rows)
}

// TestSameBytes: the result files do not depend on the number of jobs.
func TestSameBytes(t *testing.T) {
	var first map[string]string
	for _, jobs := range []int{1, 2, 7} {
		dir := t.TempDir()
		f := load(t, toySweep)
		execute(t, f, Execution{Dir: dir, Jobs: jobs})
		files := map[string]string{}
		for _, name := range []string{"results.csv", "links.csv", "resolved.toml", "latency.svg", "latency.png"} {
			files[name] = read(t, dir, name)
			simtest.ErrorIf(t, first != nil && first[name] != files[name], "%s differs with %d jobs", name, jobs)
		}
		first = files
	}
}

// TestFailures: points that fail or panic are listed with their reason and do not stop the others. Figures
// say how many of theirs failed: two, and none of those with mode "".
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	const plot = "[[plot]]\nx = \"offered_load\"\ny = \"latency_mean_ns\"\nfile = "
	f := load(t, "kind = \"toy\"\n[sweep]\n\"traffic.mode\" = [\"fail\", \"\", \"panic\"]\n"+plot+"\"a\"\n"+plot+"\"b\"\nwhere = { \"traffic.mode\" = \"\" }\n")
	o := execute(t, f, Execution{Dir: dir})
	simtest.FatalIf(t, len(o.Failures) != 2 || o.Failures[0].Point.Index != 0 || o.Failures[0].Reason != "told to fail", "failures: %+v", o.Failures)
	simtest.ErrorIf(t, !strings.HasPrefix(o.Failures[1].Reason, "internal error, please report it: told to panic\n"), "reason: %s", o.Failures[1].Reason)
	got := read(t, dir, "results.csv")
	simtest.ErrorIf(t, strings.Count(got, "\n") != 2 || !strings.Contains(got, "\n1,,1,1,0.5,"), "results:\n%s", got)
	simtest.Says(t, read(t, dir, "failures.csv"), "point,traffic.mode,reason\n0,fail,told to fail\n2,panic,")
	simtest.ErrorIf(t, !strings.Contains(read(t, dir, "a.svg"), "points that failed: 2") || strings.Contains(read(t, dir, "b.svg"), "failed"), "figures")
	simtest.Equal(t, simtest.Must(f.Plots[0].Figure(simtest.Must(simtest.Must(ReadFolder(dir))(t).PlotSource(&f.Plots[0]))(t)))(t).Failed, 2, "of the folder:")
}

// TestInterrupt: after Ctrl-C the finished points are in the journal, nothing
// else is written, and --resume computes only the rest.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	kindtest.Gate = func(ctx context.Context) { cancel(); <-ctx.Done() }
	text := "kind = \"toy\"\n[sweep]\n\"shape.p\" = [1, 2, 3]\n\"traffic.mode\" = [\"\", \"wait\"]\n"
	f := load(t, text)
	o, err := Execute(ctx, f, Execution{Dir: dir, Jobs: 1})
	simtest.FatalIf(t, !errors.Is(err, experiments.ErrInterrupted) || o.Finished != 1, "got %v, %+v", err, o)
	entries, _ := os.ReadDir(dir)
	simtest.ErrorIf(t, len(entries) != 1 || entries[0].Name() != "journal", "left %v", entries)
	var folder *FolderError
	_, err = Execute(t.Context(), f, Execution{Dir: dir})
	simtest.ErrorIf(t, !errors.As(err, &folder) || !strings.Contains(err.Error(), "--resume"), "running again without --resume: %v", err)
	var waited atomic.Int32
	kindtest.Gate = func(context.Context) { waited.Add(1) }
	o = execute(t, f, Execution{Dir: dir, Resume: true})
	simtest.Alike(t, "resumed", o.Reused, 1, o.Finished, 6, waited.Load(), 3)
}

// TestResumeAfterChange: only stale points are computed again.
func TestResumeAfterChange(t *testing.T) {
	dir := t.TempDir()
	execute(t, load(t, toySweep), Execution{Dir: dir})
	changed := strings.Replace(toySweep, `"ring"]`, `"ring"]`+"\n\"shape.p\" = [2, 3]", 1)
	f := load(t, changed)
	o := execute(t, f, Execution{Dir: dir, Resume: true})
	// 9 boxes with p = 2 and 9 rings, which stand for two points each
	simtest.ErrorIf(t, o.Reused != 9+18 || o.Finished != 36, "reused %d of %d", o.Reused, o.Finished)
	simtest.ErrorIf(t, written(t, outcomeOf(t, changed).Results) != read(t, dir, "results.csv"), "resumed results differ from fresh ones")
}

// TestTornJournal: a journal cut or damaged anywhere gives whole records up to
// there, and the sweep resumes to the same bytes.
func TestTornJournal(t *testing.T) {
	dir := t.TempDir()
	points, _, _ := strings.Cut(toySweep, "[[plot]]") // drawing again and again takes most of the time
	f := load(t, points)
	execute(t, f, Execution{Dir: dir, Jobs: 1})
	want, whole := read(t, dir, "results.csv"), []byte(read(t, dir, "journal"))
	for cut := 0; cut <= len(whole); cut += 97 {
		simtest.Check(t, os.WriteFile(filepath.Join(dir, "journal"), whole[:cut], 0o644))
		o := execute(t, f, Execution{Dir: dir, Resume: true})
		simtest.Equal(t, o.Reused, bytes.Count(whole[:cut], []byte("\n")), "cut at %d: records reused:", cut)
		simtest.FatalIf(t, read(t, dir, "results.csv") != want, "cut at %d: other results", cut)
	}
	damaged := bytes.Clone(whole)
	damaged[len(whole)/2] ^= 1
	records, end := readJournal(damaged, f)
	simtest.ErrorIf(t, end > int64(len(whole)/2) || len(records) != bytes.Count(whole[:len(whole)/2], []byte("\n")),
		"damaged in the middle: %d records, good up to %d of %d", len(records), end, len(whole))
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte("00000000 {}\n"))
	toy, err := experiments.Load("x.toml", "kind = \"toy\"\n", experiments.Options{})
	simtest.Check(f, err)
	f.Fuzz(func(t *testing.T, text []byte) {
		_, end := readJournal(text, toy)
		simtest.ErrorIf(t, end > int64(len(text)), "good up to %d of %d", end, len(text))
	})
}

// TestKill: a process killed with SIGKILL in the middle of a sweep, again and again, loses no
// finished point; the resumed sweep gives the same bytes. The process is this test binary.
func TestKill(t *testing.T) {
	text := "kind = \"toy\"\n[traffic]\nmode = \"wait\"\n[sweep]\n\"shape.p\" = { from = 1, to = 20, step = 1 }\n"
	if dir := os.Getenv("WEFT_TEST_KILL"); dir != "" {
		var points atomic.Int32
		kindtest.Gate = func(context.Context) {
			if points.Add(1) >= 5 { // the fifth point kills the process, while the fourth may be writing
				self, _ := os.FindProcess(os.Getpid())
				_ = self.Kill()
				select {}
			}
		}
		execute(t, load(t, text), Execution{Dir: dir, Jobs: 2, Resume: true})
		return
	}
	dir := t.TempDir()
	runs := 0
	for ; runs < 20; runs++ {
		c := exec.Command(os.Args[0], "-test.run", "^TestKill$")
		c.Env = append(os.Environ(), "WEFT_TEST_KILL="+dir)
		if c.Run() == nil {
			break
		}
	}
	// Every killed run finishes 3 or 4 of its 5 points, and a few more if the other worker gets on
	// before the signal arrives: 20 points take at most ceil(16/3) + 1 runs, and more than one.
	simtest.ErrorIf(t, runs < 1 || runs > 7, "finished after %d kills", runs)
	kindtest.Gate = func(context.Context) {}
	other := t.TempDir()
	execute(t, load(t, text), Execution{Dir: other})
	simtest.ErrorIf(t, read(t, dir, "results.csv") != read(t, other, "results.csv"), "other results after kills")
}

// TestFullDisk: where a finished point cannot be kept, that is said once.
func TestFullDisk(t *testing.T) {
	r := newRunner(load(t, toySweep), Execution{Dir: t.TempDir(), Jobs: 1})
	simtest.Check(t, r.open())
	r.journal.close() // as with a full disk, nothing more can be written
	r.compute(t.Context())
	simtest.ErrorIf(t, r.writeError == nil || strings.Count(r.writeError.Error(), "cannot keep a finished point") != 1, "got %v", r.writeError)
}

// TestFolders: folders that cannot be used are refused before anything is computed.
func TestFolders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	simtest.Check(t, os.WriteFile(file, nil, 0o644))
	f := load(t, "kind = \"toy\"\n")
	var folder *FolderError
	_, err := Execute(t.Context(), f, Execution{Dir: filepath.Join(file, "below")})
	simtest.ErrorIf(t, !errors.As(err, &folder), "got %v", err)
	dir := t.TempDir()
	j, _ := simtest.Must2(openJournal(filepath.Join(dir, "journal"), false, f))(t)
	_, err = Execute(t.Context(), f, Execution{Dir: dir, Resume: true})
	simtest.ErrorIf(t, !errors.As(err, &folder) || !strings.Contains(err.Error(), "another weft"), "two writers: %v", err)
	for _, again := range [][2]bool{{false, false}, {true, false}, {false, true}} { // resume, force
		err := CheckFolder(dir, again[0], again[1])
		simtest.ErrorIf(t, !errors.As(err, &folder) || !strings.Contains(err.Error(), "another weft process is computing in it"),
			"a second run (%v) while the first goes on: %v", again, err)
	}
	j.close()
	err = CheckFolder(dir, false, false)
	simtest.ErrorIf(t, !errors.As(err, &folder) || !strings.Contains(err.Error(), "an interrupted run"), "a second run after the first: %v", err)
}

// TestInterruptDeafPoint: a point that never looks at its context does not hold up
// the end of a run; those that are finished are kept.
func TestInterruptDeafPoint(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	forever := make(chan bool)
	defer close(forever)
	kindtest.Gate = func(context.Context) { cancel(); <-forever }
	f := load(t, "kind = \"toy\"\n[sweep]\n\"traffic.mode\" = [\"\", \"wait\"]\n")
	o, err := Execute(ctx, f, Execution{Dir: t.TempDir(), Jobs: 1})
	simtest.ErrorIf(t, !errors.Is(err, experiments.ErrInterrupted) || o.Finished != 1, "%v, %+v", err, o)
}

// TestSnapshotsGo: the snapshots of a point that has failed go when the run is done, so that it
// begins again.
func TestSnapshotsGo(t *testing.T) {
	dir := t.TempDir()
	f := load(t, "kind = \"toy\"\n[traffic]\nmode = \"fail\"\n")
	path := filepath.Join(dir, experiments.SnapshotFolder, f.Points[0].Hash+".0.weft")
	simtest.Check(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, nil, 0o666)))
	o := execute(t, f, Execution{Dir: dir, SnapshotEvery: time.Hour, Resume: true})
	simtest.Alike(t, "failures, and whether the snapshot is there", len(o.Failures), 1, results.Exists(path), false)
}

// Executions that share a pool write what each would write alone; with one place no two points of
// theirs are computed at the same time, and a point that another has computed is not computed again.
func TestPool(t *testing.T) {
	loads := [][]string{{"sweep.traffic.load=[0.1, 0.2, 0.3]"}, {"sweep.traffic.load=[0.3, 0.2, 0.4]"}}
	pool, beside := NewPool(1), atomic.Int64{}
	outcomes := make([]*Outcome, len(loads))
	var all errgroup.Group
	for i, set := range loads {
		all.Go(func() (err error) {
			outcomes[i], err = Execute(t.Context(), load(t, toySweep, set...), Execution{Dir: t.TempDir(), Jobs: 2, Pool: pool, Progress: func(p Progress) {
				beside.Store(max(beside.Load(), int64(len(p.Running))))
			}})
			return err
		})
	}
	simtest.Check(t, all.Wait())
	for i, set := range loads {
		simtest.Equal(t, written(t, outcomes[i].Results), written(t, outcomeOf(t, toySweep, set...).Results), "execution %d:", i)
	}
	simtest.ErrorIf(t, beside.Load() > 1, "%d points at a time, want 1", beside.Load())
	// Two shapes at four loads: 8 points that differ, of 12.
	kept := 0
	pool.finished.Range(func(any, any) bool { kept++; return true })
	simtest.ErrorIf(t, kept != 8, "the pool keeps %d points, want 8", kept)
	var last Progress
	again := execute(t, load(t, toySweep, loads[0]...), Execution{Dir: t.TempDir(), Pool: pool, Progress: func(p Progress) { last = p }})
	simtest.ErrorIf(t, last.Events != 0 || last.Done != 6 || again.Finished != 6,
		"points that are known: %d events, %d done, %d finished; want 0, 6, 6", last.Events, last.Done, again.Finished)
}
