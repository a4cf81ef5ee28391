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

// TestTutorialNumbers: the tables of docs/tutorial.md are what its experiment gives, to
// the digits that they show.
func TestTutorialNumbers(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	inFolder(t, documentedFiles(string(page)))
	for _, c := range []struct {
		args   string
		header string // of the table
		keys   int    // columns that select a row
		rows   int
	}{
		{"--set sweep.traffic.load=[0.1,0.3]", "| `routing.type` | `traffic.load` | `accepted_load` | `latency_mean_ns` | `state` |", 2, 6},
		{"--set routing.type=ugal-l --set sweep.traffic.load=[0.3] --set sweep.switch.buffer_flits=[8,16,32,64]", "| `switch.buffer_flits` | `latency_mean_ns` | `latency_p99_ns` |", 1, 4},
	} {
		status, stdout, stderr := weft(t, append([]string{"run", "neighbours.toml", "--out", "-", "--quiet"}, strings.Fields(c.args)...)...)
		if status != exitSuccess {
			t.Fatal(stderr)
		}
		results, err := experiments.ReadTable("results", strings.NewReader(stdout))
		if err != nil {
			t.Fatal(err)
		}
		_, body, found := strings.Cut(string(page), c.header+"\n|---")
		if !found {
			t.Fatalf("no table %s", c.header)
		}
		columns := strings.Split(strings.ReplaceAll(strings.Trim(c.header, "| "), "`", ""), " | ")
		shown := 0
		for _, line := range strings.Split(body, "\n")[1:] {
			if !strings.HasPrefix(line, "| ") {
				break
			}
			shown++
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			selection := map[string]string{}
			for i := range c.keys {
				selection[columns[i]] = cells[i]
			}
			row, err := results.Where(selection)
			if err != nil || len(row.Rows) != 1 {
				t.Fatalf("%s: %d rows (%v)", line, len(row.Rows), err)
			}
			for i := c.keys; i < len(cells); i++ {
				at, err := row.Column(columns[i])
				if err != nil {
					t.Fatal(err)
				}
				if got := row.Rows[0][at]; !sameDigits(got, cells[i]) {
					t.Errorf("%s: %s is %s", line, columns[i], got)
				}
			}
		}
		if shown != c.rows {
			t.Errorf("%d rows of %s", shown, c.header)
		}
	}
}

// sameDigits tells whether a cell, rounded to the digits that a page shows, is what the
// page shows.
func sameDigits(cell, shown string) bool {
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		return cell == shown
	}
	_, fraction, _ := strings.Cut(shown, ".")
	scale := math.Pow10(len(fraction))
	return fmt.Sprintf("%.*f", len(fraction), math.Floor(x*scale+0.5)/scale) == shown
}
