package experiments

import (
	"os"
	"path/filepath"
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
