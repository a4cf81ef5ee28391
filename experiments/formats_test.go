package experiments

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFormats: a folder has its tables in the forms that were asked for, too; the same
// bytes for any number of jobs; and a run without them removes those of the one before.
func TestFormats(t *testing.T) {
	f := load(t, "kind = \"toy\"\n[sweep]\n\"traffic.load\" = [0.1, 0.7]\n", Options{})
	dir := t.TempDir()
	execute(t, f, Execution{Dir: dir, Formats: []string{"csv", "jsonl"}})
	other := t.TempDir()
	execute(t, f, Execution{Dir: other, Formats: []string{"jsonl"}, Jobs: 1})
	for _, name := range []string{"results.csv", "results.jsonl", "links.jsonl"} {
		a, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(filepath.Join(other, name)); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s of two runs differ (%v)", name, err)
		}
		if strings.HasSuffix(name, "s.jsonl") && strings.Count(string(a), "\n") < 2 {
			t.Errorf("%s\n%s", name, a)
		}
	}
	execute(t, f, Execution{Dir: dir, Force: true})
	for _, name := range []string{"results.jsonl", "links.jsonl"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s of the run before is still there", name)
		}
	}
}
