package command

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// faulty has names of faults that need quotes.
const faulty = `
[topology]
type = "torus"
dims = [4, 4]
[routing]
type = "table"
[switch]
vcs = 6
[fault."rack 1"]
fraction = 0.05
[fault."a.b"]
fraction = 0.1
[fault.'say "x" = 1']
fraction = 0.0
[recovery]
unreachable = "count"
[measure]
warmup = 100
window = 200
[sweep]
'fault."a.b".fraction' = [0.0, 0.1]
"fault.rack 1.at" = [0, 150]
`

// TestResultFolderStandsAlone: report works on a result folder, and its resolved
// file gives the same results again, also from elsewhere and again from its own
// resolved file; where names need quotes, and where the inputs have relative paths,
// swept ones among them, compressed or not.
func TestResultFolderStandsAlone(t *testing.T) {
	inFolder(t, map[string]string{"quoted.toml": faulty, "x.toml": small})
	if err := os.MkdirAll("in/put", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"topology x.toml -o in/put/net.json", "topology x.toml --format ibnetdiscover -o in/put/net.txt"} {
		if status, _, stderr := weft(t, strings.Fields(args)...); status != exitSuccess {
			t.Fatal(stderr)
		}
	}
	plain, err := os.ReadFile("in/put/net.json")
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.Create("in/put/packed")
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(packed)
	if _, err := z.Write(plain); err != nil || z.Close() != nil || packed.Close() != nil {
		t.Fatal(err)
	}
	standard, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("in/put/net.gz", standard.EncodeAll(plain, nil), 0o666); err != nil {
		t.Fatal(err)
	}
	relative := strings.NewReplacer("type = \"torus\"\ndims = [4, 4]", "type = \"file\"\npath = \"put/net.json\"", `"dor"`, `"table"`, "[sweep]", "[switch]\nvcs = 6\n[sweep]\n\"topology.path\" = [\"put/net.json\", \"put/packed\", \"put/net.gz\"]").Replace(small)
	if err := os.WriteFile("in/relative.toml", []byte(relative), 0o666); err != nil {
		t.Fatal(err)
	}
	results := func(dir string) string {
		text, err := os.ReadFile(filepath.Join(dir, "results.csv"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, file := range []string{"quoted.toml", "in/relative.toml"} {
		first, name := "", strings.TrimSuffix(filepath.Base(file), ".toml")
		for _, dir := range []string{"r", "deep/er/r", "again"} {
			dir = filepath.Join(name, dir)
			if status, _, stderr := weft(t, "run", file, "--quiet", "--out", dir); status != exitSuccess {
				t.Fatalf("%s: %s", file, stderr)
			}
			if status, _, stderr := weft(t, "report", dir); status != exitSuccess {
				t.Errorf("%s: %s", file, stderr)
			}
			if first == "" {
				first = results(dir)
			} else if results(dir) != first {
				t.Errorf("%s gives\n%s\nwant\n%s", file, results(dir), first)
			}
			file = filepath.Join(dir, "resolved.toml")
		}
	}
	// Four points of names in quotes, under columns that name them.
	if header, _, _ := strings.Cut(results("quoted/r"), "\n"); !strings.HasPrefix(header, `point,"fault.""a.b"".fraction","fault.""rack 1"".at",`) {
		t.Errorf("columns %s", header)
	}
}

// TestManifestComesLast: a folder with a manifest has its figures.
func TestManifestComesLast(t *testing.T) {
	inFolder(t, map[string]string{"x.toml": small})
	if status, _, stderr := weft(t, "run", "x.toml", "--quiet", "--out", "r"); status != exitSuccess {
		t.Fatal(stderr)
	}
	manifest, err := os.Stat("r/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	figures, err := filepath.Glob("r/latency.*")
	if err != nil || len(figures) != 3 {
		t.Fatal(figures, err)
	}
	for _, name := range figures {
		if figure, err := os.Stat(name); err != nil || figure.ModTime().After(manifest.ModTime()) {
			t.Errorf("%s was written after the manifest", name)
		}
	}
}
