package command

import (
	"os"
	"strings"
	"testing"
)

// TestTopologyPictures: a network is drawn from an experiment file, an imported file
// and a result folder, there by its loads.
func TestTopologyPictures(t *testing.T) {
	inFolder(t, map[string]string{"small.toml": strings.Replace(small, "window = 400", "window = 400\nlinks = true", 1)})
	if status, _, stderr := weft(t, "run", "small.toml", "--out", "o", "--quiet"); status != exitSuccess {
		t.Fatal(stderr)
	}
	picture := func(args ...string) string {
		t.Helper()
		if status, _, stderr := weft(t, append([]string{"topology"}, args...)...); status != exitSuccess {
			t.Fatal(stderr)
		}
		text, err := os.ReadFile(args[len(args)-1])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	plain := picture("small.toml", "-o", "a.svg")
	if !strings.Contains(plain, "16 switches, 16 terminals, 32 cables between switches") || strings.Contains(plain, "flits per cycle") {
		t.Errorf("%.300s", plain)
	}
	if !strings.HasPrefix(picture("small.toml", "-o", "a.png"), "\x89PNG") || !strings.HasPrefix(picture("small.toml", "-o", "a.pdf"), "%PDF") {
		t.Error("not PNG or PDF")
	}
	picture("small.toml", "-o", "net.json")
	if imported := picture("net.json", "-o", "b.svg"); !strings.Contains(imported, "16 switches") {
		t.Errorf("%.300s", imported)
	}
	high, second, first := picture("o", "-o", "o.svg"), picture("o", "--point", "1", "-o", "1.svg"), picture("o", "--point", "0", "-o", "0.svg")
	if !strings.Contains(high, "flits per cycle") || high != second || high == first {
		t.Error("the picture does not show the loads of the point of the highest load, or of the one that is asked for")
	}
	for args, want := range map[string]string{
		"topology o --point 2 -o x.svg":            "result folder o: has no point 2: want 0 to 1",
		"topology small.toml --point 0 -o x.svg":   "weft: --point is for result folders; small.toml is none",
		"topology o --set switch.vcs=4 -o x.svg":   "weft: --set, --seed and --quick change experiment files; o is a result folder",
		"topology nothing -o x.svg":                "nothing",
		"plot o/results.csv --where load -o x.svg": "weft: --where load: want KEY=VALUE",
		"plot o/results.csv -o x.gif":              "weft: -o x.gif: want a name that ends in .svg, .png or .pdf, or .csv for its numbers",
	} {
		if status, _, stderr := weft(t, strings.Fields(args)...); status != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("weft %s: status %d: %s", args, status, stderr)
		}
	}
}
