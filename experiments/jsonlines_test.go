package experiments

import (
	"bytes"
	"encoding/json"
	"testing"
)

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
