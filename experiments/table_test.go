package experiments

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
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

func init() {
	Register(Kind[partsConfig, toyRow]{
		Name: "parts", Doc: "for tests of tables with names", Defaults: func() partsConfig { return partsConfig{} },
		Check: func(c *partsConfig, _ uint64) ([]Warning, error) {
			for _, p := range c.Part {
				if _, err := p.Type.Build(1000); err != nil {
					return nil, err
				}
			}
			return nil, nil
		},
		Run: func(context.Context, *partsConfig, *Run) (toyRow, error) { return toyRow{}, nil },
	})
}

type partsConfig struct {
	Part map[string]toyPart `toml:"part" names:"NAME" doc:"shapes under names of your own"`
}

// toyPart has a default, and a choice of a registry.
type toyPart struct {
	Type  Choice[int, toyShape] `toml:"type" doc:"kind of shape"`
	Count int                   `toml:"count" doc:"how many" min:"1"`
}

func (p *toyPart) Defaults() { *p = toyPart{Choose(toyShapes, "box"), 3} }

// TestChoicesInTablesOfNames: a table of which a file has several has choices and
// defaults as others do, is swept, resolved and documented.
func TestChoicesInTablesOfNames(t *testing.T) {
	text := "kind = \"parts\"\n[part.a]\n[part.b]\ntype = \"ring\"\nk = 5\ncount = 1\n[sweep]\n\"part.a.type\" = [\"box\", \"ring\"]\n"
	f := load(t, text, Options{})
	if len(f.Points) != 2 || f.Points[0].Hash == f.Points[1].Hash {
		t.Fatalf("%d points", len(f.Points))
	}
	// The default of count is 3; b has its own.
	for _, want := range []string{"[part.a]\ncount = 3\n", "[part.b]\ntype = \"ring\"\nk = 5\ncount = 1\n"} {
		if !strings.Contains(f.Resolved(), want) {
			t.Errorf("the resolved file lacks %q:\n%s", want, f.Resolved())
		}
	}
	if again := load(t, f.Resolved(), Options{}); hashOf(again.Points) != hashOf(f.Points) {
		t.Error("the resolved file has other points")
	}
	_, err := Load("x.toml", "kind = \"parts\"\n[part.a]\ntype = \"bx\"\n[part.b]\np = 1\nq = 1\n", Options{})
	want := "x.toml:3:1: part.a.type = \"bx\": unknown shape (did you mean \"box\"?): known are box, ring\n" +
		"x.toml:6:1: part.b.q is not a key of [part.b] (did you mean \"p\"?): allowed are count, p, type"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	for _, table := range kinds["parts"].settings() {
		if table.Header() == "part.NAME" && len(table.Choices) == 1 && table.Choices[0].Default == "box" {
			return
		}
	}
	t.Error("the choice is not documented")
}

// TestChoicesWithoutRegistry: a table of names whose choice nobody has given a registry is told
// to the one who declares it.
func TestChoicesWithoutRegistry(t *testing.T) {
	defer func() {
		if said := fmt.Sprint(recover()); !strings.Contains(said, "setting type of experiments.bare chooses from nothing") {
			t.Error(said)
		}
	}()
	newElement(reflect.TypeFor[bare]())
}

type bare struct {
	Type Choice[int, toyShape] `toml:"type" doc:"kind of shape"`
}

// TestFormats: a folder has its tables in the forms that were asked for, too; the same
// bytes for any number of jobs; and a run without them removes those of the one before.
func TestFormats(t *testing.T) {
	f := load(t, "kind = \"toy\"\n[sweep]\n\"traffic.load\" = [0.1, 0.7]\n", Options{})
	dir := t.TempDir()
	execute(t, f, Execution{Dir: dir, Formats: []string{"csv", "jsonl"}})
	other := t.TempDir()
	execute(t, f, Execution{Dir: other, Formats: []string{"jsonl"}, Jobs: 1})
	for _, name := range []string{"results.csv", "results.jsonl", "links.jsonl"} {
		a, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(filepath.Join(other, name)); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s of two runs differ (%v)", name, err)
		}
		if strings.HasSuffix(name, "s.jsonl") && strings.Count(string(a), "\n") < 2 {
			t.Errorf("%s\n%s", name, a)
		}
	}
	execute(t, f, Execution{Dir: dir, Force: true})
	for _, name := range []string{"results.jsonl", "links.jsonl"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s of the run before is still there", name)
		}
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
