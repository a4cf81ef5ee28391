package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
