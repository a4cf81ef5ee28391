package intervals

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/judge"
	_ "github.com/weft-sim/weft/experiments/kinds"
	"github.com/weft-sim/weft/sim/simtest"
)

// queue is an output queue of four inputs at half load, whose mean is 4 + 3/8.
const queue = `kind = "traffic"
topology = { type = "single-switch", terminals = 4 }
routing = { type = "table" }
traffic = { self = true }
switch = { vcs = 1, buffer_flits = 64, speedup = 4, switch_alloc_cycles = 1, crossbar_cycles = 0, credits_per_cycle = 0, iterations = 4 }
[sweep]
"traffic.load" = [0.5]
`

// verdicts judges a folder with the queue and a table of truths, and returns the rows by metric.
func verdicts(t *testing.T, truths string) (map[string]judge.Row, judge.Outcome, string) {
	t.Helper()
	dir := t.TempDir()
	simtest.Check(t, os.WriteFile(filepath.Join(dir, "queue.toml"), []byte(queue), 0o600))
	if truths != "" {
		simtest.Check(t, os.WriteFile(filepath.Join(dir, "truths.csv"), []byte(truths), 0o600))
	}
	r := simtest.Must(Open(dir))(t)
	var out bytes.Buffer
	s := &judge.Session{Context: t.Context(), Stdout: &out, Stderr: &out, Out: t.TempDir(), Quick: true,
		Execute: func(f *experiments.File, dir string, _ bool) (*engine.Outcome, error) {
			return engine.Execute(t.Context(), f, engine.Execution{Dir: dir, Jobs: 2})
		}}
	outcome := simtest.Must(s.Judge(r))(t)
	table := simtest.Must(os.ReadFile(filepath.Join(s.Out, "intervals", "verdicts.csv")))(t)
	rows := map[string]judge.Row{}
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
		cells := strings.Split(line, ",")
		rows[cells[2]] = judge.Row{Cells: cells, Verdict: cells[len(Columns)]}
	}
	return rows, outcome, out.String()
}

// TestPanel: the intervals of 40 runs hold the closed form, what is offered is accepted, no verdict
// is wrong, and equal networks are called equal. The mean of the same queue at load 0.8, 5.5, is held
// by none.
func TestPanel(t *testing.T) {
	const header = "file,variant,metric,truth\nqueue,traffic.load = 0.5,latency_mean_ns,"
	rows, outcome, text := verdicts(t, header+"4.375\n")
	for _, metric := range []string{"state", "latency_mean_ns", "pairs", "accepted_load"} {
		r := rows[metric]
		simtest.ErrorIf(t, r.Verdict != judge.Agrees, "%s: %v", metric, r)
	}
	truth := rows["accepted_load"].Cells
	simtest.ErrorIf(t, outcome.Failed || len(truth) < 6 || truth[3] != "0.5" || truth[5] != "40", "%+v %v", outcome, truth)
	simtest.Says(t, text, "40 of 40 (100.0 %) verdicts are not wrong")
	rows, outcome, _ = verdicts(t, header+"5.5\n")
	r := rows["latency_mean_ns"]
	simtest.ErrorIf(t, r.Verdict != judge.Differs || r.Cells[6] != "0" || !outcome.Failed, "another mean: %v, %+v", r, outcome)
}

// TestTruths: what cannot be read of the table is said with its line, and the panel of weft can be
// read whole.
func TestTruths(t *testing.T) {
	_, outcome, text := verdicts(t, "file,variant,metric,truth\nqueue,traffic.load = 0.5,latency_mean_ns,4.375\nqueue,x,y,many\n")
	simtest.ErrorIf(t, !outcome.Unreadable || !strings.Contains(text, `truths.csv:3: truth = "many": want a number`), "%+v\n%s", outcome, text)
	r := simtest.Must(Open(""))(t)
	var names []string
	for _, e := range r.Sections[0].Entries {
		names = append(names, e.Name)
	}
	want := []string{"closed-loop", "dragonfly", "dragonfly-knee", "fat-tree", "hyperx", "long-cables", "long-ring", "queue", "saturated", "torus", "worst-case"}
	slices.Sort(names)
	simtest.ErrorIf(t, !slices.Equal(names, want) || len(r.Faults) > 0, "set-ups %v, %v", names, r.Faults)
}

// TestLikely: of 200 intervals 10 miss in the mean, with a standard deviation of 3.08: 22 or more do
// 0.5 times in 1,000, 21 or more 1.2 times. None is always likely.
func TestLikely(t *testing.T) {
	for missed, want := range map[int]bool{0: true, 10: true, 21: true, 22: false, 40: false} {
		simtest.Equal(t, likely(missed, 200), want, "%d of 200 miss:", missed)
	}
}
