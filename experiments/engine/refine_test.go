package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/kindtest"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

// toyRefined sweeps a toy that keeps up to a load of 0.6.
func toyRefined(t *testing.T) string {
	return string(simtest.Must(os.ReadFile("../testdata/refined.toml"))(t))
}

// sweptLoads lists the loads of the rows of a shape.
func sweptLoads(t *testing.T, table *results.Table, shape string) []string {
	t.Helper()
	rows := simtest.Must(table.Where(map[string]string{"shape.type": shape}))(t)
	at := simtest.Must(rows.Column("traffic.load"))(t)
	var loads []string
	for _, r := range rows.Rows {
		loads = append(loads, r[at])
	}
	return loads
}

// TestRefine: between 0.2 and 0.9 lie 14 spacings: the 7th is at 0.55, where
// the toy keeps up; of the 7 from there to 0.9 the 3rd is at 0.7, where it does
// not; of 3 the first, 0.6, where it does; of 2 the first, 0.65. The rows are
// the same whatever the jobs, after every interruption, and read back.
func TestRefine(t *testing.T) {
	kindtest.Gate = func(context.Context) {}
	dir := t.TempDir()
	o := execute(t, load(t, toyRefined(t)), Execution{Dir: dir, Jobs: 1})
	want := []string{"0.2", "0.9", "0.55", "0.7", "0.6", "0.65"}
	for _, shape := range []string{"ring", "box"} {
		simtest.EqualSlices(t, sweptLoads(t, o.Results, shape), want, "%s:", shape)
	}
	// The points of a step of both variants, then the points of the next step.
	simtest.Alike(t, "row 6 is", strings.Join(o.Results.Rows[6][:3], ","), "6,ring,0.7", o.Points, 12)
	for _, jobs := range []int{2, 5} {
		other := t.TempDir()
		execute(t, load(t, toyRefined(t)), Execution{Dir: other, Jobs: jobs})
		sameFiles(t, dir, other)
	}

	// Stopped at every point in turn, of a run that goes on in the same folder.
	broken := t.TempDir()
	stops := 0
	for ; stops < 20; stops++ {
		ctx, cancel := context.WithCancel(t.Context())
		begun := 0
		kindtest.Gate = func(context.Context) {
			if begun++; begun > 1 {
				cancel()
			}
		}
		_, err := Execute(ctx, load(t, toyRefined(t)), Execution{Dir: broken, Jobs: 1, Resume: true})
		cancel()
		if err == nil {
			break
		}
		simtest.FatalIf(t, !errors.Is(err, experiments.ErrInterrupted), "%v", err)
	}
	simtest.ErrorIf(t, stops != 11, "%d interruptions", stops) // one point a run, the last one to its end
	sameFiles(t, dir, broken)
	kindtest.Gate = func(context.Context) { t.Error("computed again") }
	simtest.Equal(t, execute(t, load(t, toyRefined(t)), Execution{Dir: dir, Resume: true}).Reused, 12, "points reused:")
	f := simtest.Must(ReadFolder(dir))(t)
	simtest.Alike(t, "points and their hashes", len(f.File.Points), 12, hashOf(f.File.Points), f.Manifest.Hash, f.Manifest.Points, 12)
	simtest.Equal(t, strings.Join(f.File.Points[7].Swept, ","), "box,0.7", "point 7 is")
}

// sameFiles compares result folders.
func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	for _, name := range []string{resultsFile, "links.csv", resolvedFile} {
		simtest.ErrorIf(t, read(t, a, name) != read(t, b, name), "%s differs\n%s\n%s", name, read(t, a, name), read(t, b, name))
	}
}

// TestRefineResolved: the resolved file refines, too.
func TestRefineResolved(t *testing.T) {
	kindtest.Gate = func(context.Context) {}
	dir, again := t.TempDir(), t.TempDir()
	execute(t, load(t, toyRefined(t)), Execution{Dir: dir})
	f := simtest.Must(experiments.ReadFile(filepath.Join(dir, resolvedFile), experiments.Options{}))(t)
	execute(t, f, Execution{Dir: again})
	simtest.ErrorIf(t, read(t, dir, resultsFile) != read(t, again, resultsFile), "other results")
}

// TestRefineEnds: where there is nothing to find, and where points fail, the sweep ends.
func TestRefineEnds(t *testing.T) {
	for _, c := range []struct{ loads, spacing, want string }{
		{"[0.1, 0.6]", "0.01", "0.1 0.6"},            // keeps up
		{"[0.7, 0.9]", "0.01", "0.7 0.9"},            // does not
		{"[0.59, 0.61]", "0.02", "0.59 0.61"},        // near enough
		{"[0.59, 0.61]", "0.015", "0.59 0.61 0.605"}, // 2 spacings; 0.605 to 0.59 is one
		{"[0.9, 0.1, 0.5]", "0.1", "0.9 0.1 0.5 0.7 0.6"},
	} {
		f := load(t, "kind = \"toy\"\n[sweep]\n\"traffic.load\" = "+c.loads+"\n[sweep.refine]\ntraffic.load = "+c.spacing+"\n")
		o := execute(t, f, Execution{})
		var got []string
		for _, r := range o.Results.Rows {
			got = append(got, r[1])
		}
		simtest.ErrorIf(t, strings.Join(got, " ") != c.want, "%s by %s: %v, want %s", c.loads, c.spacing, got, c.want)
	}
	// No size of the box makes a difference.
	f := load(t, "kind = \"toy\"\n[sweep]\n\"shape.p\" = [1, 9]\n\"traffic.load\" = [0.5, 0.7]\nrefine = { \"shape.p\" = 2 }\n")
	simtest.Equal(t, len(execute(t, f, Execution{}).Results.Rows), 4, "rows:")
	// Variants that fail have nothing to refine; the others go on.
	dir := t.TempDir()
	f = load(t, strings.Replace(toyRefined(t), "\"shape.type\"", "\"traffic.mode\" = [\"\", \"fail\"]\n\"shape.type\"", 1))
	o := execute(t, f, Execution{Dir: dir})
	simtest.Alike(t, "failures and rows", len(o.Failures), 4, len(o.Results.Rows), 12)
	simtest.Must(ReadFolder(dir))(t)
	text, err := os.ReadFile(filepath.Join(dir, resultsFile))
	simtest.ErrorIf(t, err != nil || !strings.Contains(string(text), ",0.65,"), "%v\n%s", err, text)
}

// toyShared has 24 points. Points of rings are the same for both sizes of boxes:
// 3 loads x 2 modes x (1 ring + 2 boxes) are 18.
const toyShared = `
kind = "toy"
[sweep]
"shape.type" = ["ring", "box"]
"shape.p" = [2, 3]
"traffic.load" = [0.2, 0.5, 0.9]
"traffic.mode" = ["", "fail"]
[[plot]]
x = "offered_load"
y = "latency_mean_ns"
formats = ["svg"]
where = { "shape.type" = "box", "shape.p" = 2 }
`

// TestShares: half of 18 points fail. However they are dealt out, every point is in one share, and the
// merged folder is the same as of a run of the whole file, its failures included.
func TestShares(t *testing.T) {
	f := func() *experiments.File { return load(t, toyShared) }
	whole := t.TempDir()
	execute(t, f(), Execution{Dir: whole})
	for _, of := range []int{1, 2, 5, 30} {
		dir, points := t.TempDir(), 0
		var shares []string
		for i := of; i >= 1; i-- {
			share := filepath.Join(dir, Shard{i, of}.String())
			o := execute(t, f(), Execution{Dir: share, Shard: Shard{i, of}})
			points += o.Points
			simtest.ErrorIf(t, len(o.Failures)+o.Finished != o.Points, "share %d of %d: %+v", i, of, o)
			shares = append(shares, share)
		}
		simtest.ErrorIf(t, points != 18, "%d shares of %d points in all, want 18", of, points)
		merged := filepath.Join(dir, "merged")
		simtest.Must(Execute(t.Context(), f(), Execution{Dir: merged, Shares: shares}))(t)
		sameFiles(t, whole, merged)
		for _, name := range []string{failuresFile, "latency_mean_ns-offered_load.svg"} {
			simtest.ErrorIf(t, read(t, whole, name) != read(t, merged, name), "%s differs", name)
		}
	}
}

// TestSharesRefined: what refinement adds is computed when the shares are merged.
func TestSharesRefined(t *testing.T) {
	text := strings.Replace(toyRefined(t), `mode = "wait"`, "", 1)
	whole, dir := t.TempDir(), t.TempDir()
	execute(t, load(t, text), Execution{Dir: whole})
	shares := []string{filepath.Join(dir, "1"), filepath.Join(dir, "2")}
	for i, share := range shares {
		execute(t, load(t, text), Execution{Dir: share, Shard: Shard{i + 1, 2}})
	}
	merged := filepath.Join(dir, "merged")
	simtest.Must(Execute(t.Context(), load(t, text), Execution{Dir: merged, Shares: shares}))(t)
	sameFiles(t, whole, merged)
}

// TestSharesMissing: a share that is missing, unfinished, of other settings or no
// share at all is named, and nothing is written.
func TestSharesMissing(t *testing.T) {
	f := func() *experiments.File { return load(t, toyShared) }
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	execute(t, f(), Execution{Dir: one, Shard: Shard{1, 2}})
	execute(t, f(), Execution{Dir: two, Shard: Shard{2, 2}})
	merged := filepath.Join(dir, "merged")
	check := func(name, want string, f *experiments.File, shares ...string) {
		t.Helper()
		_, err := Execute(t.Context(), f, Execution{Dir: merged, Shares: shares})
		simtest.ErrorIf(t, err == nil || !strings.Contains(err.Error(), want) || results.Exists(merged), "%s: %v, want %s", name, err, want)
	}
	check("one of two", "9 of 18 points are in no share: give the folders of all", f(), one)
	check("other settings", "18 of 18 points are in no share", load(t, toyShared, "traffic.delay=7ns"), one, two)
	check("no folder", "nowhere: is no share of a sweep: its journal cannot be read", f(), one, two, filepath.Join(dir, "nowhere"))
	simtest.Check(t, os.Remove(filepath.Join(two, shardFile)))
	check("before its end", "points are in no share; not at their end: "+two+" (go on with --resume)", f(), one, two)
	simtest.Check(t, os.WriteFile(filepath.Join(two, shardFile), []byte("{"), 0o666))
	check("damaged", shardFile+" is damaged", f(), one, two)
}

func TestParseShard(t *testing.T) {
	s, err := ParseShard("2/8")
	simtest.ErrorIf(t, err != nil || s != (Shard{2, 8}), "%v, %v", s, err)
	for _, text := range []string{"", "2", "/", "0/8", "9/8", "-1/8", "1/0", "1/8/2", "a/b", "1/100000000"} {
		s, err := ParseShard(text)
		simtest.ErrorIf(t, err == nil, "%q is read as %v", text, s)
	}
}

// TestQueuedTasks: of what squeue lists, the tasks of the arrays asked about count.
func TestQueuedTasks(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, c := range []struct {
		script string
		want   map[int]bool
		err    string
	}{
		{"echo '5 1'; echo '6 7'; echo '5 9'; echo '4 N/A'", map[int]bool{1: true, 9: true}, ""},
		{"", map[int]bool{}, ""},
		{"echo '8 N/A'", nil, `its answer "8 N/A" names no task of an array`},
		{"echo 'Unable to contact the controller' >&2; exit 1", nil, "Unable to contact the controller"},
	} {
		simtest.Check(t, os.WriteFile(filepath.Join(dir, "squeue"), []byte("#!/bin/sh\n"+c.script+"\n"), 0o777))
		live, err := queuedTasks([]string{"5", "8"})
		if !reflect.DeepEqual(live, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %v, %v; want %v, %q", c.script, live, err, c.want, c.err)
		}
	}
}
