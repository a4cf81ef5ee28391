// Package enginetest loads and runs experiment files for tests, on any number of threads and from
// snapshots on.
package enginetest

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

// ResultCells returns the cells of results.csv by column, row by row.
func ResultCells(t *testing.T, o *engine.Outcome) []map[string]string {
	t.Helper()
	var rows []map[string]string
	for _, r := range o.Results.Rows {
		row := map[string]string{}
		for i, name := range o.Results.Columns {
			row[name] = r[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// CheckCells compares cells of a row, by column.
func CheckCells(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for column, cell := range want {
		if got[column] != cell {
			t.Errorf("%s: %s = %q, want %q", what, column, got[column], cell)
		}
	}
}

// WorkOf is the number of flit-hops that weft check expects of a file, and that its run counts.
func WorkOf(t *testing.T, f *experiments.File) (expected, counted float64) {
	t.Helper()
	for _, note := range simtest.Must(f.Preflight(true))(t).Notes {
		if at := strings.Index(note.Text, "roughly "); note.Topic == "cost" && at >= 0 {
			simtest.Must(fmt.Sscanf(note.Text[at:], "roughly %g flit-hops", &expected))(t)
		}
	}
	dir := t.TempDir()
	Execute(t, f, engine.Execution{Dir: dir})
	_, row, _ := strings.Cut(Read(t, dir, "performance.csv"), "\n") // of point, events, flit_hops
	return expected, results.Number(strings.Split(row, ",")[2])
}

// GoalFile writes a GOAL schedule and returns its path.
func GoalFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.goal")
	simtest.Check(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// Networks of several tests, with which files begin.
const (
	Dragonfly = "topology = { type = \"dragonfly\", p = 2, a = 4, h = 2 }\n"
	FatTree   = "topology = { type = \"fat-tree\", k = 4, n = 3 }\nrouting = { type = \"nca\" }\n"
	Mesh9     = "topology = { type = \"mesh\", dims = [3, 3] }\nrouting = { type = \"dor\" }\n"
	HalfFly   = "[topology]\ntype = \"dragonfly\"\np = 1\na = 4\nh = 2\n[routing]\ntype = \"ugal-l\"\n"
	Random16  = "topology = { type = \"random-regular\", switches = 16, degree = 4, terminals = 2 }\nrouting = { type = \"table\" }\n"
)

// Load reads the text of a file, with settings laid over it, KEY=VALUE.
func Load(t testing.TB, text string, set ...string) *experiments.File {
	t.Helper()
	return simtest.Must(experiments.Load("x.toml", text, experiments.Options{Set: set}))(t)
}

// Refused takes the text of a file that is refused, with a message that says what is wanted.
func Refused(t *testing.T, text, want string) {
	t.Helper()
	simtest.Refuse(experiments.Load("x.toml", text, experiments.Options{}))(t, want)
}

// Refusals is refused for files that begin alike.
func Refusals(t *testing.T, head string, files map[string]string) {
	t.Helper()
	for text, want := range files {
		Refused(t, head+text, want)
	}
}

// Execute runs a file, of whose points none may fail, and returns the outcome.
func Execute(t *testing.T, f *experiments.File, e engine.Execution) *engine.Outcome {
	t.Helper()
	o := simtest.Must(engine.Execute(t.Context(), f, e))(t)
	if len(o.Failures) > 0 {
		t.Fatalf("point %d failed: %s", o.Failures[0].Point.Index, o.Failures[0].Reason)
	}
	return o
}

// OutcomeOf runs a file by its text.
func OutcomeOf(t *testing.T, text string, set ...string) *engine.Outcome {
	t.Helper()
	return Execute(t, Load(t, text, set...), engine.Execution{})
}

// Read reads a file by the parts of its path.
func Read(t *testing.T, path ...string) string {
	t.Helper()
	b := simtest.Must(os.ReadFile(filepath.Join(path...)))(t)
	return string(b)
}

// Numbers returns a column of a table.
func Numbers(t *testing.T, table *results.Table, name string) []float64 {
	t.Helper()
	return simtest.Must(table.Numbers(name))(t)
}

// Column returns the cells of a column of a table.
func Column(t *testing.T, table *results.Table, name string) (cells []string) {
	t.Helper()
	at := simtest.Must(table.Column(name))(t)
	for _, row := range table.Rows {
		cells = append(cells, row[at])
	}
	return cells
}

// OwnFaults has a cable that is down from the start, and faults that begin after the warm-up.
const OwnFaults = Random16 + `
[switch]
vcs = 9
[fault.always]
links = ["switch 3 port 5"]
[fault.cables]
since = "warmup"
fraction = 0.1
[fault.switch]
since = "warmup"
switches = ["switch 5"]
at = 100
until = 500
[recovery]
unreachable = "count"
reroute = 100
retries = 3
timeout = "300ns"
[measure]
warmup = 600
window = 700
`

// Spread is the mean of three values with Student's half-width of 2 degrees of freedom, 4.302653
// times the standard error.
func Spread(x [3]float64) (mean, half float64) {
	mean = (x[0] + x[1] + x[2]) / 3
	squares := 0.0
	for _, y := range x {
		squares += (y - mean) * (y - mean)
	}
	return mean, 4.302653 * math.Sqrt(squares/2/3)
}
