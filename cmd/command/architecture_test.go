package command

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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

// TestLines: no package has more lines, without tests, than docs/lines.csv allows. A commit that
// raises a number (-update) says why; one that lowers it need not. The column before has
// commit 8bc4b67, from which on the house is made smaller.
func TestLines(t *testing.T) {
	lines := map[string]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		folder, _ := filepath.Rel(root, filepath.Dir(path))
		lines[filepath.ToSlash(folder)] += strings.Count(string(text), "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "docs", "lines.csv")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	allowed, before := map[string]int{}, map[string]string{}
	for _, r := range rows[1:] {
		before[r[0]] = r[1]
		if allowed[r[0]], err = strconv.Atoi(r[2]); err != nil {
			t.Fatal(err)
		}
	}
	if *update {
		var b strings.Builder
		b.WriteString("package,before,at_most\n")
		sum, then := 0, 0
		for _, name := range sortedNames(lines, before) {
			fmt.Fprintf(&b, "%s,%s,%d\n", name, before[name], lines[name])
			sum += lines[name]
			n, _ := strconv.Atoi(before[name])
			then += n
		}
		t.Logf("%d lines, %d before", sum, then)
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for name, n := range lines {
		if most, known := allowed[name]; !known || n > most {
			t.Errorf("package %s has %d lines, and docs/lines.csv allows %d", name, n, most)
		}
	}
}

func sortedNames(lines map[string]int, before map[string]string) (names []string) {
	seen := map[string]bool{}
	for name := range lines {
		seen[name] = true
	}
	for name, n := range before {
		seen[name] = seen[name] || n != ""
	}
	return slices.Sorted(maps.Keys(seen))
}

// TestMakeAgain: what make runs into a folder of its own can be run again.
func TestMakeAgain(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for line := range strings.Lines(string(text)) {
		command, isWeft := strings.CutPrefix(strings.TrimSpace(line), "$(BIN) ")
		if !isWeft || !strings.Contains(command, "--out") {
			continue
		}
		runs++
		if !strings.Contains(command, "--force") && !strings.Contains(command, "--resume") {
			t.Errorf("%s: refused the second time", command)
		}
	}
	if runs < 2 {
		t.Errorf("%d commands", runs)
	}
}

// TestLinkedVersion: what the Makefile and the container tell the linker is a variable
// that there is.
func TestLinkedVersion(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(root, "experiments", "process.go"))
	if err != nil || !strings.Contains(string(source), "\nvar version string\n") {
		t.Fatalf("no variable version in process.go (%v)", err)
	}
	for _, name := range []string{"Makefile", "docs/Containerfile"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || !strings.Contains(string(text), "-X github.com/weft-sim/weft/experiments.version=$") {
			t.Errorf("%s does not tell the linker the version (%v)", name, err)
		}
	}
}

// TestCitation: the file that says how to cite names the newest version of the change
// log, with its date.
func TestCitation(t *testing.T) {
	cite, err := os.ReadFile(filepath.Join(root, "CITATION.cff"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(root, "docs", "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(log), "\n## Unreleased\n")
	_, after, _ = strings.Cut(after, "\n## ")
	heading, _, _ := strings.Cut(after, "\n")
	version, date, ok := strings.Cut(heading, " - ")
	for _, want := range []string{"cff-version: 1.2.0\n", "\nversion: " + version + "\n", "\ndate-released: " + date + "\n", "\nlicense: Apache-2.0\n", "\nauthors:\n"} {
		if !ok || !strings.Contains(string(cite), want) {
			t.Errorf("CITATION.cff has no %q", want)
		}
	}
}
