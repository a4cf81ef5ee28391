package experiments

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

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

// A topology file is found beside the experiment file, wherever weft is
// started, and a point is another one when the content of the file changes.
func TestInputsByContent(t *testing.T) {
	network := func(latency string) string {
		return `{"format": "weft-topology", "version": 1, "classes": [{"name": "c", "latency": ` + latency + `}], "switches": [{}],
"terminals": [{"switch": 0, "class": "c"}, {"switch": 0, "class": "c"}], "links": []}`
	}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	write(filepath.Join(dir, "net.json"), network("1"))
	write(filepath.Join(dir, "x.toml"), "kind = \"traffic\"\n[topology]\ntype = \"file\"\npath = \"net.json\"\n[routing]\ntype = \"table\"\n")
	hash := func() string {
		f, err := ReadFile(filepath.Join(dir, "x.toml"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return f.Points[0].Hash
	}
	before := hash()
	if again := hash(); again != before {
		t.Error("the same file is another point")
	}
	write(filepath.Join(dir, "net.json"), network("2"))
	if hash() == before {
		t.Error("the point is the same after its topology file has changed")
	}
}

// The same for a setting with the tag file:"read", of a name with several forms: the
// next hops of ugal-l on a random graph of 4 switches of degree 3, each joined to all.
func TestTaggedInputs(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("x.toml", "kind = \"traffic\"\n[topology]\ntype = \"random-regular\"\nswitches = 4\ndegree = 3\n[routing]\ntype = \"ugal-l\"\nnext_hops = \"next.txt\"\n")
	read := func() (string, error) {
		f, err := ReadFile(filepath.Join(dir, "x.toml"), Options{})
		if err != nil {
			return "", err
		}
		return f.Points[0].Hash, nil
	}
	if _, err := read(); err == nil || !strings.Contains(err.Error(), "routing.next_hops") || !strings.Contains(err.Error(), filepath.Join(dir, "next.txt")) {
		t.Errorf("without the file: %v", err)
	}
	direct := "-1 1 2 3\n0 -1 2 3\n0 1 -1 3\n0 1 2 -1\n"
	write("next.txt", direct)
	before, err := read()
	if err != nil {
		t.Fatal(err)
	}
	write("next.txt", strings.Replace(direct, "-1 1 2 3", "-1 2 2 3", 1))
	if after, err := read(); err != nil || after == before {
		t.Errorf("the point is the same after its file has changed (%v)", err)
	}
	write("next.txt", strings.Replace(direct, "-1 1 2 3", "-1 9 2 3", 1))
	if _, err := read(); err == nil || !strings.Contains(err.Error(), `next.txt:1: column 2: "9", want a switch, 0 to 3, or -1`) {
		t.Errorf("with a switch too many: %v", err)
	}
}
