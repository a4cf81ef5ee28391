package kinds

import (
	"context"
	"encoding/json"
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
