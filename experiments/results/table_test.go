package results

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

func table(t *testing.T, text string) *Table {
	t.Helper()
	table, err := ReadTable("t.csv", strings.NewReader(strings.TrimSpace(text)))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestFormulaCells: no spreadsheet computes what a name holds, numbers stay as they
// are, and reading gives back what was written.
func TestFormulaCells(t *testing.T) {
	table := &Table{Columns: []string{"=from", "plain"}, Rows: [][]string{
		{"=cmd|' /C calc'!A0", "-1.5"}, {"@SUM(A1)", "+2e9"}, {"-x", "'=quoted"}, {"+1+1", "''"}, {"'apostrophe", ""}, {"\t=1", "-Inf"}, {"\r=1", "a=b"},
	}}
	var b bytes.Buffer
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	raw, err := csv.NewReader(bytes.NewReader(b.Bytes())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
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
	if err := x.WriteJSONLines(&b); err != nil {
		t.Fatal(err)
	}
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
