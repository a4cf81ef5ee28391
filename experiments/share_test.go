package experiments

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/results"
)

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
	f := func() *File { return load(t, toyShared, Options{}) }
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
		if _, err := f().Execute(t.Context(), Execution{Dir: merged, Shares: shares}); err != nil {
			t.Fatal(err)
		}
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
	execute(t, load(t, text, Options{}), Execution{Dir: whole})
	shares := []string{filepath.Join(dir, "1"), filepath.Join(dir, "2")}
	for i, share := range shares {
		execute(t, load(t, text, Options{}), Execution{Dir: share, Shard: Shard{i + 1, 2}})
	}
	merged := filepath.Join(dir, "merged")
	if _, err := load(t, text, Options{}).Execute(t.Context(), Execution{Dir: merged, Shares: shares}); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, whole, merged)
}

// TestSharesMissing: a share that is missing, unfinished, of other settings or no
// share at all is named, and nothing is written.
func TestSharesMissing(t *testing.T) {
	f := func() *File { return load(t, toyShared, Options{}) }
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
	check("other settings", "18 of 18 points are in no share", load(t, toyShared, Options{Set: []string{"traffic.delay=7ns"}}), one, two)
	check("no folder", "nowhere: is no share of a sweep: its journal cannot be read", f(), one, two, filepath.Join(dir, "nowhere"))
	if err := os.Remove(filepath.Join(two, shardFile)); err != nil {
		t.Fatal(err)
	}
	check("before its end", "points are in no share; not at their end: "+two+" (go on with --resume)", f(), one, two)
	if err := os.WriteFile(filepath.Join(two, shardFile), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
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
		if got := indexList(tasks); got != text {
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
		if err := os.WriteFile(filepath.Join(dir, "squeue"), []byte("#!/bin/sh\n"+c.script+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		live, err := queuedTasks([]string{"5", "8"})
		if !reflect.DeepEqual(live, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %v, %v; want %v, %q", c.script, live, err, c.want, c.err)
		}
	}
}
