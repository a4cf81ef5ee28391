package kinds

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sim/weft/experiments"
)

func load(t testing.TB, text string, options experiments.Options) *experiments.File {
	t.Helper()
	f, err := experiments.Load("x.toml", text, options)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// execute runs a file and returns the outcome.
func execute(t *testing.T, f *experiments.File, e experiments.Execution) *experiments.Outcome {
	t.Helper()
	o, err := f.Execute(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// number is what a cell holds; NaN if that is no number.
func number(cell string) float64 {
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// numbers returns a column of a table.
func numbers(t *testing.T, table *experiments.Table, name string) []float64 {
	t.Helper()
	x, err := table.Numbers(name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// shortest is a number as cells of results have it.
func shortest(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

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
	if err := os.WriteFile(toml, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	file, err := experiments.Open(toml, experiments.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// task computes the point in a result folder until ctx ends, and returns its row.
	task := func(ctx context.Context, folder string) (cells any, err error) {
		slurm := filepath.Join(dir, folder, "slurm")
		job := map[string]any{"file": toml, "threads": 2, "snapshot_every": time.Microsecond, "tasks": [][]string{{file.Points[0].Hash}}}
		content, err := json.Marshal(job)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(slurm, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(slurm, "job.json"), content, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := experiments.SlurmTask(ctx, filepath.Join(slurm, "job.json"), 0); err != nil {
			return nil, err
		}
		journal, err := os.ReadFile(filepath.Join(slurm, "task-0.journal"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(journal)), "\n")
		var last map[string]any
		if err := json.Unmarshal([]byte(lines[len(lines)-1][len("01234567 "):]), &last); err != nil {
			t.Fatal(err)
		}
		return last["cells"], nil
	}
	want, err := task(t.Context(), "whole")
	if err != nil || want == nil {
		t.Fatal(want, err)
	}
	kept := filepath.Join(dir, "killed", "snapshots", file.Points[0].Hash+".*.weft")
	if _, err := task(endingAt(t.Context(), 20), "killed"); err == nil {
		t.Fatal("the task was through before it was told to end")
	}
	if states, _ := filepath.Glob(kept); len(states) == 0 {
		t.Fatal("nothing is kept")
	}
	got, err := task(t.Context(), "killed")
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("went on to\n%s\nwant\n%s", a, b)
	}
	if states, _ := filepath.Glob(kept); len(states) != 0 {
		t.Errorf("%q are left", states)
	}
}

// TestCache: results and preflight are the same without a cache, when it is filled, when it
// is read, and when all that is in it is damaged. Two networks under one pattern are two
// certificates and two tables of loads.
func TestCache(t *testing.T) {
	const text = smallTorus + `
[sweep]
"topology.dims" = [[8], [4, 4]]
"traffic.load" = [0.1, 0.2]
`
	var warnings []string
	cache := &experiments.Cache{Dir: t.TempDir(), Limit: 1 << 20, Warn: func(m string) { warnings = append(warnings, m) }}
	run := func(c *experiments.Cache) string {
		f := load(t, text, experiments.Options{Cache: c})
		report, err := f.Preflight(true)
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, n := range report.Notes {
			said += n.Topic + n.Where + n.Text + "\n"
		}
		return said + fmt.Sprint(execute(t, f, experiments.Execution{}).Results.Rows)
	}
	want := run(nil)
	for _, when := range []string{"filled", "read", "damaged"} {
		paths, err := filepath.Glob(filepath.Join(cache.Dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		if when != "filled" && len(paths) != 4 {
			t.Fatalf("%s: %d entries, want 4", when, len(paths))
		}
		for _, path := range paths {
			if when == "damaged" {
				if err := os.Truncate(path, 50); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := run(cache); got != want {
			t.Errorf("%s:\n%s\nwithout a cache:\n%s", when, got, want)
		}
	}
	if len(warnings) != 4 {
		t.Errorf("warnings %q, want one for each damaged entry", warnings)
	}
}

// Points share routings that depend on the network only, so that files of tables are read
// once; others, and those with settings of their own, are each point's own.
func TestPointsShareTables(t *testing.T) {
	for _, c := range []struct {
		sweep string
		same  bool
	}{
		{"\"traffic.load\" = [0.1, 0.2]\n\"routing.type\" = [\"opensm-lash\"]", true},
		{"\"routing.data_lanes\" = [4, 8]\n\"routing.type\" = [\"opensm-lash\"]", false},
		{"\"switch.vcs\" = [6, 8]\n\"routing.type\" = [\"opensm-lash\"]", true},
		{"\"topology.dims\" = [[3, 3], [3, 4]]\n\"routing.type\" = [\"opensm-lash\"]", false},
		{"\"traffic.load\" = [0.1, 0.2]\n\"routing.type\" = [\"dor\"]", false},
	} {
		f := load(t, "kind = \"traffic\"\n[topology]\ntype = \"torus\"\ndims = [3, 3]\n[sweep]\n"+c.sweep+"\n", experiments.Options{})
		var built [2]any
		for i := range built {
			parts, err := f.Points[i].Config().(*trafficConfig).build(f.Points[i].Seed)
			if err != nil {
				t.Fatal(err)
			}
			built[i] = parts.Routing
		}
		if same := built[0] == built[1]; same != c.same {
			t.Errorf("%s: one routing is %v, want %v", c.sweep, same, c.same)
		}
	}
}
