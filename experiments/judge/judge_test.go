package judge

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestTable: a row that is cut, or no row at all, leaves those after it.
func TestTable(t *testing.T) {
	folder := fstest.MapFS{"a.csv": {Data: []byte("\ufeffa, b\n1,2\n3\n4,\"5\"x\n 6 ,7\n8,\"9")}, "empty.csv": {}, "wide.csv": {Data: []byte("\xff\xfea\x00")}, "sub/x": {}}
	table, err := OpenTable(folder, "data", "a.csv", ',', "b", "c")
	simtest.ErrorIf(t, err == nil || err.Error() != "data/a.csv:1: has no column c; want b, c", "%v", err)
	var got []string
	for problem := range table.Rows {
		got = append(got, fmt.Sprintf("%d %s %s %t", table.Line, table.Cell("a"), table.Cell("b"), problem == nil))
	}
	want := []string{"2 1 2 true", "3 3  false", "4   false", "5 6 7 true", "6   false"}
	simtest.ErrorIf(t, fmt.Sprint(got) != fmt.Sprint(want), "got %q, want %q", got, want)
	for file, want := range map[string]string{"empty.csv": "data/empty.csv: an empty file; want a table with the columns a", "sub": "data/sub: cannot be read: it is no regular file", "wide.csv": "data/wide.csv: not a CSV table: the file is UTF-16"} {
		_, err := OpenTable(folder, "data", file, ',', "a")
		simtest.ErrorIf(t, err == nil || !strings.HasPrefix(err.Error(), want), "%v", err)
	}
	if table, err := OpenTable(folder, "data", "none", ',', "a"); table != nil || err != nil {
		t.Error(err)
	}
}

func TestCount(t *testing.T) {
	c := Count{}
	for _, v := range []string{Agrees, Agrees, NotJudged} {
		c.Add(v)
	}
	simtest.ErrorIf(t, c.String() != "2 agree, 0 differ, 1 not judged, 0 not run", "%v", c)
	if c.Add(Unreadable); c.String() != "2 agree, 0 differ, 1 not judged, 0 not run, 1 unreadable" {
		t.Error(c)
	}
	p := &document.Problem{At: "a.csv:2", Message: "is cut"}
	all := Merged(document.Problems{p}, document.Problems{p, {Message: "other"}})
	simtest.ErrorIf(t, len(all) != 2 || Note(all) != "a.csv:2: is cut (and 1 more)", "%v", all)
}

// session judges a reference of three curves: one agrees, one differs, and the data of one
// cannot be read; names select of them.
func session(t *testing.T, names ...string) (outcome Outcome, stdout, stderr, table string, err error) {
	t.Helper()
	entry := func(name, verdict string, faults document.Problems) *Entry {
		return &Entry{Name: name, Faults: &faults,
			Judge: func(*Session) ([]Row, bool, error) {
				if name == "b/2" { // found late
					faults = document.Problems{{At: "graph", Message: "is cut"}}
				}
				return []Row{{Cells: []string{name}, Verdict: verdict}}, false, nil
			}}
	}
	aside := entry("e", Agrees, nil)
	aside.Aside = true
	r := &Reference{Name: "x", Place: "data", Entry: "curve", Warnings: []string{"a warning"}, Sections: []*Section{{File: "verdicts.csv", Columns: []string{"curve"}, Entries: []*Entry{
		entry("a", Agrees, nil), entry("b/1", Differs, nil), entry("b/2", Agrees, nil), entry("c", Unreadable, document.Problems{{At: "c.csv:2", Message: "is cut"}}), entry("d", NotRun, nil), aside,
	}}}}
	if r, err = r.Select(names); err != nil {
		return outcome, "", "", "", err
	}
	var out, problems strings.Builder
	s := &Session{Out: t.TempDir(), Stdout: &out, Stderr: &problems}
	outcome, err = s.Judge(r)
	text, _ := os.ReadFile(filepath.Join(s.Out, "x", "verdicts.csv"))
	return outcome, out.String(), strings.ReplaceAll(problems.String(), s.Out, "OUT"), string(text), err
}

// TestSession: entries are judged in the order of their names, once; those that cannot be read
// leave the others, and alone are an error.
func TestSession(t *testing.T) {
	for _, c := range []struct {
		names, rows, stderr string
		outcome             Outcome
	}{
		{"x", "a,agrees, b/1,differs, b/2,agrees, c,unreadable, d,not-run,", "a warning c.csv:2: is cut graph: is cut x: 2 agree, 1 differ, 0 not judged, 1 not run, 1 unreadable; OUT/x/verdicts.csv", Outcome{true, true}},
		{"x/b/1 x/a x/b/1", "b/1,differs, a,agrees,", "a warning x: 1 agree, 1 differ, 0 not judged, 0 not run; OUT/x/verdicts.csv", Outcome{Failed: true}},
		{"x/b", "b/1,differs, b/2,agrees,", "a warning graph: is cut x: 1 agree, 1 differ, 0 not judged, 0 not run; OUT/x/verdicts.csv", Outcome{true, true}},
		{"x/d", "d,not-run,", "a warning x: 0 agree, 0 differ, 0 not judged, 1 not run; OUT/x/verdicts.csv x: nothing was compared", Outcome{Failed: true}},
		{"x/e", "e,agrees,", "a warning x: 1 agree, 0 differ, 0 not judged, 0 not run; OUT/x/verdicts.csv", Outcome{}}, // only where it is named
		{"x/a", "a,agrees,", "a warning x: 1 agree, 0 differ, 0 not judged, 0 not run; OUT/x/verdicts.csv", Outcome{}},
	} {
		outcome, stdout, stderr, table, err := session(t, strings.Fields(c.names)...)
		words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
		simtest.Alike(t, c.names, err, nil, words(table), "curve,verdict,note "+c.rows, words(stderr), c.stderr, outcome, c.outcome)
		simtest.ErrorIf(t, !strings.HasPrefix(stdout, "curve  verdict"), "%s: printed\n%s", c.names, stdout)
	}
	_, _, _, table, err := session(t, "x/c")
	simtest.Alike(t, "a cut file", err, "c.csv:2: is cut", table, "")
	_, _, _, _, err = session(t, "x/a", "x/f")
	simtest.Alike(t, "", err, `no curve "f" in data: there are a, b/1, b/2, c, d, e`, (&Reference{Place: "data", Entry: "curve"}).Check(), "data: holds no curve")
}

// TestSideBySide: the first of two entries ends when the second has, so that both run at once;
// rows stay in the order of entries, and an error of either is the session's.
func TestSideBySide(t *testing.T) {
	for _, fault := range []error{nil, errors.New("no disk")} {
		second := make(chan struct{})
		entries := []*Entry{
			{Name: "a", Judge: func(*Session) ([]Row, bool, error) {
				<-second
				return []Row{{Cells: []string{"a"}, Verdict: Agrees}}, false, nil
			}},
			{Name: "b", Judge: func(s *Session) ([]Row, bool, error) {
				close(second)
				return []Row{{Cells: []string{"b"}, Verdict: Agrees}}, false, fault
			}},
		}
		var out strings.Builder
		s := &Session{Out: t.TempDir(), Stdout: &out, Stderr: &out, Jobs: 2}
		_, err := s.Judge(&Reference{Name: "x", Sections: []*Section{{File: "v.csv", Columns: []string{"run"}, Entries: entries, SideBySide: true}}})
		a, b := strings.Index(out.String(), "\na "), strings.Index(out.String(), "\nb ")
		simtest.ErrorIf(t, !errors.Is(err, fault) || fault == nil && (a < 0 || b < a), "%v:\n%s", err, &out)
	}
}
