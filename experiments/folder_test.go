package experiments

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	if len(f.Results.Rows) != 1 || len(f.Failures.Rows) != 1 || len(f.Tables) != 1 || f.Tables["links"] == nil {
		t.Errorf("%+v", f)
	}
	simtest.Refuse(ReadTableFile(dir))(t, "is a folder: its table is "+filepath.Join(dir, "results.csv"))
	if got := strings.Join(f.File.Question(), "|"); got != "Why?||Because." {
		t.Errorf("question %q", got)
	}
	// The same folder once more, by an experiment without that table.
	execute(t, load(t, smallTorus), Execution{Dir: dir, Force: true})
	if f = simtest.Must(ReadFolder(dir))(t); len(f.Tables) != 0 || f.Failures != nil {
		t.Errorf("%+v", f)
	}
	if results.Exists(filepath.Join(dir, "links.csv")) || !results.Exists(filepath.Join(dir, "mine.csv")) {
		t.Error("links.csv of the earlier run is still there, or mine.csv is not")
	}
	simtest.Check(t, os.Remove(filepath.Join(dir, resultsFile)))
	simtest.Refuse(ReadFolder(dir))(t, "results.csv cannot be read: no such file")
}

// smallTorus writes no further table.
const smallTorus = `
topology = { type = "torus", dims = [8] }
routing = { type = "dor" }
traffic = { load = 0.2 }
[measure]
warmup = 300
window = 1000
`

// TestSeriesFile: the intervals of a channel carry what links.csv says that it
// carried in the window, and read back as flits per cycle.
func TestSeriesFile(t *testing.T) {
	dir := t.TempDir()
	f := load(t, `
topology = { type = "mesh", dims = [3, 3] }
routing = { type = "dor" }
traffic = { load = 0.4 }
measure = { warmup = 100, window = 1000, links = true, series = 8 }
[sweep]
"traffic.load" = [0.2, 0.4]
`)
	o := execute(t, f, Execution{Dir: dir})
	folder := simtest.Must(ReadFolder(dir))(t)
	s := simtest.Must(folder.Series(1))(t)
	// 125 cycles each; 24 channels between switches, 18 at terminals.
	if len(s.Ends) != 8 || s.Ends[0] != 125 || s.Ends[7] != 1000 || len(s.Channels) != 24+18 {
		t.Fatalf("%d channels, intervals end at %v", len(s.Channels), s.Ends)
	}
	want := map[string]float64{}
	for _, r := range o.Tables["links"].Rows {
		if r[0] == "1" {
			want[r[len(r)-6]+" to "+r[len(r)-5]] += results.Number(r[len(r)-1])
		}
	}
	for _, c := range s.Channels {
		mean := 0.0
		for _, x := range c.Flits {
			mean += x / 8
		}
		if name := c.From + " to " + c.To; math.Abs(mean-want[name]) > 1e-9 || mean == 0 {
			t.Errorf("%s carries %v, want %v", name, mean, want[name])
		}
	}
	if none, err := folder.Series(2); none != nil || err != nil {
		t.Errorf("a series of no point: %v, %v", none, err)
	}
}

// TestSeriesProblems: damaged files are told by what is wrong.
func TestSeriesProblems(t *testing.T) {
	for text, want := range map[string]string{
		"from,to,class\n":               "3 columns",
		"from,to,class,0-9,8-20\n":      "want an interval that begins at 9",
		"from,to,class,0-0\n":           "want an interval that begins at 0",
		"from,to,class,x\n":             `column "x"`,
		"from,to,class,0-9\na,b,c,-1\n": `"-1" flits from a to b`,
	} {
		table := simtest.Must(ReadTable("series", strings.NewReader(text)))(t)
		simtest.Refuse(parseSeries(table))(t, want)
	}
}

// FuzzParseSeries: what is read has intervals that follow one another and as
// many loads of each channel.
func FuzzParseSeries(f *testing.F) {
	f.Add("from,to,class,0-9,9-20\na,b,c,1,2\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := ReadTable("series", strings.NewReader(text))
		if err != nil {
			return
		}
		s, err := parseSeries(table)
		if err != nil {
			return
		}
		last := int64(0)
		for _, end := range s.Ends {
			if end <= last {
				t.Errorf("ends %v", s.Ends)
			}
			last = end
		}
		for _, c := range s.Channels {
			if len(c.Flits) != len(s.Ends) {
				t.Errorf("%d loads", len(c.Flits))
			}
			for _, x := range c.Flits {
				if !(x >= 0) || math.IsInf(x, 0) {
					t.Errorf("load %v", x)
				}
			}
		}
	})
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
			simtest.Check(t, os.MkdirAll(dir, 0o777))
			simtest.Check(t, os.WriteFile(filepath.Join(dir, "journal"), []byte(line(t, forged)), 0o666))
			o, err := load(t, text).Execute(t.Context(), Execution{Dir: dir, Resume: true})
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
		_, err := load(t, text).Execute(t.Context(), Execution{Dir: dir, Force: true})
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
	simtest.Check(t, os.Mkdir(filepath.Join(dir, "traces"), 0o777))
	for _, name := range []string{".weft-123", "traces/.weft-45", "kept", ".weftrc"} {
		simtest.Check(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), nil, 0o666))
	}
	execute(t, load(t, "kind = \"toy\"\n"), Execution{Dir: dir, Resume: true})
	for name, want := range map[string]bool{".weft-123": false, "traces/.weft-45": false, "kept": true, ".weftrc": true} {
		if results.Exists(filepath.Join(dir, filepath.FromSlash(name))) != want {
			t.Errorf("%s: want it there: %v", name, want)
		}
	}
}

// TestFigureThatCannotBeDrawn: the rest of the folder is whole, and says so.
func TestFigureThatCannotBeDrawn(t *testing.T) {
	dir := t.TempDir()
	f := load(t, "kind = \"toy\"\n[[plot]]\nfile = \"f\"\nx = \"point\"\ny = \"latency_mean_ns\"\nlog_x = true\n[[plot]]\nfile = \"g\"\nx = \"offered_load\"\ny = \"latency_mean_ns\"\n")
	o, err := f.Execute(t.Context(), Execution{Dir: dir})
	simtest.Fail(t, err, "plot f")
	if strings.Join(o.Figures, " ") != "g.svg g.png g.data.csv" || !results.Exists(filepath.Join(dir, manifestFile)) {
		t.Errorf("%+v", o)
	}
}
