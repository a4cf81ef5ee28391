package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExtending takes the topology of docs/extending.md at its word: the file
// given there, and nothing else, makes a topology that passes the conformance
// suite.
func TestExtending(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a package")
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "extending.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(text), "```go\n")
	code, _, found := strings.Cut(code, "```")
	if !found {
		t.Fatal("docs/extending.md holds no Go code")
	}
	dir := t.TempDir()
	example := filepath.Join(dir, "ring.go")
	if err := os.WriteFile(example, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	packageDir, err := filepath.Abs(filepath.Join(root, "fabric", "topology"))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(packageDir, "ring.go"): example}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "test", "-overlay", list, "-run", "/ring", "-v", packageDir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "ring") {
		t.Errorf("the conformance suite did not test the topology:\n%s", out)
	}
}
