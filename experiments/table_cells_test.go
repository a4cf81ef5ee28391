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
