package results

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

func table(t *testing.T, text string) *Table {
	t.Helper()
	return simtest.Must(ReadTable("t.csv", strings.NewReader(strings.TrimSpace(text))))(t)
}

// TestFormulaCells: no spreadsheet computes what a name holds, numbers stay as they
// are, and reading gives back what was written.
func TestFormulaCells(t *testing.T) {
	table := &Table{Columns: []string{"=from", "plain"}, Rows: [][]string{
		{"=cmd|' /C calc'!A0", "-1.5"}, {"@SUM(A1)", "+2e9"}, {"-x", "'=quoted"}, {"+1+1", "''"}, {"'apostrophe", ""}, {"\t=1", "-Inf"}, {"\r=1", "a=b"},
	}}
	var b bytes.Buffer
	simtest.Check(t, table.Write(&b))
	raw := simtest.Must(csv.NewReader(bytes.NewReader(b.Bytes())).ReadAll())(t)
	want := [][]string{
		{"'=from", "plain"},
		{"'=cmd|' /C calc'!A0", "-1.5"}, {"'@SUM(A1)", "+2e9"}, {"'-x", "''=quoted"}, {"'+1+1", "''"}, {"'apostrophe", ""}, {"'\t=1", "-Inf"}, {"'\r=1", "a=b"},
	}
	simtest.ErrorIf(t, !reflect.DeepEqual(raw, want), "written %q\nwant    %q", raw, want)
	back, err := ReadTable("t", &b)
	simtest.ErrorIf(t, err != nil || !reflect.DeepEqual(back, table), "read back %q, %v", back, err)
	byHand := simtest.Must(ReadTable("x", strings.NewReader("x, y,z,z\n1, 2,3,4\n")))(t) // spaces are none of a cell
	simtest.Equal(t, byHand.Cell(0, "y"), "2", "y:")
	simtest.Refuse(byHand.Column("z"))(t, `two columns are called "z"`)
}

// Swept settings with units can be drawn and selected.
func TestCellsWithUnits(t *testing.T) {
	for cell, want := range map[string]float64{"16B": 16, "4KiB": 4096, "2.5us": 2500, "40Gb/s": 40e9, "0.25": 0.25} {
		simtest.Equal(t, Number(cell), want, "number(%q) =", cell)
	}
	simtest.ErrorIf(t, !math.IsNaN(Number("rc-srq")), "a text is a number")
	// As float64 these seeds are one number; the loads are one.
	simtest.ErrorIf(t, SameCell("1764458643000000001", "1764458643000000002") || !SameCell("0.30", "3e-1") || SameCell("10000000001", "10000000002"), "cells")
	simtest.Alike(t, "", CanonicalCell("1764458643000000001"), "1764458643000000001", CanonicalCell("0.30"), "0.3", CanonicalCell("1e6"), CanonicalCell("1000000"))
}

// TestCountStates: a verdict that no row has is left out, and a table without any has none.
func TestCountStates(t *testing.T) {
	states := &Table{Columns: []string{"point", "state"}, Rows: [][]string{{"0", "steady"}, {"1", "saturated"}, {"2", "steady"}}}
	simtest.Equal(t, states.CountStates(), "2 steady, 1 saturated", "")
	simtest.Equal(t, (&Table{Columns: []string{"point"}, Rows: [][]string{{"0"}}}).CountStates(), "", "")
}

// TestJSONLines: numbers stay numbers to the last digit, what only looks like
// one stays text, and empty cells are null.
func TestJSONLines(t *testing.T) {
	x := &Table{Columns: []string{"point", "a.b", "c"}, Rows: [][]string{
		{"0", "0.1", "true"}, {"1", "", "8x8"}, {"-2", "1e-07", "+Inf"}, {"01", "4KiB", `say "<hi>"`}, {"18446744073709551615", "null", " 1"},
	}}
	b := simtest.Must(x.Encode("jsonl"))(t)
	want := `{"point":0,"a.b":0.1,"c":true}
{"point":1,"a.b":null,"c":"8x8"}
{"point":-2,"a.b":1e-07,"c":"+Inf"}
{"point":"01","a.b":"4KiB","c":"say \"\u003chi\u003e\""}
{"point":18446744073709551615,"a.b":"null","c":" 1"}
`
	simtest.ErrorIf(t, string(b) != want, "got\n%s\nwant\n%s", string(b), want)
	for line := range bytes.Lines(b) {
		simtest.ErrorIf(t, !json.Valid(line), "not JSON: %s", line)
	}
}

// TestFormula: values by hand; what is not arithmetic is refused.
func TestFormula(t *testing.T) {
	of := map[string]float64{"a": 6, "b": 3}
	for text, want := range map[string]float64{
		"a / b":                   2,
		"min(a, b) + max(b, 1)/3": 4,
		"1 - b / a":               0.5,
		"a/b - 1":                 1,
		"-(a - b) * 2 + 0.5":      -5.5,
		"a / (b - b)":             math.Inf(1),
		"(a - b) / (a + b)":       1.0 / 3,
		"a*b/1e3":                 0.018,
		"(a+b)/2 - 4.5 + b*0":     0,
	} {
		f, err := ParseFormula(text, []string{"a", "b"})
		simtest.ErrorIf(t, err != nil || f(of) != want, "%s = %v (%v), want %v", text, f, err, want)
	}
	for _, text := range []string{"", "a", "a + c", "a % b", "f(a, b)", "a + \"b\"", "a; b", "a + b.c", "a && b", "!a + b", "a[b]", "func() { a; b }", "min(a)", "min(a, b, 1)", "max(a, b...)", "a.min(a, b)", "a + b // 3", "a + b /* */"} {
		_, err := ParseFormula(text, []string{"a", "b"})
		simtest.ErrorIf(t, err == nil, "%q accepted", text)
	}
}

// TestSaturationThroughput: the highest accepted load among points that accept
// at least 0.95 of the offered one; if none does, that at the lowest offered.
func TestSaturationThroughput(t *testing.T) {
	for _, c := range []struct {
		name, rows string
		want       float64
	}{
		// 0.49/0.5 = 0.98 keeps up, 0.55/0.6 = 0.917 does not
		{"knee", "0.2,0.2\n0.5,0.49\n0.6,0.55", 0.49},
		// exactly 0.95 counts
		{"limit", "0.2,0.2\n0.4,0.38", 0.38},
		{"none keeps up", "0.3,0.03\n0.1,0.04\n0.2,0.05", 0.04},
		{"none at all", "", math.NaN()},
	} {
		got, err := acceptedAt95(table(t, "offered_load,accepted_load\n"+c.rows))
		simtest.ErrorIf(t, err != nil || got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)), "%s: %v (%v), want %v", c.name, got, err, c.want)
	}
	simtest.Refuse(acceptedAt95(table(t, "offered_load\n1")))(t, "")
}

// TestPeaks: a peak begins where packets per ns rise to more than ten times those of a valley that has less
// than a tenth of the peak before it; bins that lack are empty; below a hundredth of the packets it is none.
func TestPeaks(t *testing.T) {
	for _, c := range []struct {
		name, rows string
		want       float64
	}{
		{"9 is below a tenth of 100, 91 above ten times 9", "0,1,100\n1,2,9\n2,3,91", 2},
		{"10 is not below a tenth", "0,1,100\n1,2,10\n2,3,101", 1},
		{"90 is not above ten times 9", "0,1,100\n1,2,9\n2,3,90", 1},
		{"a valley counts from the peak on, not before it", "0,1,5\n1,2,100\n2,3,60\n3,4,90", 1},
		{"160 in two ns are 80 a ns, not above ten times 8", "0,1,100\n1,2,8\n2,4,160", 1},
		{"a gap is a valley", "0,1,100\n5,6,90", 2},
		{"9 of 1009 are below a hundredth", "0,1,1000\n5,6,9", 1},
		{"11 of 1011 are not", "0,1,1000\n5,6,11", 2},
		{"none", "", 0},
	} {
		got, err := Peaks(table(t, "latency_from_ns,latency_to_ns,packets\n"+c.rows))
		simtest.ErrorIf(t, err != nil || got != c.want, "%s: %v (%v), want %v", c.name, got, err, c.want)
	}
	simtest.Refuse(Peaks(table(t, "latency_from_ns,packets\n1,1")))(t, "")
}

// A symbolic link and a pipe stay what they are; what cannot be written is
// named as the user named it, and nothing is left.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, text := range []string{"one", "two"} {
		simtest.Check(t, WriteFile(at("file"), []byte(text)))
	}
	simtest.Check(t, os.Symlink("file", at("link")))
	simtest.Check(t, WriteFile(at("link"), []byte("three")))
	simtest.Equal(t, simtest.Must(os.Readlink(at("link")))(t), "file", "the link leads to")
	simtest.Equal(t, string(simtest.Must(os.ReadFile(at("file")))(t)), "three", "the file holds")
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	end, err := os.OpenFile(at("pipe"), os.O_RDWR, 0) // does not wait for the other end
	simtest.Check(t, err)
	defer end.Close()
	simtest.Check(t, WriteFile(at("pipe"), []byte("four")))
	simtest.FatalIf(t, simtest.Must(os.Stat(at("pipe")))(t).Mode().IsRegular(), "the pipe has become a file")
	text := make([]byte, 10)
	n, _ := end.Read(text)
	simtest.ErrorIf(t, string(text[:n]) != "four", "the pipe held %q", text[:n])
	for path, want := range map[string]string{
		at("none/file"):              "cannot be written: no such file or directory",
		dir:                          "cannot be written: is a folder",
		at(strings.Repeat("x", 300)): "cannot be written: file name too long",
	} {
		err := WriteFile(path, nil)
		w := (*WriteError)(nil)
		simtest.ErrorIf(t, !errors.As(err, &w) || err.Error() != path+": "+want, "%v, want %s: %s", err, path, want)
	}
	entries, err := os.ReadDir(dir)
	simtest.ErrorIf(t, err != nil || len(entries) != 3, "left %v, %v", entries, err)
}

// sweepTable is a table of results: two routings, two seeds.
const sweepTable = `point,routing.type,traffic.load,seed,replications,offered_load,accepted_load,latency_mean_ns,latency_ci95_ns,state
0,min,0.1,1,1,0.1,0.1,10,0.5,steady
1,min,0.1,2,1,0.1,0.1,12,0.5,steady
2,min,0.3,1,1,0.3,0.29,20,1,steady
3,min,0.3,2,1,0.3,0.31,20,1,undecided
4,min,0.2,1,1,0.2,0.18,15,1,steady
5,min,0.2,2,1,0.2,0.22,15,1,steady
6,min,0.4,1,1,0.4,0.35,99,,saturated
7,min,0.4,2,1,0.4,0.4,30,,steady
8,val,0.1,1,1,0.1,0.1,15,0.25,saturated
9,val,0.1,2,1,0.1,0.1,15,0.25,steady
10,ugal,0.1,1,1,0.1,0.1,9,0.25,steady
11,ugal,0.1,2,1,0.1,0.1,11,0.25,steady
`

// TestKnees: the knee is between the highest load at which all seeds are steady and
// the lowest at which one is saturated; an open verdict is neither. Of 0.18 and 0.22
// the interval is t(0.975, 1) * 0.04/sqrt(2)/sqrt(2) = 12.706 * 0.02.
func TestKnees(t *testing.T) {
	table := simtest.Must(ReadTable("t", strings.NewReader(sweepTable)))(t)
	knees := table.Knees()
	simtest.FatalIf(t, len(knees) != 3, "%d knees", len(knees))
	k := knees[0]
	simtest.Alike(t, "min", k.Variant, "routing.type = min", k.Point, 0, k.Seeds, 2, k.Steady, 0.2, k.Not, 0.4, k.Idle, 11, k.IdleLoad, 0.1)
	simtest.ErrorIf(t, math.Abs(k.Accepted-0.2) > 1e-12 || math.Abs(k.AcceptedHalf-12.706*0.02) > 1e-4, "min: %+v", k)
	simtest.Alike(t, "val", knees[1].Steady, math.NaN(), knees[1].Not, 0.1, knees[1].Accepted, math.NaN(), knees[1].Point, 8)
	simtest.Alike(t, "ugal", knees[2].Steady, 0.1, knees[2].Not, math.NaN())
	one := simtest.Must(table.Where(map[string]string{"seed": "1", "routing.type": "min"}))(t)
	// One seed: the interval of the run; 0.3 is steady.
	k = one.Knees()[0]
	simtest.Alike(t, "one seed", k.Variant, "", k.Steady, 0.3, k.IdleHalf, 0.5, k.AcceptedHalf, math.NaN())
	// One load is none; loads that measure.find has found are no sweep; and a table without loads.
	single := simtest.Must(table.Where(map[string]string{"traffic.load": "0.1"}))(t)
	for _, without := range []*Table{single, without(table, "traffic.load"), {Columns: []string{"point", "hops"}}} {
		simtest.Equal(t, len(without.Knees()), 0, "knees of columns %v:", without.Columns)
	}
}

// without is a table without a column.
func without(t *Table, column string) *Table {
	at := slices.Index(t.Columns, column)
	less := &Table{Columns: slices.Delete(slices.Clone(t.Columns), at, at+1)}
	for _, row := range t.Rows {
		less.Rows = append(less.Rows, slices.Delete(slices.Clone(row), at, at+1))
	}
	return less
}

func TestIndexList(t *testing.T) {
	for text, tasks := range map[string][]int{"0": {0}, "0-2": {0, 1, 2}, "3,7-8,10": {3, 7, 8, 10}, "": nil} {
		simtest.Equal(t, IndexList(tasks), text, "%v written", tasks)
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
		simtest.Refuse(ParseSeries(table))(t, want)
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
		s, err := ParseSeries(table)
		if err != nil {
			return
		}
		last := int64(0)
		for _, end := range s.Ends {
			simtest.ErrorIf(t, end <= last, "ends %v", s.Ends)
			last = end
		}
		for _, c := range s.Channels {
			simtest.ErrorIf(t, len(c.Flits) != len(s.Ends), "%d loads", len(c.Flits))
			for _, x := range c.Flits {
				simtest.ErrorIf(t, !(x >= 0) || math.IsInf(x, 0), "load %v", x)
			}
		}
	})
}

// TestHottest: a channel of two virtual channels that carries 30 and 20 % of what it can is hotter
// than one of 40 % between switches; in flits a cycle, as earlier tables have it alone, it is not.
func TestHottest(t *testing.T) {
	const text = "point,from,to,flits_per_cycle,percent,between_switches\n0,a,b,0.4,40,true\n0,x,a,0.15,30,false\n0,x,a,0.1,20,false\n1,b,a,0.3,30,true\n"
	table := simtest.Must(ReadTable("links", strings.NewReader(text)))(t)
	for between, want := range map[bool]ChannelLoad{false: {"x", "a", 0.5, false}, true: {"a", "b", 0.4, true}} {
		point, c, ok := Hottest(table, between)
		simtest.ErrorIf(t, !ok || point != 0 || c != want, "between switches %v, point %d: %+v, %v", between, point, c, ok)
	}
	old := simtest.Must(ReadTable("links", strings.NewReader("point,from,to,flits_per_cycle\n0,a,b,0.4\n0,x,a,0.25\n")))(t)
	_, c, ok := Hottest(old, false)
	simtest.ErrorIf(t, !ok || c != (ChannelLoad{"a", "b", 0.4, false}), "of an earlier table: %+v, %v", c, ok)
	_, _, ok = Hottest(old, true)
	simtest.ErrorIf(t, ok, "an earlier table tells which cables join switches")
}
