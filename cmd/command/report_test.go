package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport: a result folder becomes a page; a folder without results is
// refused.
func TestReport(t *testing.T) {
	inFolder(t, map[string]string{"small.toml": small})
	if status, _, stderr := weft(t, "run", "small.toml", "--quiet"); status != exitSuccess {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if status, _, stderr := weft(t, "report", "results"); status != exitSuccess || stderr != "results/report.html\n" {
		t.Errorf("status %d: %s", status, stderr)
	}
	if status, _, stderr := weft(t, "report", "results/small", "-o", "r.html"); status != exitSuccess || stderr != "r.html\n" {
		t.Errorf("status %d: %s", status, stderr)
	}
	if page, err := os.ReadFile("r.html"); err != nil || !strings.Contains(string(page), "<h1>small</h1>") {
		t.Errorf("page: %v\n%s", err, page)
	}
	if status, _, stderr := weft(t, "report", "."+string(filepath.Separator)+"nothing"); status != exitUsage || !strings.Contains(stderr, "cannot be read") {
		t.Errorf("status %d: %s", status, stderr)
	}
}
