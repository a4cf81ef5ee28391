package experiments

import (
	"bytes"
	"encoding/csv"
	"reflect"
	"testing"
)

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
		if got := number(cell); got != want {
			t.Errorf("number(%q) = %v, want %v", cell, got, want)
		}
	}
	if got := number("rc-srq"); got == got {
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
