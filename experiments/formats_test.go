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
	execute(t, f, Execution{Dir: dir, Formats: []string{"csv", "jsonl", "parquet"}})
	other := t.TempDir()
	execute(t, f, Execution{Dir: other, Formats: []string{"parquet", "jsonl"}, Jobs: 1})
	for _, name := range []string{"results.csv", "results.jsonl", "results.parquet", "links.jsonl", "links.parquet"} {
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
	for _, name := range []string{"results.jsonl", "results.parquet", "links.jsonl", "links.parquet"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s of the run before is still there", name)
		}
	}
}

// TestParquetTypes: columns have the types that the kind declares, whatever is in
// their cells.
func TestParquetTypes(t *testing.T) {
	table := &Table{
		Columns: []string{"point", "traffic.load", "channel.latency", "flag", "none", "seed", "replications", "offered_load", "accepted_load", "latency_mean_ns", "draw", "state"},
		Rows:    [][]string{{"0", "0.1", "10ns", "true", "", "1", "1", "1", "", "7", "3", "steady"}, {"1", "1", "2ns", "false", "", "1", "1", "1", "1", "7", "3", ""}},
	}
	const want = "i n t b n i i n n n i t"
	var got []string
	for _, c := range table.parquetColumns(kinds["toy"]) {
		got = append(got, string("b.i..nt"[c.Type]))
	}
	if strings.Join(got, " ") != want {
		t.Errorf("types %s, want %s", strings.Join(got, " "), want)
	}
	if _, err := table.Encode("parquet", "toy"); err != nil {
		t.Error(err)
	}
	if _, err := table.Encode("xls", "toy"); err == nil {
		t.Error("a format that there is not")
	}
}
