package command

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestJobsNumbers: the slowdowns and latencies in docs/jobs.md are what its commands give, and what is put
// down to the checkpoint, to the digits that they show.
func TestJobsNumbers(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "jobs.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	docs, err := filepath.Abs(filepath.Join(root, "docs"))
	if err != nil {
		t.Fatal(err)
	}
	inFolder(t, withCluster(t, documentedFiles(page)))
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
	number := func(dir, job, name string) float64 {
		return column(dir+"/jobs.csv", map[string]string{"job": job}, name)
	}
	for _, command := range shellCommands(page) {
		if status, _, stderr := weft(t, command...); status != exitSuccess {
			t.Fatal(stderr)
		}
		if command[0] != "run" {
			continue
		}
		dir := command[3]
		beside, alone := number(dir, "solver", "message_p99_s"), number(dir, "solver", "message_p99_alone_s")
		shown(fmt.Sprintf("| `%s` | %.3f | %.1f | %.1f |", dir, number(dir, "solver", "slowdown"), beside*1e6, alone*1e6))
		if isolated := math.Abs(beside/alone-1) <= 0.05; isolated != (dir != "scattered") {
			t.Errorf("%s: 99 %% of the solver's messages take up to %v s, alone %v: want them within 5 %% by a lane and by placement", dir, beside, alone)
		}
	}
	blamed := func(job string) float64 {
		return column("scattered/job_blame.csv", map[string]string{"job": job, "slowed_by": "checkpoint"}, "slowdown")
	}
	shown(fmt.Sprintf("slows the solver by %.2f and the transpose by %.2f", blamed("solver"), blamed("transpose")))
	picture, err := os.ReadFile("scattered/who.svg")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join(docs, "jobs.svg"), picture)
	cable := map[string]string{"job": "solver", "slowed_by": "checkpoint", "from": "MF0;ib2:SX6036/U1 port 35", "to": "MF0;ib7:SX6036/U1 port 7"}
	shown(fmt.Sprintf("%.0f %% lie at\none cable, `%s` to `%s`", 100*column("scattered/job_blame.csv", cable, "share"), cable["from"], cable["to"]))
}
