package command

import (
	"os"
	"path/filepath"
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

// A real cluster with a cable lost, a host moved to a free port, an adapter replaced
// and a cable at another speed: all four are found, and what they do to the routes.
func TestTopologyDiff(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "fabric", "topology", "ib", "testdata", "loginoff-2014-qdr-fdr10.txt"))
	if err != nil {
		t.Fatal(err)
	}
	before := string(text)
	after := before
	edit := func(old, new string) {
		t.Helper()
		if !strings.Contains(after, old) {
			t.Fatalf("no %q in the dump", old)
		}
		after = strings.ReplaceAll(after, old, new)
	}
	lines := func(drop func(line string) bool) {
		var kept []string
		for _, line := range strings.Split(after, "\n") {
			if !drop(line) {
				kept = append(kept, line)
			}
		}
		after = strings.Join(kept, "\n")
	}
	// ib5's port 21 leads to ib8's port 26.
	lines(func(line string) bool {
		return strings.HasPrefix(line, "[21]\t\"S-f4521403007ea570\"[26]") || strings.HasPrefix(line, "[26]\t\"S-f4521403001165a0\"[21]")
	})
	// stage114 goes from port 1 of ib5 to port 17, which is free.
	edit("[1]\t\"H-24be05ffff980030\"[1]", "[17]\t\"H-24be05ffff980030\"[1]")
	edit("[1](24be05ffff980031) \t\"S-f4521403001165a0\"[1]", "[1](24be05ffff980031) \t\"S-f4521403001165a0\"[17]")
	// stage112 has another adapter.
	edit("24be05ffff982d5", "aabbccddee982d5")
	// ib5's port 23, and the other end, at half the speed.
	for _, end := range []string{"[23]\t\"S-f4521403007ea570\"[28]", "[28]\t\"S-f4521403001165a0\"[23]"} {
		from := strings.Index(after, end)
		if from < 0 {
			t.Fatalf("no %q", end)
		}
		after = after[:from] + strings.Replace(after[from:], "4xFDR10", "4xSDR", 1)
	}
	inFolder(t, map[string]string{"before.txt": before, "after.txt": after})
	status, stdout, stderr := weft(t, "topology", "before.txt", "--diff", "after.txt", "--routing", "table")
	// 145 end ports, all of which have a path before and after; ib5 and ib8 still have
	// three cables.
	want := `switches   0 gone, 0 new, 0 changed
cables     1 gone, 0 new, 1 changed
  - MF0;ib5:SX6036/U1 port 21 - MF0;ib8:SX6036/U1 port 26, 4xFDR10
  ~ MF0;ib5:SX6036/U1 port 23 - MF0;ib8:SX6036/U1 port 28, 4xFDR10 is now 4xSDR
hosts      0 gone, 0 new, 2 changed
  ~ stage114 mlx4_0 (0x24be05ffff980031) has moved from MF0;ib5:SX6036/U1 port 1 to MF0;ib5:SX6036/U1 port 17
  ~ stage112 mlx4_0 (0x24be05ffff982d51) is now stage112 mlx4_0 (0xaabbccddee982d51)
pairs      20880 of hosts that both have: 20880 had a path, 20880 have one
`
	if status != exitSuccess || !strings.HasPrefix(stdout, want) || !strings.Contains(stdout, " 0 shorter, 0 longer\nhops       mean ") {
		t.Errorf("status %d\n%s%s\nwant\n%s", status, stdout, stderr, want)
	}
	if status, stdout, _ := weft(t, "topology", "before.txt", "--diff", "before.txt", "--routing", "table"); status != exitSuccess || !strings.Contains(stdout, "paths      20880 the same, 0 by other cables, 0 shorter, 0 longer\n") {
		t.Errorf("status %d\n%s", status, stdout)
	}
}

// With tables, pairs that have lost their path are counted.
func TestTopologyDiffOfTables(t *testing.T) {
	inFolder(t, map[string]string{"mesh.toml": meshOfTwo})
	if status, _, stderr := weft(t, "topology", "mesh.toml", "-o", "mesh.ibnetdiscover", "--lfts", "before.lfts"); status != exitSuccess {
		t.Fatal(stderr)
	}
	text, err := os.ReadFile("before.lfts")
	if err != nil {
		t.Fatal(err)
	}
	// The first switch, in the corner of nine, loses its row for the last host; it is on
	// no other's way there, so one pair has no path left.
	after := strings.Replace(string(text), "0x0009 002 # Channel Adapter portguid 0x0000000000100011: 'H8'\n", "", 1)
	if err := os.WriteFile("after.lfts", []byte(after), 0o644); err != nil || len(after) == len(text) {
		t.Fatal(err, string(text))
	}
	status, stdout, stderr := weft(t, "topology", "mesh.ibnetdiscover", "--diff", "mesh.ibnetdiscover", "--tables", "before.lfts,after.lfts")
	// Dimension order takes shortest paths. Two places in a row of three are 8/9 apart
	// on average, so the 81 pairs with those of a host and itself add up to 81*16/9 =
	// 144 hops: 2 for each of the 72.
	if status != exitSuccess || !strings.Contains(stdout, "72 had a path, 71 have one\npaths      71 the same, 0 by other cables, 0 shorter, 0 longer\nhops       mean 2 before, ") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	for _, c := range []struct{ args, want string }{
		{"topology mesh.toml --diff mesh.toml --tables before.lfts", "want two files"},
		{"topology mesh.toml --diff mesh.toml --tables before.lfts,after.lfts --routing table", "want one of them"},
		{"topology mesh.toml --tables a,b", "--routing and --tables are for --diff"},
		{"topology mesh.ibnetdiscover --diff mesh.ibnetdiscover --routing tabel", "tabel"},
		{"topology mesh.ibnetdiscover --diff mesh.ibnetdiscover --tables none,after.lfts", "none: cannot be read: no such file"},
		{"topology mesh.toml --diff none.toml", "none.toml"},
	} {
		if status, _, stderr := weft(t, strings.Fields(c.args)...); status != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d, %s", c.args, status, stderr)
		}
	}
	if status, stdout, _ := weft(t, "topology", "mesh.toml", "--diff", "mesh.toml"); status != exitSuccess || !strings.Contains(stdout, "paths      72 the same") {
		t.Errorf("status %d\n%s", status, stdout)
	}
}
