package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestReadFolder: a finished folder comes back with its tables, its failures
// and the question of its file; a table that an earlier run has left is gone,
// and files that are not of the run are left alone and not taken for tables.
func TestReadFolder(t *testing.T) {
	dir := t.TempDir()
	text := "# Why?\n#\n# Because.\nkind = \"toy\"\n[sweep]\n\"traffic.mode\" = [\"fail\", \"\"]\n"
	execute(t, load(t, text), Execution{Dir: dir})
	simtest.Check(t, os.WriteFile(filepath.Join(dir, "mine.csv"), []byte("x\n1,2\n"), 0o666))
	f := simtest.Must(ReadFolder(dir))(t)
	simtest.ErrorIf(t, len(f.Results.Rows) != 1 || len(f.Failures.Rows) != 1 || len(f.Tables) != 1 || f.Tables["links"] == nil, "%+v", f)
	table := simtest.Must(results.ReadTableFile(dir))(t)
	simtest.ErrorIf(t, !slices.EqualFunc(table.Rows, f.Results.Rows, slices.Equal), "the folder's table has %v", table.Rows)
	simtest.Equal(t, strings.Join(f.File.Question(), "|"), "Why?||Because.", "question")
	// The same folder once more, by an experiment without that table.
	execute(t, load(t, "kind = \"parts\"\n"), Execution{Dir: dir, Force: true})
	f = simtest.Must(ReadFolder(dir))(t)
	simtest.ErrorIf(t, len(f.Tables) != 0 || f.Failures != nil, "%+v", f)
	simtest.ErrorIf(t, results.Exists(filepath.Join(dir, "links.csv")) || !results.Exists(filepath.Join(dir, "mine.csv")),
		"links.csv of the earlier run is still there, or mine.csv is not")
	simtest.Check(t, os.Remove(filepath.Join(dir, resultsFile)))
	simtest.Refuse(ReadFolder(dir))(t, "results.csv cannot be read: no such file")
}

// line is a line of a journal with a checksum that holds.
func line(t *testing.T, r any) string {
	t.Helper()
	body := simtest.Must(json.Marshal(r))(t)
	return fmt.Sprintf("%08x %s\n", crc32.Checksum(body, castagnoli), body)
}

// TestForgedJournal: records that no run of the kind has written, in a journal whose
// checksums hold, count as torn. Nothing panics, nothing is written outside of the
// folder, and the points are computed.
func TestForgedJournal(t *testing.T) {
	const text = "kind = \"toy\"\n[sweep]\n\"shape.p\" = [1, 2]\n[[plot]]\ntable = \"links\"\nx = \"link\"\ny = \"utilisation\"\nstyle = \"bar\"\n"
	f := load(t, text)
	good := &experiments.Record{Hash: f.Points[0].Hash, Replications: 1, Cells: make([]string, len(f.ColumnNames())-len(f.Lead(f.Points[0]))-1)}
	forge := func(change func(*experiments.Record)) experiments.Record {
		r := *good
		change(&r)
		return r
	}
	links := func(o ...*experiments.Output) []*experiments.Output { return o }
	file := func(folder, extension string) []experiments.Attachment {
		return []experiments.Attachment{{Folder: folder, Extension: extension, Content: "x"}}
	}
	for name, forged := range map[string]any{
		"null":                 nil,
		"no cells":             forge(func(r *experiments.Record) { r.Cells = nil }),
		"too many cells":       forge(func(r *experiments.Record) { r.Cells = make([]string, 1000) }),
		"no table":             forge(func(r *experiments.Record) { r.Tables = links(nil) }),
		"table that is not":    forge(func(r *experiments.Record) { r.Tables = links(&experiments.Output{Name: "../../outside"}) }),
		"table of the results": forge(func(r *experiments.Record) { r.Tables = links(&experiments.Output{Name: "results"}) }),
		"table twice": forge(func(r *experiments.Record) {
			r.Tables = links(&experiments.Output{Name: "links"}, &experiments.Output{Name: "links"})
		}),
		"short row": forge(func(r *experiments.Record) {
			r.Tables = links(&experiments.Output{Name: "links", Columns: []string{"link", "utilisation"}, Rows: [][]string{{"a"}}})
		}),
		"other columns": forge(func(r *experiments.Record) {
			r.Tables = links(&experiments.Output{Name: "links", Columns: []string{"link"}, Rows: [][]string{{"a"}}})
		}),
		"way out by folder":    forge(func(r *experiments.Record) { r.Files = file("../../outside", "txt") }),
		"way out by extension": forge(func(r *experiments.Record) { r.Files = file("traces", "/../../../outside") }),
		"absolute":             forge(func(r *experiments.Record) { r.Files = file("/outside", "txt") }),
		"zero byte":            forge(func(r *experiments.Record) { r.Files = file("a\x00", "txt") }),
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "a", "r")
			simtest.Check(t, os.MkdirAll(dir, 0o777))
			simtest.Check(t, os.WriteFile(filepath.Join(dir, "journal"), []byte(line(t, forged)), 0o666))
			o, err := Execute(t.Context(), load(t, text), Execution{Dir: dir, Resume: true})
			if name == "other columns" { // of the first point; the second point's are honest, and have no place beside them
				simtest.ErrorIf(t, o == nil || len(o.Failures) != 1 || !strings.Contains(o.Failures[0].Reason, "other columns"), "%v, %+v", err, o)
			} else if err != nil || o.Finished != 2 || o.Reused != 0 {
				t.Errorf("%v, %+v", err, o)
			}
			for _, outside := range []string{parent, filepath.Join(parent, "a")} {
				entries, _ := os.ReadDir(outside)
				simtest.ErrorIf(t, len(entries) != 1, "written outside: %v", entries)
			}
		})
	}
}

// TestLinksInFolder: a link in a result folder is replaced or refused, never followed: not for the
// journal, which is emptied, nor for a table, nor for a folder from which old files are removed.
func TestLinksInFolder(t *testing.T) {
	const text = "kind = \"toy\"\n"
	outside := t.TempDir()
	victim := filepath.Join(outside, "victim")
	simtest.Check(t, os.WriteFile(victim, []byte("precious"), 0o666))
	for link, target := range map[string]string{"journal": victim, "results.csv": victim, "manifest.json": victim, "traces": outside, "resolved.toml": filepath.Join(outside, "new")} {
		dir := t.TempDir()
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
		if link == "traces" {
			m := `{"files": ["traces/victim"], "tables": ["../../victim"]}`
			simtest.Check(t, os.WriteFile(filepath.Join(dir, manifestFile), []byte(m), 0o666))
		}
		_, err := Execute(t.Context(), load(t, text), Execution{Dir: dir, Force: true})
		var folder *FolderError
		simtest.ErrorIf(t, link == "journal" && !errors.As(err, &folder) || link != "journal" && err != nil, "%s: %v", link, err)
		entries, _ := os.ReadDir(outside)
		simtest.FatalIf(t, len(entries) != 1 || read(t, outside, "victim") != "precious", "%s was followed: %v", link, entries)
	}
	simtest.Fail(t, results.InsideOnly(outside, filepath.Join("..", "x")), "")
}

// TestTemporaryFiles: what a killed run has left is gone after the next.
func TestTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	simtest.Check(t, os.Mkdir(filepath.Join(dir, "traces"), 0o777))
	for _, name := range []string{".weft-123", "traces/.weft-45", "kept", ".weftrc"} {
		simtest.Check(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), nil, 0o666))
	}
	execute(t, load(t, "kind = \"toy\"\n"), Execution{Dir: dir, Resume: true})
	for name, want := range map[string]bool{".weft-123": false, "traces/.weft-45": false, "kept": true, ".weftrc": true} {
		simtest.Equal(t, results.Exists(filepath.Join(dir, filepath.FromSlash(name))), want, "%s: want it there:", name)
	}
}

// TestFigureWithoutPoint: a figure of saturated points, of which there is none, is told of and no
// error, and the rest of the folder is whole. One that cannot be written leaves it without a manifest.
func TestFigureWithoutPoint(t *testing.T) {
	dir := t.TempDir()
	f := load(t, "kind = \"toy\"\n[[plot]]\nfile = \"f\"\nx = \"offered_load\"\ny = \"latency_mean_ns\"\nwhere = { state = \"saturated\" }\n[[plot]]\nfile = \"g\"\nx = \"offered_load\"\ny = \"latency_mean_ns\"\n")
	simtest.Check(t, os.Mkdir(filepath.Join(dir, "g.png"), 0o777))
	simtest.Refuse(Execute(t.Context(), f, Execution{Dir: dir}))(t, "g.png: cannot be written: is a folder")
	simtest.ErrorIf(t, results.Exists(filepath.Join(dir, manifestFile)), "a manifest of half a folder")
	simtest.Check(t, os.Remove(filepath.Join(dir, "g.png")))
	o := execute(t, f, Execution{Dir: dir, Resume: true})
	simtest.Equal(t, strings.Join(o.Empty, "; "), "plot f: no row has state = saturated: there are steady", "empty:")
	simtest.Alike(t, "figures, and a manifest", strings.Join(o.Figures, " "), "g.svg g.png g.data.csv", results.Exists(filepath.Join(dir, manifestFile)), true)
}

// TestReferenceFileOfRun: the path is relative to the experiment file, and the result
// folder finds it again.
func TestReferenceFileOfRun(t *testing.T) {
	dir := t.TempDir()
	simtest.Check(t, os.WriteFile(filepath.Join(dir, "testbed.csv"), []byte("x,y\n0.5,33\n"), 0o666))
	name := filepath.Join(dir, "toy.toml")
	simtest.Check(t, os.WriteFile(name, []byte(toySweep+"[[plot.reference]]\nfile = \"testbed.csv\"\n"), 0o666))
	f := simtest.Must(experiments.Open(name, experiments.Options{}))(t)
	out := filepath.Join(dir, "out")
	execute(t, f, Execution{Dir: out})
	simtest.Says(t, read(t, out, "latency.data.csv"), "testbed,0.5,33")
	folder := simtest.Must(ReadFolder(out))(t)
	source := simtest.Must(folder.PlotSource(&folder.File.Plots[0]))(t)
	picture, err := folder.File.Plots[0].Draw(source, "svg")
	simtest.ErrorIf(t, err != nil || !strings.Contains(string(picture), ">testbed<"), "drawn again: %v", err)
}

// TestFormats: a folder has its tables in the forms that were asked for, too; the same
// bytes for any number of jobs; and a run without them removes the earlier run's.
func TestFormats(t *testing.T) {
	f := load(t, "kind = \"toy\"\n[sweep]\n\"traffic.load\" = [0.1, 0.7]\n")
	dir := t.TempDir()
	execute(t, f, Execution{Dir: dir, Formats: []string{"csv", "jsonl"}})
	other := t.TempDir()
	execute(t, f, Execution{Dir: other, Formats: []string{"jsonl"}, Jobs: 1})
	for _, name := range []string{"results.csv", "results.jsonl", "links.jsonl"} {
		a, err := os.ReadFile(filepath.Join(dir, name))
		simtest.ErrorIf(t, err != nil, "%v", err)
		b, err := os.ReadFile(filepath.Join(other, name))
		simtest.ErrorIf(t, err != nil || !bytes.Equal(a, b), "%s of two runs differ (%v)", name, err)
		simtest.ErrorIf(t, strings.HasSuffix(name, "s.jsonl") && strings.Count(string(a), "\n") < 2, "%s\n%s", name, a)
	}
	execute(t, f, Execution{Dir: dir, Force: true})
	for _, name := range []string{"results.jsonl", "links.jsonl"} {
		_, err := os.Stat(filepath.Join(dir, name))
		simtest.ErrorIf(t, err == nil, "%s of the run before is still there", name)
	}
}
