package experiments

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/results"
)

// TestReadFolder: a finished folder comes back with its tables, its failures
// and the question of its file; a table that an earlier run has left is gone,
// and files that are not of the run are left alone and not taken for tables.
func TestReadFolder(t *testing.T) {
	dir := t.TempDir()
	text := "# Why?\n#\n# Because.\nkind = \"toy\"\n[sweep]\n\"traffic.mode\" = [\"fail\", \"\"]\n"
	execute(t, load(t, text, Options{}), Execution{Dir: dir})
	if err := os.WriteFile(filepath.Join(dir, "mine.csv"), []byte("x\n1,2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Results.Rows) != 1 || len(f.Failures.Rows) != 1 || len(f.Tables) != 1 || f.Tables["links"] == nil {
		t.Errorf("%+v", f)
	}
	if _, err := ReadTableFile(dir); err == nil || !strings.Contains(err.Error(), "is a folder: its table is "+filepath.Join(dir, "results.csv")) {
		t.Errorf("a folder in place of its table: %v", err)
	}
	if got := strings.Join(f.File.Question(), "|"); got != "Why?||Because." {
		t.Errorf("question %q", got)
	}
	// The same folder once more, by an experiment without that table.
	execute(t, load(t, smallTorus, Options{}), Execution{Dir: dir, Force: true})
	if f, err = ReadFolder(dir); err != nil || len(f.Tables) != 0 || f.Failures != nil {
		t.Errorf("%v, %+v", err, f)
	}
	if results.Exists(filepath.Join(dir, "links.csv")) || !results.Exists(filepath.Join(dir, "mine.csv")) {
		t.Error("links.csv of the earlier run is still there, or mine.csv is not")
	}
	if err := os.Remove(filepath.Join(dir, resultsFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFolder(dir); err == nil || !strings.Contains(err.Error(), "results.csv cannot be read: no such file") {
		t.Errorf("got %v", err)
	}
}

// smallTorus writes no further table.
const smallTorus = `
[topology]
type = "torus"
dims = [8]
[routing]
type = "dor"
[traffic]
load = 0.2
[measure]
warmup = 300
window = 1000
`
