package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInfiniBandPage runs the commands of docs/infiniband.md that name a cluster's
// files, on a fat tree in their place.
func TestInfiniBandPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "infiniband.md"))
	if err != nil {
		t.Fatal(err)
	}
	net := unzipped(t, opensmData(t, "nets", "ft3_8.net.gz"))
	inFolder(t, map[string]string{"cluster.txt": net, "opensm.conf": "routing_engine updn\n"})
	commands := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "weft ") || !strings.Contains(line, "$OPENSM_CONF") {
			continue
		}
		commands++
		args := strings.Fields(strings.ReplaceAll(line, "$OPENSM_CONF", "opensm.conf"))
		status, stdout, stderr := weft(t, args[1:]...)
		if status != exitSuccess {
			t.Errorf("%s: status %d\n%s", line, status, stderr)
		}
		// The report that the page shows is that of this tree.
		if strings.Contains(line, "-o tables") {
			for report := range strings.Lines(stdout) {
				if !strings.Contains(string(page), "    "+report) {
					t.Errorf("the page does not show %q", report)
				}
			}
		}
	}
	if commands != 2 {
		t.Errorf("%d commands, want 2", commands)
	}
	for _, name := range []string{"tables/lft", "tables/sl", "tables/sl2vl", "compared/hottest.svg", "compared/histogram.svg"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}
