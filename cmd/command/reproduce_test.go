package command

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestPrintedVerdicts: misses first, by paper, no line longer than the terminal; what was not run
// is counted and not listed; what the rows met rest on is counted.
func TestPrintedVerdicts(t *testing.T) {
	row := func(paper, is, rests, note string) verdict.Verdict {
		return verdict.Verdict{Target: verdict.Target{Paper: paper, Artifact: "fig1", Case: "a case of some length that is cut at words", Metric: "latency_mean", Value: 2, Unit: "us"},
			Measured: 2.123456789, Half: math.NaN(), Verdict: is, RestsOn: rests, Note: note}
	}
	verdicts := []verdict.Verdict{
		row("b", verdict.Met, verdict.Simulated, ""),
		row("b", verdict.Missed, verdict.Simulated, strings.Repeat("long remark ", 20)),
		row("a", verdict.Met, verdict.Formula, ""),
		row("a", verdict.NotRun, verdict.Simulated, "no row has this"),
		row("a", verdict.Missed, verdict.Simulated, ""),
	}
	verdicts[0].Quick = true
	var out strings.Builder
	simtest.Check(t, printVerdicts(&out, verdicts, 50))
	var heads []string
	for _, line := range strings.Split(out.String(), "\n") {
		simtest.ErrorIf(t, len(line) > 50, "%d columns: %q", len(line), line)
		if line != "" && !strings.HasPrefix(line, " ") {
			heads = append(heads, line)
		}
	}
	if got := strings.Join(heads, "; "); got != "missed: a; missed: b; met: a; met: b" {
		t.Errorf("printed %s:\n%s", got, out.String())
	}
	if text := out.String(); strings.Contains(text, "no row has this") || !strings.Contains(text, "2.1235 us of 2 us") || !strings.Contains(text, "(simulated, quick)") {
		t.Errorf("printed\n%s", text)
	}
	simtest.Equal(t, countVerdicts(verdicts), "5 targets: 2 met, 2 missed, 1 not-run; of those met 1 simulated, 1 formula", "")
}
