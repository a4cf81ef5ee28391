package kinds

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-sim/weft/experiments"
)

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
