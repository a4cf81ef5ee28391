package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Points that refinement adds, and the files of points, are the same from job
// arrays, one for each step, as from one process: a 3x3 mesh keeps up with
// little of 1.
func TestSlurmRefines(t *testing.T) {
	if os.Getenv(realSlurm) == "" {
		fakeSlurm(t, "")
	}
	text := strings.Replace(slurmSweep, "[0.1, 0.2, 0.3, 0.4, 0.5]", "[0.1, 1.0]\nrefine = { \"traffic.load\" = 0.2 }\n[trace]\npackets = 2", 1)
	text = strings.NewReplacer("window = 400", "window = 10000\nseries = 4", "[routing]", "[traffic]\npattern = \"transpose\"\n[routing]").Replace(text)
	file, dir := sweepFile(t, text), t.TempDir()
	local, cluster := filepath.Join(dir, "local"), filepath.Join(dir, "cluster")
	if out, status := weftProcess(t, "run", file, "--out", local, "--quiet", "--jobs", "2"); status != exitSuccess {
		t.Fatalf("status %d: %s", status, out)
	}
	out, status := weftProcess(t, "run", file, "--out", cluster, "--executor", "slurm", "--poll", "100ms")
	if status != exitSuccess {
		t.Fatalf("status %d: %s", status, out)
	}
	var names []string
	for _, pattern := range []string{"results.csv", "resolved.toml", "series/*", "traces/*"} {
		found, err := filepath.Glob(filepath.Join(local, pattern))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	// From 0.1 to 1 there are 5 spacings: 2 or 3 points find the knee to one.
	if points := (len(names) - 2) / 3; points != 4 && points != 5 {
		t.Errorf("%d points, files %v", points, names)
	}
	if strings.Count(out, "job array") < 3 {
		t.Errorf("one job array a step: %s", out)
	}
	for _, name := range names {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		inside, err := filepath.Rel(local, name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(cluster, inside)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s of the cluster differs (%v)", inside, err)
		}
	}
}
