package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestInfiniBandEngines makes the table of docs/infiniband.md that compares engines on a
// real cluster, with the command and the jobs that the page shows.
func TestInfiniBandEngines(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "infiniband.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```text\n")
	jobs, _, found := strings.Cut(rest, "```")
	inFolder(t, map[string]string{"loginoff.txt": unzipped(t, opensmData(t, "nets", "loginoff.net.gz")), "jobs.txt": jobs})
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "weft routes $LOGINOFF ") {
			if status, _, stderr := weft(t, strings.Fields(strings.ReplaceAll(line, "$LOGINOFF", "loginoff.txt"))[1:]...); status != exitSuccess {
				t.Fatalf("%s: status %d\n%s", line, status, stderr)
			}
		}
	}
	lines := map[string]string{}
	var engines []string
	for _, row := range readRows(t, "engines/engines.csv") {
		engine := row["engine"]
		if row["status"] != "ok" {
			continue
		}
		if lines[engine] == "" {
			engines = append(engines, engine)
			lines[engine] = fmt.Sprintf("| %s | %s |", engine, row["deadlock"])
		}
		load, err := strconv.ParseFloat(row["fullest_cable_load"], 64)
		share, err2 := strconv.ParseFloat(row["throughput_bound"], 64)
		if err != nil || err2 != nil {
			t.Fatal(row)
		}
		lines[engine] += fmt.Sprintf(" %.2f, %.1f %% |", load, 100*share)
	}
	var table strings.Builder
	for _, engine := range engines {
		table.WriteString(lines[engine] + "\n")
	}
	if want := table.String(); !found || len(engines) != 7 || !strings.Contains(string(page), want) {
		t.Errorf("the page does not have the table\n%s", want)
	}
	if rows := readRows(t, "engines/jobs.csv"); len(rows) != 3*7 {
		t.Errorf("%d rows of jobs", len(rows))
	}
}
