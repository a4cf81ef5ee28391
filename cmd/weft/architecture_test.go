package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/weft-sim/weft/"

// readArrows reads what each package may import of the others from the table of
// docs/architecture.md.
func readArrows(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	arrows := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(line, "| `") {
			continue
		}
		name := strings.Trim(strings.TrimSpace(cells[1]), "`")
		arrows[name] = nil
		if imports := strings.TrimSpace(cells[3]); imports != "none" {
			arrows[name] = strings.Split(imports, ", ")
		}
	}
	if len(arrows) < 10 {
		t.Fatalf("%d packages in the table of docs/architecture.md", len(arrows))
	}
	return arrows
}

// TestImportArrows holds the packages to the arrows of docs/architecture.md, and
// the arrows to the packages. Tests may import more.
func TestImportArrows(t *testing.T) {
	arrows := readArrows(t)
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		from := part(arrows, strings.TrimPrefix(p.ImportPath, module))
		allowed, known := arrows[from]
		if !known {
			t.Errorf("package %s is not in the table of docs/architecture.md", p.ImportPath)
			continue
		}
		used[from] = true
		for _, i := range p.Imports {
			to, ours := strings.CutPrefix(i, module)
			if !ours {
				continue
			}
			if to = part(arrows, to); to != from && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s, which it may not by docs/architecture.md", p.ImportPath, i)
			}
			used[from+" to "+to] = true
		}
	}
	for from, allowed := range arrows {
		if !used[from] {
			t.Errorf("docs/architecture.md has package %s, which is not there", from)
		}
		for _, to := range allowed {
			if !used[from+" to "+to] {
				t.Errorf("docs/architecture.md has an arrow from %s to %s, which is not used", from, to)
			}
		}
	}
}

// part is the package of the table that a package belongs to.
func part(arrows map[string][]string, path string) string {
	for ; ; path = path[:strings.LastIndex(path, "/")] {
		if _, known := arrows[path]; known || !strings.Contains(path, "/") {
			return path
		}
	}
}
