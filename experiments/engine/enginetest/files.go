// Package enginetest loads and runs experiment files for tests, on any number of threads and from
// snapshots on.
package enginetest

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
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
		simtest.ErrorIf(t, got[column] != cell, "%s: %s = %q, want %q", what, column, got[column], cell)
	}
}

// Expected is the number of flit-hops that weft check expects of a file.
func Expected(t *testing.T, f *experiments.File) (hops float64) {
	t.Helper()
	for _, note := range simtest.Must(f.Preflight(true))(t).Notes {
		if at := strings.Index(note.Text, "roughly "); note.Topic == "cost" && at >= 0 {
			simtest.Must(fmt.Sscanf(note.Text[at:], "roughly %g flit-hops", &hops))(t)
		}
	}
	return hops
}

// WorkOf is the number of flit-hops that weft check expects of a file, and that its run counts.
func WorkOf(t *testing.T, f *experiments.File) (expected, counted float64) {
	t.Helper()
	expected = Expected(t, f)
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

// Idle is what warnings say of settings that change nothing, each behind its key.
func Idle(warnings []experiments.Warning) string {
	var said []string
	for _, w := range warnings {
		if w.Idle {
			said = append(said, w.Key+" "+w.Message)
		}
	}
	return strings.Join(said, "; ")
}

// Single is the value of a column of results that have one row.
func Single(t *testing.T, o *engine.Outcome, column string) float64 {
	t.Helper()
	x := Numbers(t, o.Results, column)
	simtest.FatalIf(t, len(x) != 1, "%s: %v", column, x)
	return x[0]
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

// keepsSlice keeps the state in front of a slice of a run, the first of which is 0, in
// kept, and counts slices.
func keepsSlice(at int, kept *[]byte, slices *int) func(bool, func(*snapshot.Archive) error) error {
	return func(_ bool, state func(*snapshot.Archive) error) error {
		if *slices++; *slices != at+1 {
			return nil
		}
		b, err := snapshottest.Encode(state)
		*kept = bytes.Clone(b)
		return err
	}
}

// CheckGoesOn checks that a simulation, of which through tells what has come when it was run on threads,
// comes to the same from states of some moments on, which are written again as they were.
func CheckGoesOn(t *testing.T, name string, trial int, through func(threads int, plan measure.ToEnd) string) {
	t.Helper()
	slices := 0
	want := through(1, measure.ToEnd{Snapshot: keepsSlice(-1, nil, &slices)})
	random := sim.NewStream(1, "moments", trial)
	for i, at := range append(simtest.Some(t, trial, 0, slices-1-random.IntN(3)), random.IntN(slices)) {
		var kept, again []byte
		seen, threads := 0, simtest.Some(t, trial+i, 1, 2, 3)[0]
		if got := through(1+random.IntN(3), measure.ToEnd{Snapshot: keepsSlice(at, &kept, &seen)}); got != want {
			t.Errorf("%s: a state behind slice %d changes the run", name, at)
		}
		seen = 0
		got := through(threads, measure.ToEnd{From: snapshot.Reader(kept), Snapshot: keepsSlice(0, &again, &seen)})
		simtest.ErrorIf(t, !bytes.Equal(again, kept),
			"%s: the state behind slice %d, read by %d threads, is written in another form", name, at, threads)
		simtest.ErrorIf(t, got != want,
			"%s: from slice %d of %d on, %d threads come to\n%.300s\nwant\n%.300s", name, at, slices, threads, got, want)
	}
}

// DivideAlways lets points on networks of any size run on threads.
func DivideAlways(t *testing.T) {
	busy, open := network.WorthBusy, network.WorthOpen
	network.WorthBusy, network.WorthOpen = 0, 1
	t.Cleanup(func() { network.WorthBusy, network.WorthOpen = busy, open })
}

// SameOnThreads runs a file on several numbers of threads: the rows of its results and of
// the tables named, which may not be empty, must not differ. If divided is set, no point may keep
// to one thread. It returns the last outcome.
func SameOnThreads(t *testing.T, what string, f *experiments.File, threads []int, divided bool, tables ...string) (o *engine.Outcome) {
	t.Helper()
	var first string
	for _, n := range threads {
		o = Execute(t, f, engine.Execution{Jobs: 1, Threads: n})
		all := []any{o.Results.Rows}
		for _, name := range tables {
			simtest.FatalIf(t, o.Tables[name] == nil || len(o.Tables[name].Rows) == 0,
				"%s, %d threads: no rows of table %s", what, n, name)
			all = append(all, o.Tables[name].Rows)
		}
		if got := fmt.Sprint(all...); first == "" {
			first = got
		} else if got != first {
			t.Errorf("%s, %d threads:\n%.2000s\none:\n%.2000s", what, n, got, first)
		}
		simtest.ErrorIf(t, divided && len(o.OnOneThread) > 0, "%s, %d threads: %v", what, n, o.OnOneThread)
	}
	return o
}
