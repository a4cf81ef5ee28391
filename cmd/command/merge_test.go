package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMerge: two shares of a sweep make the results of one run; one share does not,
// with status 2 and nothing written; neither does a share that is none.
func TestMerge(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	small := []string{"--quick", "--quiet", "--set", "measure.window=200", "--set", "measure.warmup=100"}
	weft := func(want int, args ...string) string {
		t.Helper()
		var stderr bytes.Buffer
		if got := run(t.Context(), append(args, small...), &bytes.Buffer{}, &stderr); got != want {
			t.Fatalf("weft %s: status %d, want %d\n%s", strings.Join(args, " "), got, want, stderr.String())
		}
		return stderr.String()
	}
	weft(exitSuccess, "run", "examples/torus", "--out", in("whole"))
	weft(exitSuccess, "run", "examples/torus", "--shard", "1/2", "--out", in("one"))
	if said := weft(exitUsage, "merge", "examples/torus", in("one"), "--out", in("merged")); !strings.Contains(said, "points are in no share") {
		t.Errorf("one share of two: %s", said)
	}
	if _, err := os.Stat(in("merged")); err == nil {
		t.Error("a folder was made of one share of two")
	}
	weft(exitSuccess, "run", "examples/torus", "--shard", "2/2", "--out", in("two"))
	weft(exitSuccess, "merge", "examples/torus", in("one"), in("two"), "--out", in("merged"))
	for _, name := range []string{"results.csv", "resolved.toml"} {
		want, err := os.ReadFile(filepath.Join(in("whole"), name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(in("merged"), name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s of the merged shares differs (%v)", name, err)
		}
	}
	for _, shard := range []string{"3/2", "two", "0/2"} {
		weft(exitUsage, "run", "examples/torus", "--shard", shard, "--out", in("other"))
	}
	weft(exitUsage, "run", "examples/torus", "--shard", "1/2", "--out", "-")
	weft(exitUsage, "run", "examples/torus", "--shard", "1/2", "--executor", "slurm", "--out", in("other"))
}
