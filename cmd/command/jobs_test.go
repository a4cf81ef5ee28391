package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestJobsNumbers: the slowdowns in docs/jobs.md are what its commands give, and what is put down to the
// checkpoint, to the digits that they show.
func TestJobsNumbers(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "jobs.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	inFolder(t, documentedFiles(page))
	column := func(file string, key map[string]string, name string) (sum float64) {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		table, err := experiments.ReadTable(file, f)
		if err != nil {
			t.Fatal(err)
		}
		if table, err = table.Where(key); err != nil {
			t.Fatal(err)
		}
		for _, row := range table.Rows {
			for i, c := range table.Columns {
				if c == name {
					x, err := strconv.ParseFloat(row[i], 64)
					if err != nil {
						t.Fatal(err)
					}
					sum += x
				}
			}
		}
		return sum
	}
	shown := func(want string) {
		if !strings.Contains(page, want) {
			t.Errorf("docs/jobs.md has not %q", want)
		}
	}
	for _, command := range shellCommands(page) {
		if status, _, stderr := weft(t, command...); status != exitSuccess {
			t.Fatal(stderr)
		}
		if command[0] != "run" {
			continue
		}
		dir := command[3]
		number := func(job string) string {
			x := column(dir+"/jobs.csv", map[string]string{"job": job}, "slowdown")
			if x == 1 {
				return "1"
			}
			return fmt.Sprintf("%.3f", x)
		}
		shown(fmt.Sprintf("| `%s` | %s | %s |", dir, number("solver"), number("transpose")))
	}
	blamed := func(job string) float64 {
		return column("scattered/job_blame.csv", map[string]string{"job": job, "slowed_by": "checkpoint"}, "slowdown")
	}
	shown(fmt.Sprintf("slows the solver by %.2f and the transpose by %.2f", blamed("solver"), blamed("transpose")))
	for _, job := range []string{"checkpoint", "solver", "transpose"} {
		key := map[string]string{"job": job}
		shown(fmt.Sprintf("| %s | %.6f | %.6f | %.3f |", job, column("scattered/jobs.csv", key, "elapsed_s"), column("scattered/jobs.csv", key, "alone_s"), column("scattered/jobs.csv", key, "slowdown")))
	}
}
