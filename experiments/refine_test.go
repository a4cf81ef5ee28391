package experiments

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

// The toy keeps up to a load of 0.6, that included.
const toyRefined = `
kind = "toy"
[traffic]
mode = "wait"
[sweep]
"shape.type" = ["ring", "box"]
"traffic.load" = [0.2, 0.9]
refine = { "traffic.load" = 0.05 }
`

// sweptLoads lists the loads of the rows of a shape.
func sweptLoads(t *testing.T, table *Table, shape string) []string {
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
	toyGate = func(context.Context) {}
	dir := t.TempDir()
	o := execute(t, load(t, toyRefined), Execution{Dir: dir, Jobs: 1})
	want := []string{"0.2", "0.9", "0.55", "0.7", "0.6", "0.65"}
	for _, shape := range []string{"ring", "box"} {
		if got := sweptLoads(t, o.Results, shape); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", shape, got, want)
		}
	}
	// The points of a step of both variants, then those of the next.
	if got := strings.Join(o.Results.Rows[6][:3], ","); got != "6,ring,0.7" || o.Points != 12 {
		t.Errorf("row 6 is %s of %d points", got, o.Points)
	}
	for _, jobs := range []int{2, 5} {
		other := t.TempDir()
		execute(t, load(t, toyRefined), Execution{Dir: other, Jobs: jobs})
		sameFiles(t, dir, other)
	}

	// Stopped at every point in turn, of a run that goes on in the same folder.
	broken := t.TempDir()
	stops := 0
	for ; stops < 20; stops++ {
		ctx, cancel := context.WithCancel(t.Context())
		begun := 0
		toyGate = func(context.Context) {
			if begun++; begun > 1 {
				cancel()
			}
		}
		_, err := load(t, toyRefined).Execute(ctx, Execution{Dir: broken, Jobs: 1, Resume: true})
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, ErrInterrupted) {
			t.Fatal(err)
		}
	}
	if stops != 11 { // one point a run, the last one to its end
		t.Errorf("%d interruptions", stops)
	}
	sameFiles(t, dir, broken)

	toyGate = func(context.Context) { t.Error("computed again") }
	if o := execute(t, load(t, toyRefined), Execution{Dir: dir, Resume: true}); o.Reused != 12 {
		t.Errorf("%d points reused", o.Reused)
	}
	f := simtest.Must(ReadFolder(dir))(t)
	if len(f.File.Points) != 12 || hashOf(f.File.Points) != f.Manifest.Hash || f.Manifest.Points != 12 {
		t.Errorf("%d points read back, %d in the manifest", len(f.File.Points), f.Manifest.Points)
	}
	if got := strings.Join(f.File.Points[7].Swept, ","); got != "box,0.7" {
		t.Errorf("point 7 is %s", got)
	}
}

// TestRefineAtMost: 14 spacings are halved 4 times (7, 4, 2, 1), whichever half
// the knee is in, for each of two variants. Each costs
// no more than the dearer of its neighbours: 4 of 0.9 for each variant.
func TestRefineAtMost(t *testing.T) {
	f := load(t, toyRefined)
	points, more := f.refine.most(f, func(p *Point) work {
		load := results.Number(p.Swept[1])
		return work{most: effort{load, 10 * load}}
	})
	if points != 8 || math.Abs(more.most.crossings-7.2) > 1e-9 || math.Abs(more.most.nanoseconds-72) > 1e-9 {
		t.Errorf("%d points, %v, want 8, 7.2 and 72", points, more)
	}
	report, err := f.Preflight(true)
	if err != nil || report.Refined != 8 {
		t.Errorf("the report says %d, %v", report.Refined, err)
	}
	f = load(t, "kind = \"toy\"\n[sweep]\n\"traffic.load\" = [0.9, 0.1, 0.4, 0.5]\nrefine = { \"traffic.load\" = 0.1 }\n")
	if points, _ := f.refine.most(f, func(*Point) work { return work{} }); points != 2 { // 0.5 to 0.9: 4 spacings
		t.Errorf("%d points, want 2", points)
	}
}

// sameFiles compares result folders.
func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	for _, name := range []string{resultsFile, "links.csv", resolvedFile} {
		if read(t, a, name) != read(t, b, name) {
			t.Errorf("%s differs\n%s\n%s", name, read(t, a, name), read(t, b, name))
		}
	}
}

// TestRefineResolved: the resolved file refines, too.
func TestRefineResolved(t *testing.T) {
	toyGate = func(context.Context) {}
	dir, again := t.TempDir(), t.TempDir()
	execute(t, load(t, toyRefined), Execution{Dir: dir})
	f := simtest.Must(ReadFile(filepath.Join(dir, resolvedFile), Options{}))(t)
	execute(t, f, Execution{Dir: again})
	if read(t, dir, resultsFile) != read(t, again, resultsFile) {
		t.Error("other results")
	}
}

// TestRefineEnds: where there is nothing to find, and where points fail, the
// sweep ends.
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
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s by %s: %v, want %s", c.loads, c.spacing, got, c.want)
		}
	}
	// No size of the box makes a difference.
	f := load(t, "kind = \"toy\"\n[sweep]\n\"shape.p\" = [1, 9]\n\"traffic.load\" = [0.5, 0.7]\nrefine = { \"shape.p\" = 2 }\n")
	if o := execute(t, f, Execution{}); len(o.Results.Rows) != 4 {
		t.Errorf("%v", o.Results.Rows)
	}
	// Variants that fail have nothing to refine; the others go on.
	dir := t.TempDir()
	f = load(t, strings.Replace(toyRefined, "\"shape.type\"", "\"traffic.mode\" = [\"\", \"fail\"]\n\"shape.type\"", 1))
	o := execute(t, f, Execution{Dir: dir})
	if len(o.Failures) != 4 || len(o.Results.Rows) != 12 {
		t.Errorf("%d failures, %d rows", len(o.Failures), len(o.Results.Rows))
	}
	if _, err := ReadFolder(dir); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, resultsFile)); err != nil || !strings.Contains(string(text), ",0.65,") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestRefineFailed: a point that has failed is not tried again, and ends the
// refinement of its variant.
func TestRefineFailed(t *testing.T) {
	f := load(t, "kind = \"toy\"\n[sweep]\n\"traffic.load\" = [0.2, 0.8]\nrefine = { \"traffic.load\" = 0.1 }\n")
	steady := func(p *Point) (bool, bool) { return p.Swept[0] != "0.8", p.Swept[0] != "0.5" }
	list := f.refine.next(f, f.Points, steady)
	if len(list) != 1 || list[0].Value != 0.5 {
		t.Fatalf("%+v", list)
	}
	p := simtest.Must(f.refined(list[0], 2))(t)
	if list = f.refine.next(f, append(f.Points, p), steady); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// TestRefineInteger: an axis of integers is refined by integers, 1 + 2*4 = 9
// between 1 and 17.
func TestRefineInteger(t *testing.T) {
	f := load(t, "kind = \"toy\"\n[sweep]\n\"shape.p\" = [1, 17]\nrefine = { \"shape.p\" = 2 }\n")
	list := f.refine.next(f, f.Points, func(p *Point) (bool, bool) { return p.Index != 1, true })
	p, err := f.refined(list[0], 2)
	if err != nil || p.Swept[0] != "9" || !strings.Contains(f.Resolved(), "[sweep.refine]\n\"shape.p\" = 2\n") {
		t.Errorf("%v, %v\n%s", p.Swept, err, f.Resolved())
	}
}

// TestRefineProblems: what cannot be refined is told by its place.
func TestRefineProblems(t *testing.T) {
	refusals(t, "kind = \"toy\"\n[sweep]\n", map[string]string{
		"\"traffic.load\" = [0.1, 0.9]\nrefine = 0.1\n":                                                          `x.toml:4:1: sweep.refine = 0.1: want a table such as`,
		"\"traffic.load\" = [0.1, 0.9]\nrefine = {}\n":                                                           `sweep.refine = a table: want a table such as`,
		"\"traffic.load\" = [0.1, 0.9]\n[sweep.refine]\ntraffic.load = 0\n":                                      `sweep.refine.traffic.load = 0: want the largest distance`,
		"\"traffic.load\" = [0.1, 0.9]\n[sweep.refine]\ntraffic.load = \"x\"\n":                                  `sweep.refine.traffic.load = "x": want the largest distance`,
		"\"traffic.limit\" = [1, 9]\n[sweep.refine]\ntraffic.load = 0.1\n":                                       `sweep.refine.traffic.load is not swept by a list of its own`,
		"\"traffic.mode\" = [\"\", \"fail\"]\n[sweep.refine]\ntraffic.mode = 0.1\n":                              `sweep.refine.traffic.mode cannot be refined: "" is not a number`,
		"\"traffic.load\" = [0.1, 0.9]\n\"shape.p\" = [1, 2]\n[sweep.refine]\ntraffic.load = 0.1\nshape.p = 1\n": `sweep.refine.shape.p is a second key to refine`,
	})
	refused(t, "kind = \"sessions\"\n[sweep]\nseed = [1, 9]\nrefine = { seed = 1 }\n", `kind "sessions" does not tell whether a network keeps up`)
}

// toyShared has 24 points, of which those of rings are the same for both sizes of
// boxes: 3 loads x 2 modes x (1 ring + 2 boxes) are 18.
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
// merged folder is that of a run of the whole file, its failures included.
func TestShares(t *testing.T) {
	f := func() *File { return load(t, toyShared) }
	whole := t.TempDir()
	execute(t, f(), Execution{Dir: whole})
	for _, of := range []int{1, 2, 5, 30} {
		dir, points := t.TempDir(), 0
		var shares []string
		for i := of; i >= 1; i-- {
			share := filepath.Join(dir, Shard{i, of}.String())
			o := execute(t, f(), Execution{Dir: share, Shard: Shard{i, of}})
			points += o.Points
			if len(o.Failures)+o.Finished != o.Points {
				t.Errorf("share %d of %d: %+v", i, of, o)
			}
			shares = append(shares, share)
		}
		if points != 18 {
			t.Errorf("%d shares of %d points in all, want 18", of, points)
		}
		merged := filepath.Join(dir, "merged")
		simtest.Must(f().Execute(t.Context(), Execution{Dir: merged, Shares: shares}))(t)
		sameFiles(t, whole, merged)
		for _, name := range []string{failuresFile, "latency_mean_ns-offered_load.svg"} {
			if read(t, whole, name) != read(t, merged, name) {
				t.Errorf("%s differs", name)
			}
		}
	}
}

// TestSharesRefined: what refinement adds is computed when the shares are merged.
func TestSharesRefined(t *testing.T) {
	text := strings.Replace(toyRefined, `mode = "wait"`, "", 1)
	whole, dir := t.TempDir(), t.TempDir()
	execute(t, load(t, text), Execution{Dir: whole})
	shares := []string{filepath.Join(dir, "1"), filepath.Join(dir, "2")}
	for i, share := range shares {
		execute(t, load(t, text), Execution{Dir: share, Shard: Shard{i + 1, 2}})
	}
	merged := filepath.Join(dir, "merged")
	simtest.Must(load(t, text).Execute(t.Context(), Execution{Dir: merged, Shares: shares}))(t)
	sameFiles(t, whole, merged)
}

// TestSharesMissing: a share that is missing, unfinished, of other settings or no
// share at all is named, and nothing is written.
func TestSharesMissing(t *testing.T) {
	f := func() *File { return load(t, toyShared) }
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	execute(t, f(), Execution{Dir: one, Shard: Shard{1, 2}})
	execute(t, f(), Execution{Dir: two, Shard: Shard{2, 2}})
	merged := filepath.Join(dir, "merged")
	check := func(name, want string, f *File, shares ...string) {
		t.Helper()
		_, err := f.Execute(t.Context(), Execution{Dir: merged, Shares: shares})
		if err == nil || !strings.Contains(err.Error(), want) || results.Exists(merged) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
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
	if s, err := ParseShard("2/8"); err != nil || s != (Shard{2, 8}) {
		t.Errorf("%v, %v", s, err)
	}
	for _, text := range []string{"", "2", "/", "0/8", "9/8", "-1/8", "1/0", "1/8/2", "a/b", "1/100000000"} {
		if s, err := ParseShard(text); err == nil {
			t.Errorf("%q is read as %v", text, s)
		}
	}
}

func TestIndexList(t *testing.T) {
	for text, tasks := range map[string][]int{"0": {0}, "0-2": {0, 1, 2}, "3,7-8,10": {3, 7, 8, 10}, "": nil} {
		if got := IndexList(tasks); got != text {
			t.Errorf("%v written %q, want %q", tasks, got, text)
		}
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
