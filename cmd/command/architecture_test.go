package command

import (
	"encoding/json"
	"errors"
	"fmt"
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

// TestTree: the picture of the tree in docs/architecture.md has a line for every package,
// with the sentence of its own documentation where the table has none.
func TestTree(t *testing.T) {
	path := filepath.Join(root, "docs", "architecture.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sentences := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && strings.HasPrefix(line, "| `") {
			sentences[strings.Trim(strings.TrimSpace(cells[1]), "`")] = true
		}
	}
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}\t{{.Name}}\t{{.Doc}}", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var picture strings.Builder
	shown := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		parts := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
		name := strings.TrimPrefix(parts[0], module)
		sentence := strings.TrimRight(strings.TrimPrefix(parts[2], "Package "+parts[1]+" "), ".")
		sentence, _, _ = strings.Cut(sentence, ": ")
		sentence, _, _ = strings.Cut(sentence, " (")
		if sentence == "" {
			t.Errorf("package %s has no documentation", name)
		}
		if sentences[name] {
			sentence = ""
		}
		for i := range strings.Split(name, "/") {
			folder := strings.Join(strings.Split(name, "/")[:i+1], "/")
			if shown[folder] {
				continue
			}
			shown[folder] = true
			text := sentence
			if folder != name {
				text = ""
			}
			fmt.Fprintln(&picture, strings.TrimRight(fmt.Sprintf("%-24s %s", strings.Repeat("  ", i)+filepath.Base(folder)+"/", text), " "))
		}
	}
	before, rest, ok := strings.Cut(string(page), "<!-- tree -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end of tree -->")
	if !ok || !ended {
		t.Fatal("docs/architecture.md has no place for the tree")
	}
	golden(t, path, []byte(before+"<!-- tree -->\n```\n"+picture.String()+"```\n<!-- end of tree -->"+after))
}
