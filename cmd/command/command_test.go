package command

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestRegister: a registered subcommand is one of the command's, prints where it prints, and refuses
// arguments as they do; two of one name are a mistake of the program.
func TestRegister(t *testing.T) {
	before := registered
	t.Cleanup(func() { registered = before })
	greet := func(a *App) *cobra.Command {
		return &cobra.Command{Use: "greet", Short: "Greet", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return a.Print("hello\n") }}
	}
	Register(greet)
	for args, want := range map[string]struct {
		status      int
		out, errors string
	}{
		"greet":   {ExitSuccess, "hello\n", ""},
		"greet x": {ExitUsage, "", "weft: weft greet takes no arguments, and got 1; see weft greet --help\n"},
		"gret":    {ExitUsage, "", `weft: unknown command "gret" for "weft" (did you mean "greet"?)`},
	} {
		var out, errors bytes.Buffer
		status := Run(t.Context(), strings.Fields(args), &out, &errors)
		simtest.ErrorIf(t, status != want.status || out.String() != want.out || !strings.HasPrefix(errors.String(), want.errors),
			"weft %s: status %d: %s%s", args, status, &out, &errors)
	}
	Register(greet)
	simtest.Panics(t, func() { Root(&bytes.Buffer{}, &bytes.Buffer{}) }, "command: weft greet is registered twice")
}

var update = flag.Bool("update", false, "rewrite golden files")

// TestGolden: the numbers of one small experiment, to the last digit. A change
// means that results have moved, which docs/CHANGELOG.md has to explain.
func TestGolden(t *testing.T) {
	var out, err bytes.Buffer
	status := Run(t.Context(), []string{"run", "testdata/golden.toml", "--out", "-", "--quiet", "--no-cache"}, &out, &err)
	simtest.FatalIf(t, status != ExitSuccess, "status %d: %s", status, &err)
	path := filepath.Join("testdata", "golden.csv")
	if *update {
		simtest.Check(t, os.WriteFile(path, out.Bytes(), 0o644))
	}
	want := simtest.Must(os.ReadFile(path))(t)
	simtest.ErrorIf(t, !bytes.Equal(out.Bytes(), want), "got\n%s\nwant\n%s", &out, want)
}

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
	simtest.Equal(t, strings.Join(heads, "; "), "missed: a; missed: b; met: a; met: b", "printed\n%s:", out.String())
	if text := out.String(); strings.Contains(text, "no row has this") || !strings.Contains(text, "2.1235 us of 2 us") || !strings.Contains(text, "(simulated, quick)") {
		t.Errorf("printed\n%s", text)
	}
	simtest.Equal(t, countVerdicts(verdicts), "5 targets: 2 met, 2 missed, 1 not-run; of those met 1 simulated, 1 formula", "")
}

// TestProgress: what is said about a sweep of 10 points, 4 of them done in 40 s, one of
// these taken over, while two are under way.
func TestProgress(t *testing.T) {
	now := engine.Progress{
		Points: 10, Done: 4, Reused: 1, Events: 80e6, Elapsed: 40 * time.Second,
		Running: []experiments.PointProgress{
			{Point: 4, Name: "traffic.load = 0.4", Done: 5000, Total: 20_000, Unit: "cycles", Elapsed: 10 * time.Second},
			{Point: 5, Done: 300, Total: 100_000, Unit: "cycles", AtMost: true, Elapsed: time.Second},
			{Point: 6, Done: 7000, Unit: "events", Elapsed: 2 * time.Second},
			{Point: 7},
		},
	}
	// 3.25 points in 40 s, 9 - 3.25 = 5.75 to go: 70.8 s. Point 4: 500 cycles a second,
	// 15,000 to go. Point 5: 300 a second, at most 99,700 to go.
	want := []string{
		"x.toml: 4 of 10 points, 2.0 M events/s, about 1m11s left",
		"point 4: 5000 of 20000 cycles, 500/s, about 30s left",
		"point 5: 300 of at most 100000 cycles, 300/s, at most 5m32s left",
		"point 6: 7000 events, 3500/s", "point 7: begins",
	}
	var plain bytes.Buffer
	p := &progress{w: &plain, name: "x.toml"}
	p.update(now)
	p.update(now) // too soon for another line
	p.finish()
	simtest.Equal(t, strings.TrimSpace(plain.String()), strings.Join(want, "; "), "got\n")
	var terminal bytes.Buffer
	p = &progress{w: &terminal, name: "x.toml"}
	p.newBar(10, "title")
	p.update(now)
	first := terminal.String()
	for _, want := range []string{"2.0 M events/s, about 1m11s left", "4/10", "point 4     [#####...............] 5000 of 20000 cycles, 500/s, about 30s left; traffic.load = 0.4\n", "point 5     [....................] 300 of at most"} {
		simtest.ErrorIf(t, !strings.Contains(first, want), "no %q in\n%q", want, first)
	}
	simtest.Equal(t, strings.Count(first, "\n"), 5, "lines of the bar and one a point\n%q:", first)
	terminal.Reset()
	now.Running = now.Running[:1]
	p.update(now)
	got := terminal.String()
	simtest.ErrorIf(t, !strings.Contains(got, "\r\x1b[5A\x1b[J") || strings.Count(got, "\n") != 2,
		"the second drawing is not in the place of the first: %q", got)
	terminal.Reset()
	p.finish()
	simtest.Equal(t, terminal.String(), "\r\x1b[2A\x1b[J", "at the end")
}
