package experiments

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/results"
)

// line is a line of a journal with a checksum that holds.
func line(t *testing.T, r any) string {
	t.Helper()
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%08x %s\n", crc32.Checksum(body, castagnoli), body)
}

// TestForgedJournal: records that no run of the kind has written, in a journal whose
// checksums hold, count as torn. Nothing panics, nothing is written outside of the
// folder, and the points are computed.
func TestForgedJournal(t *testing.T) {
	const text = "kind = \"toy\"\n[sweep]\n\"shape.p\" = [1, 2]\n[[plot]]\ntable = \"links\"\nx = \"link\"\ny = \"utilisation\"\nstyle = \"bar\"\n"
	f := load(t, text, Options{})
	good := &record{Hash: f.Points[0].Hash, Replications: 1, Cells: make([]string, len(f.kind.columns))}
	forge := func(change func(*record)) record {
		r := *good
		change(&r)
		return r
	}
	links := func(o ...*Output) []*Output { return o }
	for name, forged := range map[string]any{
		"null":                 nil,
		"no cells":             forge(func(r *record) { r.Cells = nil }),
		"too many cells":       forge(func(r *record) { r.Cells = make([]string, 1000) }),
		"no table":             forge(func(r *record) { r.Tables = links(nil) }),
		"table that is not":    forge(func(r *record) { r.Tables = links(&Output{Name: "../../outside"}) }),
		"table of the results": forge(func(r *record) { r.Tables = links(&Output{Name: "results"}) }),
		"table twice":          forge(func(r *record) { r.Tables = links(&Output{Name: "links"}, &Output{Name: "links"}) }),
		"short row": forge(func(r *record) {
			r.Tables = links(&Output{"links", []string{"link", "utilisation"}, [][]string{{"a"}}})
		}),
		"other columns":        forge(func(r *record) { r.Tables = links(&Output{"links", []string{"link"}, [][]string{{"a"}}}) }),
		"way out by folder":    forge(func(r *record) { r.Files = []Attachment{{"../../outside", "txt", "x"}} }),
		"way out by extension": forge(func(r *record) { r.Files = []Attachment{{"traces", "/../../../outside", "x"}} }),
		"absolute":             forge(func(r *record) { r.Files = []Attachment{{"/outside", "txt", "x"}} }),
		"zero byte":            forge(func(r *record) { r.Files = []Attachment{{"a\x00", "txt", "x"}} }),
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "a", "r")
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "journal"), []byte(line(t, forged)), 0o666); err != nil {
				t.Fatal(err)
			}
			o, err := load(t, text, Options{}).Execute(t.Context(), Execution{Dir: dir, Resume: true})
			if name == "other columns" { // of the first point; that of the second is honest, and has no place beside it
				if o == nil || len(o.Failures) != 1 || !strings.Contains(o.Failures[0].Reason, "other columns") {
					t.Errorf("%v, %+v", err, o)
				}
			} else if err != nil || o.Finished != 2 || o.Reused != 0 {
				t.Errorf("%v, %+v", err, o)
			}
			for _, outside := range []string{parent, filepath.Join(parent, "a")} {
				if entries, _ := os.ReadDir(outside); len(entries) != 1 {
					t.Errorf("written outside: %v", entries)
				}
			}
		})
	}
}

// TestLinksInFolder: a link in a result folder is replaced or refused, never
// followed: not that of the journal, which is emptied, nor that of a table, nor that
// of a folder from which old files are removed.
func TestLinksInFolder(t *testing.T) {
	const text = "kind = \"toy\"\n"
	outside := t.TempDir()
	victim := filepath.Join(outside, "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o666); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"journal": victim, "results.csv": victim, "manifest.json": victim, "traces": outside, "resolved.toml": filepath.Join(outside, "new")} {
		dir := t.TempDir()
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
		if link == "traces" {
			m := `{"files": ["traces/victim"], "tables": ["../../victim"]}`
			if err := os.WriteFile(filepath.Join(dir, manifestFile), []byte(m), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		_, err := load(t, text, Options{}).Execute(t.Context(), Execution{Dir: dir, Force: true})
		var folder *FolderError
		if link == "journal" && !errors.As(err, &folder) || link != "journal" && err != nil {
			t.Errorf("%s: %v", link, err)
		}
		if entries, _ := os.ReadDir(outside); len(entries) != 1 || read(t, outside, "victim") != "precious" {
			t.Fatalf("%s was followed: %v", link, entries)
		}
	}
	if err := results.InsideOnly(outside, filepath.Join("..", "x")); err == nil {
		t.Error("a way out is inside")
	}
}

// TestTemporaryFiles: what a killed run has left is gone after the next.
func TestTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "traces"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".weft-123", "traces/.weft-45", "kept", ".weftrc"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, load(t, "kind = \"toy\"\n", Options{}), Execution{Dir: dir, Resume: true})
	for name, want := range map[string]bool{".weft-123": false, "traces/.weft-45": false, "kept": true, ".weftrc": true} {
		if results.Exists(filepath.Join(dir, filepath.FromSlash(name))) != want {
			t.Errorf("%s: want it there: %v", name, want)
		}
	}
}

// TestFigureThatCannotBeDrawn: the rest of the folder is whole, and says so.
func TestFigureThatCannotBeDrawn(t *testing.T) {
	dir := t.TempDir()
	f := load(t, "kind = \"toy\"\n[[plot]]\nfile = \"f\"\nx = \"point\"\ny = \"latency_mean_ns\"\nlog_x = true\n[[plot]]\nfile = \"g\"\nx = \"offered_load\"\ny = \"latency_mean_ns\"\n", Options{})
	o, err := f.Execute(t.Context(), Execution{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "plot f") {
		t.Errorf("error: %v", err)
	}
	if strings.Join(o.Figures, " ") != "g.svg g.png g.data.csv" || !results.Exists(filepath.Join(dir, manifestFile)) {
		t.Errorf("%+v", o)
	}
}
