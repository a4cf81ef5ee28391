package experiments

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
