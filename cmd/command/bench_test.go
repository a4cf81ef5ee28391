package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// Every workload is a file that loads; the smallest one runs in a process of
// its own, and its table compares with itself.
func TestBench(t *testing.T) {
	out, status := weftProcess(t, "bench", "--format", "csv", "multicast-10496")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if status != exitSuccess || len(lines) != 2 || lines[0] != strings.Join(experiments.BenchColumns, ",") || !strings.HasPrefix(lines[1], "multicast-10496,event,") {
		t.Fatalf("status %d: %s", status, out)
	}
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
	out, status = weftProcess(t, "bench", "--compare", path+","+path)
	if status != exitSuccess || !strings.Contains(out, " 1.000\n") {
		t.Errorf("status %d: %s", status, out)
	}
	for _, args := range [][]string{{"bench", "no-such"}, {"bench", "--format", "x"}, {"bench", "--compare", path}, {"bench", "--compare", path + ",none.csv"}} {
		if out, status := weftProcess(t, args...); status != exitUsage {
			t.Errorf("%v: status %d: %s", args, status, out)
		}
	}
	for _, w := range experiments.Workloads {
		if err := w.Check(); err != nil {
			t.Errorf("%s: %v", w.Name, err)
		}
	}
}
