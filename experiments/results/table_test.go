package results

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-sim/weft/sim"
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
	if !reflect.DeepEqual(raw, want) {
		t.Errorf("written %q\nwant    %q", raw, want)
	}
	back, err := ReadTable("t", &b)
	if err != nil || !reflect.DeepEqual(back, table) {
		t.Errorf("read back %q, %v", back, err)
	}
}

// Swept settings with units can be drawn and selected.
func TestCellsWithUnits(t *testing.T) {
	for cell, want := range map[string]float64{"16B": 16, "4KiB": 4096, "2.5us": 2500, "40Gb/s": 40e9, "0.25": 0.25} {
		if got := Number(cell); got != want {
			t.Errorf("number(%q) = %v, want %v", cell, got, want)
		}
	}
	if got := Number("rc-srq"); got == got {
		t.Errorf("number of text is %v", got)
	}
}

// TestCountStates: a verdict that no row has is left out, and a table without any has none.
func TestCountStates(t *testing.T) {
	states := &Table{Columns: []string{"point", "state"}, Rows: [][]string{{"0", "steady"}, {"1", "saturated"}, {"2", "steady"}}}
	if got := states.CountStates(); got != "2 steady, 1 saturated" {
		t.Errorf("%q", got)
	}
	if got := (&Table{Columns: []string{"point"}, Rows: [][]string{{"0"}}}).CountStates(); got != "" {
		t.Errorf("%q", got)
	}
}

// TestJSONLines: numbers stay numbers to the last digit, what only looks like
// one stays text, and empty cells are null.
func TestJSONLines(t *testing.T) {
	x := &Table{Columns: []string{"point", "a.b", "c"}, Rows: [][]string{
		{"0", "0.1", "true"}, {"1", "", "8x8"}, {"-2", "1e-07", "+Inf"}, {"01", "4KiB", `say "<hi>"`}, {"18446744073709551615", "null", " 1"},
	}}
	var b bytes.Buffer
	simtest.Check(t, x.WriteJSONLines(&b))
	want := `{"point":0,"a.b":0.1,"c":true}
{"point":1,"a.b":null,"c":"8x8"}
{"point":-2,"a.b":1e-07,"c":"+Inf"}
{"point":"01","a.b":"4KiB","c":"say \"\u003chi\u003e\""}
{"point":18446744073709551615,"a.b":"null","c":" 1"}
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	for line := range bytes.Lines(b.Bytes()) {
		if !json.Valid(line) {
			t.Errorf("not JSON: %s", line)
		}
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
		if err != nil || f.Value(of) != want {
			t.Errorf("%s = %v (%v), want %v", text, f, err, want)
		}
	}
	for _, text := range []string{"", "a", "a + c", "a % b", "f(a, b)", "a + \"b\"", "a; b", "a + b.c", "a && b", "!a + b", "a[b]", "func() { a; b }", "min(a)", "min(a, b, 1)", "max(a, b...)", "a.min(a, b)"} {
		if _, err := ParseFormula(text, []string{"a", "b"}); err == nil {
			t.Errorf("%q accepted", text)
		}
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
		got, err := AcceptedAt95(table(t, "offered_load,accepted_load\n"+c.rows))
		if err != nil || got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %v (%v), want %v", c.name, got, err, c.want)
		}
	}
	if _, err := AcceptedAt95(table(t, "offered_load\n1")); err == nil {
		t.Error("no error without accepted_load")
	}
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
	if to, err := os.Readlink(at("link")); err != nil || to != "file" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if text, _ := os.ReadFile(at("file")); string(text) != "three" {
		t.Errorf("the file holds %q", text)
	}

	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	end, err := os.OpenFile(at("pipe"), os.O_RDWR, 0) // does not wait for the other end
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	simtest.Check(t, WriteFile(at("pipe"), []byte("four")))
	if info, err := os.Stat(at("pipe")); err != nil || info.Mode().IsRegular() {
		t.Fatalf("the pipe has become %v, %v", info.Mode(), err)
	}
	text := make([]byte, 10)
	if n, _ := end.Read(text); string(text[:n]) != "four" {
		t.Errorf("the pipe held %q", text[:n])
	}

	for path, want := range map[string]string{
		at("none/file"):              "cannot be written: no such file or directory",
		dir:                          "cannot be written: is a folder",
		at(strings.Repeat("x", 300)): "cannot be written: file name too long",
	} {
		err := WriteFile(path, nil)
		if w := (*WriteError)(nil); !errors.As(err, &w) || err.Error() != path+": "+want {
			t.Errorf("%v, want %s: %s", err, path, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("left %v, %v", entries, err)
	}
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
	if len(knees) != 3 {
		t.Fatalf("%d knees", len(knees))
	}
	k := knees[0]
	if k.Variant != "routing.type = min" || k.Point != 0 || k.Seeds != 2 || k.Steady != 0.2 || k.Not != 0.4 ||
		math.Abs(k.Accepted-0.2) > 1e-12 || math.Abs(k.AcceptedHalf-12.706*0.02) > 1e-4 || k.Idle != 11 || k.IdleLoad != 0.1 {
		t.Errorf("min: %+v", k)
	}
	if k := knees[1]; !math.IsNaN(k.Steady) || k.Not != 0.1 || !math.IsNaN(k.Accepted) || k.Point != 8 {
		t.Errorf("val: %+v", k)
	}
	if k := knees[2]; k.Steady != 0.1 || !math.IsNaN(k.Not) {
		t.Errorf("ugal: %+v", k)
	}
	one := simtest.Must(table.Where(map[string]string{"seed": "1", "routing.type": "min"}))(t)
	// One seed: the interval of the run; 0.3 is steady.
	if k := one.Knees()[0]; k.Variant != "" || k.Steady != 0.3 || k.IdleHalf != 0.5 || !math.IsNaN(k.AcceptedHalf) {
		t.Errorf("one seed: %+v", k)
	}
	single, err := table.Where(map[string]string{"traffic.load": "0.1"})
	if err != nil || single.Knees() != nil {
		t.Errorf("one load: %v", single.Knees())
	}
	// Loads that measure.find has found are no sweep.
	if got := without(table, "traffic.load").Knees(); got != nil {
		t.Errorf("found loads: %+v", got)
	}
	if got := (&Table{Columns: []string{"point", "hops"}}).Knees(); got != nil {
		t.Errorf("a table without loads: %v", got)
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

// csvTable reads CSV written on one line each.
func csvTable(t *testing.T, lines ...string) *Table {
	t.Helper()
	return table(t, strings.Join(lines, "\n"))
}

const compared = "point,load,seed,replications,latency_mean_ns,latency_ci95_ns,state"

// TestCompare: t, degrees of freedom, p and half-width by hand.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name       string
		a, b       []string
		t, df, p   float64
		half       float64
		paired     bool
		conclusion string
	}{
		// Means 2 and 5, variances 1: standard error sqrt(1/3 + 1/3) = 0.81650,
		// t = 3/0.81650, df = 4. P(|t4| > 3.6742) = 1 - I, with
		// sin(theta) = t/sqrt(t^2+4) = 0.87831: s(1 + cos^2/2) = 0.97869.
		// t quantile of 4: 2.77645.
		{
			"other seeds", []string{"0,0.1,1,1,1,,steady", "1,0.1,2,1,2,,steady", "2,0.1,3,1,3,,steady"},
			[]string{"0,0.1,4,1,4,,steady", "1,0.10,5,1,5,,steady", "2,0.1,6,1,6,,steady"}, 3.67423, 4, 0.02131, 2.26696, false, Higher,
		},
		// Differences 1, 1.1, 0.9: mean 1, standard error 0.1/sqrt(3), t =
		// sqrt(300), df 2: p = 1 - t/sqrt(t^2 + 2). Quantile 4.30265.
		{
			"same seeds", []string{"0,0.1,1,1,2,,steady", "1,0.1,2,1,3.1,,steady", "2,0.1,3,1,3.9,,steady"},
			[]string{"0,0.1,1,1,1,,steady", "1,0.1,2,1,2,,steady", "2,0.1,3,1,3,,steady"}, -17.32051, 2, 0.0033167, 0.248414, true, Lower,
		},
		// Half-widths 1 by quantile 2.02269 of 39: standard errors 0.494391
		// and 0.699174 together; df 19+19; quantile 2.02439 of 38.
		{"intervals", []string{"0,0.1,1,1,10,1,steady"}, []string{"0,0.1,1,1,12,1,steady"}, 2.860520, 38, 0.0068379, 1.415404, false, Higher},
		// Two replications: quantile 12.7062 of 1, so standard errors 1 and 1;
		// df 2, t = 3/sqrt(2): p = 1 - 3/sqrt(13). Half-width 4.30265*sqrt(2).
		{"replications", []string{"0,0.1,1,2,10,12.7062047,steady"}, []string{"0,0.1,1,2,13,12.7062047,steady"}, 2.12132, 2, 0.1679497, 6.084869, false, Unclear},
		{"saturated", []string{"0,0.1,1,1,10,1,steady"}, []string{"0,0.1,1,1,99,1,saturated"}, math.NaN(), math.NaN(), math.NaN(), math.NaN(), false, NotSteady},
		{"undecided", []string{"0,0.1,1,1,10,1,undecided"}, []string{"0,0.1,1,1,99,1,steady"}, math.NaN(), math.NaN(), math.NaN(), math.NaN(), false, NotDecided},
		{"no interval", []string{"0,0.1,1,1,10,,steady"}, []string{"0,0.1,1,1,99,1,steady"}, math.NaN(), math.NaN(), math.NaN(), math.NaN(), false, NoInterval},
		{"no spread", []string{"0,0.1,1,1,10,0,steady"}, []string{"0,0.1,1,1,10,0,steady"}, math.NaN(), math.NaN(), math.NaN(), math.NaN(), false, Equal},
		{"no spread, different", []string{"0,0.1,1,1,10,0,steady"}, []string{"0,0.1,1,1,9,0,steady"}, math.Inf(-1), math.NaN(), 0, 0, false, Lower},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := simtest.Must(Compare(csvTable(t, append([]string{compared}, c.a...)...), csvTable(t, append([]string{compared}, c.b...)...), "latency_mean_ns", nil))(t)
			d := r.Differences[0]
			for _, x := range []struct {
				name      string
				got, want float64
			}{{"t", d.T, c.t}, {"df", d.DF, c.df}, {"p", d.P, c.p}, {"half-width", d.HalfWidth, c.half}} {
				if same := x.got == x.want || math.IsNaN(x.got) && math.IsNaN(x.want); !same && !(math.Abs(x.got-x.want) <= 1e-4*math.Abs(x.want)+5e-6) {
					t.Errorf("%s = %v, want %v", x.name, x.got, x.want)
				}
			}
			if d.Paired != c.paired || d.Significance != c.conclusion || len(r.Differences) != 1 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestHolm: p of 0.01, 0.04 and 0.03 become 3*0.01, then 2*0.03, and for 0.04
// not less than that.
func TestHolm(t *testing.T) {
	c := Comparison{Differences: []Difference{{P: 0.01, Delta: 1}, {P: 0.04, Delta: 1}, {P: math.NaN(), Significance: NoInterval}, {P: 0.03, Delta: -1}}}
	c.adjust()
	want := []float64{0.03, 0.06, 0, 0.06}
	for i, d := range c.Differences {
		if math.Abs(d.Holm-want[i]) > 1e-12 {
			t.Errorf("%d: %v, want %v", i, d.Holm, want[i])
		}
	}
	if c.Significant() != 1 || c.Tests() != 3 || c.Differences[0].Significance != Higher || c.Differences[3].Significance != Unclear {
		t.Errorf("%+v", c)
	}
}

// TestFamilyError: among 1000 comparisons of 6 loads with 5 replications each
// and no difference, at most 5 % report one. The standard deviation of that
// share is sqrt(0.05*0.95/1000) = 0.7 %; the bounds are three of them, below
// for a test that never rejects anything. With a difference of three standard
// deviations at one load, t is about 3/sqrt(2/5) = 4.7 with 8 degrees of
// freedom, beyond Holm's first limit (3.5) in most.
func TestFamilyError(t *testing.T) {
	r := sim.NewStream(1, "family", 0)
	normal := func() float64 { // of 12 uniform numbers: variance 1
		x := -6.0
		for range 12 {
			x += r.Float64()
		}
		return x
	}
	rejected := func(shift float64) int {
		n := 0
		for range 1000 {
			tables := [2]*Table{}
			for side := range tables {
				x := &Table{Columns: strings.Split(compared, ",")}
				for load := range 6 {
					for seed := range 5 {
						value := normal()
						if side == 1 && load == 0 {
							value += shift
						}
						x.Rows = append(x.Rows, []string{"0", fmt.Sprint(load), fmt.Sprint(5*side + seed), "1", FormatCell(value), "", "false"})
					}
				}
				tables[side] = x
			}
			c := simtest.Must(Compare(tables[0], tables[1], "latency_mean_ns", nil))(t)
			if c.Significant() > 0 {
				n++
			}
		}
		return n
	}
	if n := rejected(0); n > 50+21 || n < 50-21 {
		t.Errorf("%d of 1000 comparisons report a difference that is not there", n)
	}
	if n := rejected(3); n < 700 {
		t.Errorf("only %d of 1000 comparisons find the difference", n)
	}
}

// TestMatching: rows match by the keys that both tables sweep, and what has no
// partner is counted; rows that would be mixed up are refused.
func TestMatching(t *testing.T) {
	a := csvTable(t, "point,load,vcs,seed,replications,x_mean_ns,x_ci95_ns", "0,0.1,2,1,1,10,1", "1,0.2,2,1,1,10,1", "2,0.4,2,1,1,10,1")
	b := csvTable(t, "point,load,mode,seed,replications,x_mean_ns,x_ci95_ns", "0,0.20,m,1,1,20,1", "1,0.3,m,1,1,20,1", "2,0.1,m,1,1,10,1")
	c := simtest.Must(Compare(a, b, "x_mean_ns", nil))(t)
	if c.OnlyA != 1 || c.OnlyB != 1 || strings.Join(c.Keys, " ") != "load" {
		t.Errorf("%+v", c)
	}
	rows := c.Table().Rows
	if len(rows) != 2 || strings.Join(rows[1][:4], " ") != "0.2 10 20 10" || rows[1][len(rows[1])-1] != Higher || rows[0][len(rows[0])-1] != Unclear {
		t.Errorf("%v", rows)
	}
	values, parts, err := a.Split("load")
	if err != nil || strings.Join(values, " ") != "0.1 0.2 0.4" || len(parts[1].Rows) != 1 || strings.Join(sweptColumns(parts[1]), " ") != "vcs" {
		t.Errorf("split: %v %v %v", values, parts, err)
	}
	for _, x := range []struct {
		a, b   *Table
		metric string
		by     []string
		want   string
	}{
		{a, b, "y", nil, `first table: no column "y"`},
		{a, b, "x_mean_ns", []string{"vcs"}, "first table: rows with the same vcs differ in load"},
		{a, b, "x_mean_ns", []string{"load", "vcs"}, `second table: no column "vcs"`},
		{a, csvTable(t, "point,load,replications,x_mean_ns", "0,7,1,1"), "x_mean_ns", nil, "no row of one table matches"},
	} {
		simtest.Refuse(Compare(x.a, x.b, x.metric, x.by))(t, x.want)
	}
}

func TestIndexList(t *testing.T) {
	for text, tasks := range map[string][]int{"0": {0}, "0-2": {0, 1, 2}, "3,7-8,10": {3, 7, 8, 10}, "": nil} {
		if got := IndexList(tasks); got != text {
			t.Errorf("%v written %q, want %q", tasks, got, text)
		}
	}
}
