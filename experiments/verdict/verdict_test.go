package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestTargets: the data are whole, ids are unique, and every row can be judged.
func TestTargets(t *testing.T) {
	targets := Targets()
	simtest.Equal(t, len(targets), len(simtest.Rows(t, "targets.csv"))+len(simtest.Rows(t, "claims.csv")), "targets:")
	seen := map[string]bool{}
	for _, x := range targets {
		simtest.ErrorIf(t, seen[x.ID] || math.IsNaN(x.Value), "%s twice, or without value", x.ID)
		seen[x.ID] = true
		x.Judge(x.Value) // panics on an unknown kind of tolerance
	}
}

// TestVerdicts: selections, means, units and formulas, by hand.
func TestVerdicts(t *testing.T) {
	rows := table(t, `
point,routing.type,traffic.load,seed,replications,offered_load,accepted_load,latency_mean_ns
0,a,0.2,1,1,0.2,0.2,30
1,a,0.4,1,1,0.4,0.39,50
2,b,0.2,1,1,0.2,0.2,20
3,b,0.4,1,1,0.4,0.2,900
`)
	links := map[string]*results.Table{"links": table(t, "point,role,utilisation\n0,x,0.5\n0,y,0.2\n1,x,0.7")}
	const (
		ratio  = "dragonfly-fig8b-wc-ugal-l-over-ugal-g-saturation-ratio"                                                  // at most 0.9
		reduce = "dragonfly-fig16-wc-load-0-2-16-flit-buffers-reduction-by-ugal-l-cr-against-ugal-l-vch-latency-reduction" // 0.35, 50 % relative
		micros = "alltoall-fig6-64-b-no-contention-latency"                                                                // calibrated, us
		use    = "dragonfly-fig9-ugal-l-same-router-channels-over-the-other-non-minimal-ones-at-wc-high-load-utilisation-ratio"
	)
	cell := func(key, value string) map[string]string { return map[string]string{key: value} }
	for _, c := range []struct {
		name          string
		e             Expect
		want          float64
		verdict, note string
	}{
		{"ratio of saturation", Expect{Target: ratio, Metric: "saturation_throughput", Formula: "b / a",
			Of: map[string]map[string]string{"a": cell("routing.type", "a"), "b": cell("routing.type", "b")}},
			0.2 / 0.39, Met, ""},
		{"reduction at a load", Expect{Target: reduce, Metric: "latency_mean_ns", Formula: "1 - b / a", Where: cell("traffic.load", "0.20"),
			Of: map[string]map[string]string{"a": cell("routing.type", "a"), "b": cell("routing.type", "b")}},
			1 - 20.0/30, Met, ""},
		{"unit, mean of rows", Expect{Target: micros, Metric: "latency_mean_ns", Where: cell("routing.type", "a")}, 0.04, Missed, ""}, // of 1.26 +- 15 %
		{"other table", Expect{Target: use, Table: "links", Metric: "utilisation", Formula: "y / x",
			Of: map[string]map[string]string{"x": cell("role", "x"), "y": cell("role", "y")}},
			0.2 / 0.6, Met, ""},
		{"no row", Expect{Target: ratio, Metric: "accepted_load", Where: cell("routing.type", "c"), Note: "said"}, math.NaN(), NotRun,
			"no row has routing.type = c; said"},
		{"no column", Expect{Target: use, Table: "links", Metric: "use"}, math.NaN(), Missed,
			`not measured: no column "use": there are point, role, utilisation`},
		{"no table", Expect{Target: use, Table: "blame", Metric: "use"}, math.NaN(), Missed, `not measured: the run has no table "blame"`},
	} {
		if c.e.Table == "" {
			c.e.Table = figures.ResultsTable
		}
		judged(t, c.name, c.e.Judge(rows, links), c.want, c.verdict, c.note)
	}
}

// fig8bRatio is at most 0.9; fig8bVAL is 0.5 within 15 %, 0.425 to 0.575.
const (
	fig8bRatio = "dragonfly-fig8b-wc-ugal-l-over-ugal-g-saturation-ratio"
	fig8bVAL   = "dragonfly-fig8b-wc-val-saturation-throughput"
)

// judgeOne judges one expectation over a table of results.
func judgeOne(rows *results.Table, e Expect) Verdict {
	if e.Take == "" {
		e.Take = "mean"
	}
	if e.Combine == "" {
		e.Combine = "every"
	}
	e.Table = figures.ResultsTable
	return e.Judge(rows, nil)
}

// judged compares what a verdict says with what is wanted, its value to rounding.
func judged(t *testing.T, name string, v Verdict, want float64, verdict, note string) {
	t.Helper()
	same := math.Abs(v.Measured-want) < 1e-12 || math.IsNaN(v.Measured) && math.IsNaN(want)
	simtest.ErrorIf(t, !same || v.Verdict != verdict || v.Note != note,
		"%s: %v %s %q, want %v %s %q", name, v.Measured, v.Verdict, v.Note, want, verdict, note)
}

// TestVerdictOverSeeds: with several seeds the value is computed for each by
// itself, and their mean and interval are shown. The ratios b/a of the seeds are
// 0.88, 0.90, 0.92: mean 0.90, standard deviation 0.02, and with Student's t of
// 2 degrees of freedom, 4.3027, a half-width of 4.3027*0.02/sqrt(3) = 0.0497. The
// ratio of the means is 0.9008; the bound, 0.9, lies in the interval.
func TestVerdictOverSeeds(t *testing.T) {
	rows := table(t, `
routing.type,seed,offered_load,accepted_load
a,1,1,0.5
b,1,1,0.44
a,2,1,0.4
b,2,1,0.36
a,3,1,0.6
b,3,1,0.552
`)
	e := Expect{Target: fig8bRatio, Metric: "accepted_load", Formula: "b / a",
		Of: map[string]map[string]string{"a": {"routing.type": "a"}, "b": {"routing.type": "b"}}}
	v := judgeOne(rows, e)
	judged(t, "at the bound", v, 0.9, Met, IntervalHasBound)
	simtest.Near(t, v.Half, 0.0497, 1e-4, "half-width")
	e.Formula = "b / a - 0.2" // far from the bound
	v = judgeOne(rows, e)
	judged(t, "far from the bound", v, 0.7, Met, "")
	simtest.Near(t, v.Half, 0.0497, 1e-4, "half-width")
}

// TestVerdictInterval: with one seed the interval comes from the columns. Means of 30 +- 3 and 24
// +- 1 give a ratio of 0.8. Moving them by their half-widths one at a time gives 24/33 = 0.72727
// and 25/30 = 0.83333, so that the half-width is sqrt(0.07273^2 + 0.03333^2) = 0.0800.
func TestVerdictInterval(t *testing.T) {
	rows := table(t, "routing.type,seed,latency_mean_ns,latency_ci95_ns\na,1,30,3\nb,1,24,1")
	v := judgeOne(rows, Expect{Target: fig8bRatio, Metric: "latency_mean_ns", Formula: "b / a",
		Of: map[string]map[string]string{"a": {"routing.type": "a"}, "b": {"routing.type": "b"}}})
	judged(t, "ratio", v, 0.8, Met, "")
	simtest.Near(t, v.Half, 0.0800, 1e-4, "half-width of the ratio")
	// The mean of two rows: (3^2 + 1^2)^(1/2) / 2 = 1.5811.
	v = judgeOne(rows, Expect{Target: fig8bVAL, Metric: "latency_mean_ns"})
	simtest.Near(t, v.Measured, 27, 0, "mean")
	simtest.Near(t, v.Half, 1.5811, 1e-4, "half-width of the mean")
	simtest.Equal(t, Table([]Verdict{{Half: math.Inf(1)}}).Rows[0][7], "", "an infinite interval is written")
}

// TestVerdictEach: every case that a row names is judged, or they are combined.
// fig8bVAL allows 0.425 to 0.575.
func TestVerdictEach(t *testing.T) {
	rows := table(t, `
job.ranks,kind,seed,x
120,a,1,0.5
180,a,1,0.56
240,a,1,0.44
240,b,1,0.3
300,b,1,0.9
`)
	for _, c := range []struct {
		name          string
		e             Expect
		want          float64
		verdict, note string
	}{
		{"farthest shown", Expect{Where: map[string]string{"kind": "a"}}, 0.56, Met, "every of 120: 0.5, 180: 0.56, 240: 0.44"},
		{"one misses", Expect{Where: map[string]string{"job.ranks": "240"}, Each: []string{"kind"}}, 0.3, Missed, "every of a: 0.44, b: 0.3"},
		{"mean", Expect{Where: map[string]string{"kind": "a"}, Combine: "mean"}, 0.5, Met, "mean of 120: 0.5, 180: 0.56, 240: 0.44"},
		{"smallest", Expect{Where: map[string]string{"kind": "a"}, Combine: "smallest"}, 0.44, Met, "smallest of 120: 0.5, 180: 0.56, 240: 0.44"},
		{"several columns, largest", Expect{Where: map[string]string{"job.ranks": "240"}, Each: []string{"kind", "job.ranks"}, Combine: "largest"}, 0.44, Met, "largest of a 240: 0.44, b 240: 0.3"},
		{"a set without a part of the formula", Expect{Formula: "a + 0*b", Of: map[string]map[string]string{"a": {"kind": "a"}, "b": {"kind": "b"}}}, 0.44, Met, ""},
		{"no set has all parts", Expect{Where: map[string]string{"job.ranks": "120"}, Formula: "a + b", Of: map[string]map[string]string{"a": {"kind": "a"}, "b": {"kind": "b"}}},
			math.NaN(), NotRun, "b: no row has job.ranks = 120, kind = b"},
		{"rows counted", Expect{Take: "count", Each: []string{"seed"}, Where: map[string]string{"kind": "b"}}, 2, Missed, ""},
		{"the largest row", Expect{Take: "largest", Each: []string{"seed"}, Where: map[string]string{"kind": "b"}}, 0.9, Missed, ""},
	} {
		c.e.Target, c.e.Metric = fig8bVAL, "x"
		if c.e.Each == nil {
			c.e.Each = []string{"job.ranks"}
		}
		judged(t, c.name, judgeOne(rows, c.e), c.want, c.verdict, c.note)
	}
}

// TestVerdictFarthest: of cases 0.2, 0.6 and 1 the one that is shown is the farthest on the wrong side of a
// bound, not from it; the mean of cases with half-widths of 3, 4 and 12 has one of sqrt(9 + 16 + 144) / 3 = 13/3.
func TestVerdictFarthest(t *testing.T) {
	rows := table(t, "n,seed,x_load,x_ci95\n1,1,0.6,3\n2,1,0.2,4\n3,1,1,12")
	for target, want := range map[string]float64{fig8bRatio: 1, "dragonfly-fig8a-ur-min-saturation-throughput": 0.2, fig8bVAL: 1} {
		v := judgeOne(rows, Expect{Target: target, Metric: "x_load", Each: []string{"n"}})
		simtest.Alike(t, target, v.Measured, want, v.Verdict, Missed)
	}
	v := judgeOne(rows, Expect{Target: fig8bVAL, Metric: "x_load", Each: []string{"n"}, Combine: "mean"})
	simtest.Near(t, v.Measured, 0.6, 1e-12, "the mean is")
	simtest.Near(t, v.Half, 13./3, 1e-12, "the half-width of the mean is")
}

// TestVerdictKinds: fitted rows, counterexamples, baselines.
func TestVerdictKinds(t *testing.T) {
	rows := table(t, `
mode,seed,x,lost
good,1,0.5,0
other,1,0.51,0
bad,1,,49
far,1,0.9,0
some,1,0.5,0
some,2,0.5,49
`)
	where := func(mode string) map[string]string { return map[string]string{"mode": mode} }
	for _, c := range []struct {
		name          string
		e             Expect
		verdict, note string
	}{
		{"fitted", Expect{Where: where("good"), Calibrated: "the price of a connection"}, Calibrated, "fitted to it: the price of a connection"},
		{"fitted in vain", Expect{Where: where("far"), Calibrated: "the price of a connection"}, Missed, "fitted to it: the price of a connection"},
		{"fitted, with a baseline", Expect{Where: where("good"), Calibrated: "the price", Baseline: where("far"), BaselineIs: "for nothing"}, Calibrated, "fitted to it: the price; missed for nothing (0.9)"},
		{"a fitted row that was not run", Expect{Where: where("none"), Calibrated: "the price"}, NotRun, "no row has mode = none"},
		{"refuted", Expect{Where: where("bad"), Counterexample: "lost", Note: "said"}, Refuted, "lost = 49; said"},
		{"refuted by the largest count", Expect{Where: where("some"), Counterexample: "lost", CounterexampleAbove: 40}, Refuted, "lost = 49"},
		{"nothing against it", Expect{Where: where("good"), Counterexample: "lost"}, Met, ""},
		{"as many as are allowed", Expect{Where: where("bad"), Counterexample: "lost", CounterexampleAbove: 49}, Missed, "not measured: x has empty cells where mode = bad"},
		{"missing, nothing against it", Expect{Where: where("bad")}, Missed, "not measured: x has empty cells where mode = bad"},
		{"also met", Expect{Where: where("good"), Baseline: where("other"), BaselineIs: "without connections"}, Met, "also met without connections (0.51)"},
		{"the baseline alone is met", Expect{Where: where("far"), Baseline: where("good"), BaselineIs: "without connections"}, Missed, "met without connections (0.5)"},
		{"the baseline misses", Expect{Where: where("good"), Baseline: where("far"), BaselineIs: "without connections"}, Met, "missed without connections (0.9)"},
	} {
		c.e.Target, c.e.Metric = fig8bVAL, "x"
		v := judgeOne(rows, c.e)
		simtest.Alike(t, c.name, v.Verdict, c.verdict, v.Note, c.note)
	}
	v := judgeOne(rows, Expect{Target: fig8bVAL, Metric: "x", Take: "count", Where: where("none")})
	simtest.Alike(t, "no rows to count", v.Measured, 0, v.Verdict, Missed)
	v = judgeOne(&results.Table{Columns: []string{"mode", "x"}}, Expect{Target: fig8bVAL, Metric: "x", Take: "count"})
	simtest.Equal(t, v.Verdict, NotRun, "an empty table:")
	simtest.ErrorIf(t, AnyMissed([]Verdict{{Verdict: NotRun}, {Verdict: Refuted}, {Verdict: Calibrated}}), "what was not run or is refuted is missed")
	simtest.ErrorIf(t, !AnyMissed([]Verdict{{Verdict: Met}, {Verdict: Missed}}), "a miss is not missed")
}

// TestVerdictSteady: the highest load at which both keep up with every seed is
// 0.4; at 0.6 b is saturated with seed 2, 0.7 only a has. There the ratios b/a are
// 0.8 and 0.7.
func TestVerdictSteady(t *testing.T) {
	rows := table(t, `
kind,traffic.load,seed,latency_mean_ns,state
a,0.2,1,10,steady
b,0.2,1,10,steady
a,0.4,1,20,steady
b,0.4,1,16,steady
a,0.6,1,30,steady
b,0.6,1,30,steady
a,0.2,2,10,steady
b,0.2,2,10,steady
a,0.4,2,20,steady
b,0.4,2,14,steady
a,0.6,2,30,steady
b,0.6,2,90,saturated
a,0.7,1,30,steady
`)
	e := Expect{Target: fig8bRatio, Metric: "latency_mean_ns", Steady: "traffic.load", Formula: "b / a",
		Of: map[string]map[string]string{"a": {"kind": "a"}, "b": {"kind": "b"}}}
	judged(t, "steady", judgeOne(rows, e), 0.75, Met, IntervalHasBound+"; measured at traffic.load = 0.4")
	for _, c := range []struct {
		to, load      string
		want          float64
		verdict, note string
	}{
		{"0.6", "", 0.75, Missed, "no steady value at traffic.load = 0.6; measured at traffic.load = 0.4"},
		{"0.7", "", math.NaN(), NotRun, "no row has traffic.load = 0.7"}, // which only a has
		{"0.2", "", 1, Missed, "measured at traffic.load = 0.2"},         // where the ratio is 1, above 0.9
		{"", "0.6", math.NaN(), Missed, "not measured: the network keeps up at no traffic.load that all have"},
	} {
		if e.SteadyTo = c.to; c.load != "" {
			e.Where = map[string]string{"traffic.load": c.load}
		}
		judged(t, "steady to "+c.to, judgeOne(rows, e), c.want, c.verdict, c.note)
	}
}

// TestVerdictRowOrder: no verdict depends on the order of rows. Of loads 0.2 and 0.4 the second is the
// highest; at points of which one is saturated a time may move, whichever row, part of a formula or seed that is, and a load
// may not; of 0.3 +- 0.01 and 0.56 +- 0.03 the largest is the second, with its interval, which contains
// the bound 0.575; with the smallest, 0.3, there is none.
func TestVerdictRowOrder(t *testing.T) {
	rows := table(t, `
kind,traffic.load,seed,accepted_load,accepted_ci95,latency_mean_ns,state
a,0.2,1,0.3,0.01,0.4,steady
a,0.4,1,0.56,0.03,0.5,steady
b,0.6,1,0.5,0.01,0.52,saturated
b,0.6,2,0.5,0.01,0.48,steady
`)
	of := func(kind string) map[string]string { return map[string]string{"kind": kind} }
	for _, reversed := range []bool{false, true} {
		if reversed {
			slices.Reverse(rows.Rows)
		}
		for _, c := range []struct {
			name          string
			e             Expect
			want          float64
			verdict, note string
		}{
			{"steady", Expect{Metric: "latency_mean_ns", Where: of("a"), Steady: "traffic.load"}, 0.5, Met, "measured at traffic.load = 0.4"},
			{"a time, of two seeds", Expect{Metric: "latency_mean_ns", Where: of("b")}, 0.5, Met, IntervalHasBound + "; " + MayMove},
			{"a time, of two rows", Expect{Metric: "latency_mean_ns", Where: map[string]string{"seed": "1"}, Take: "smallest"}, 0.4, Missed, MayMove},
			{"a time, in a part", Expect{Metric: "latency_mean_ns", Where: map[string]string{"seed": "1"}, Formula: "x + 0 * y",
				Of: map[string]map[string]string{"x": {"traffic.load": "0.6"}, "y": {"traffic.load": "0.2"}}}, 0.52, Met, MayMove},
			{"a time, in the other part", Expect{Metric: "latency_mean_ns", Where: map[string]string{"seed": "1"}, Formula: "0 * x + y",
				Of: map[string]map[string]string{"x": {"traffic.load": "0.2"}, "y": {"traffic.load": "0.6"}}}, 0.52, Met, MayMove},
			{"a load", Expect{Metric: "accepted_load", Where: of("b")}, 0.5, Met, ""},
			{"largest", Expect{Metric: "accepted_load", Where: of("a"), Take: "largest"}, 0.56, Met, IntervalHasBound},
			{"smallest", Expect{Metric: "accepted_load", Where: of("a"), Take: "smallest"}, 0.3, Missed, ""},
		} {
			c.e.Target = fig8bVAL
			judged(t, fmt.Sprintf("%s, reversed %v", c.name, reversed), judgeOne(rows, c.e), c.want, c.verdict, c.note)
		}
		largest := judgeOne(rows, Expect{Target: fig8bVAL, Metric: "accepted_load", Where: of("a"), Each: []string{"traffic.load"}, Combine: "largest"})
		simtest.Alike(t, fmt.Sprint("reversed ", reversed), largest.Measured, 0.56, largest.Half, 0.03)
	}
}

func table(t *testing.T, text string) *results.Table {
	t.Helper()
	return simtest.Must(results.ReadTable("t.csv", strings.NewReader(strings.TrimSpace(text))))(t)
}

// TestJudge: every kind of target at both sides of its tolerance.
func TestJudge(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		target   Target
		measured float64
		want     string
	}{
		{Target{Kind: "predicted", Value: 0.5, Tolerance: 0.15, ToleranceKind: "rel"}, 0.575, Met},
		{Target{Kind: "predicted", Value: 0.5, Tolerance: 0.15, ToleranceKind: "rel"}, 0.576, Missed},
		{Target{Kind: "predicted", Value: 0.5, Tolerance: 0.15, ToleranceKind: "rel"}, 0.425, Met},
		{Target{Kind: "predicted", Value: -0.5, Tolerance: 0.15, ToleranceKind: "rel"}, -0.575, Met},
		{Target{Kind: "predicted", Value: -0.5, Tolerance: 0.15, ToleranceKind: "rel"}, -0.576, Missed},
		{Target{Kind: "exact", Value: 3, Tolerance: 0, ToleranceKind: "abs"}, 3, Met},
		{Target{Kind: "exact", Value: 3, Tolerance: 0, ToleranceKind: "abs"}, 4, Missed},
		{Target{Kind: "bound", Value: 0.9, Tolerance: 0, ToleranceKind: "at_most"}, 0.9, Met},
		{Target{Kind: "bound", Value: 0.9, Tolerance: 0, ToleranceKind: "at_most"}, 0.91, Missed},
		{Target{Kind: "bound", Value: 0.9, Tolerance: 0.1, ToleranceKind: "at_most"}, 0.98, Met},
		{Target{Kind: "bound", Value: 0.84, Tolerance: 0, ToleranceKind: "at_least"}, 0.84, Met},
		{Target{Kind: "bound", Value: 0.84, Tolerance: 0, ToleranceKind: "at_least"}, 0.83, Missed},
		{Target{Kind: "exact", Value: 3, Tolerance: 1, ToleranceKind: "abs"}, nan, Missed},
		{Target{Kind: "calibrated", Value: 3, Tolerance: nan}, 3.44, Calibrated}, // 15 % where none is given
		{Target{Kind: "calibrated", Value: 29, Tolerance: nan}, 290, Missed},
		{Target{Kind: "calibrated", Value: 3, Tolerance: 0.3, ToleranceKind: "rel"}, 3.8, Calibrated},
		{Target{Kind: "reported", Value: 3, Tolerance: nan}, 7, Reported},
	} {
		simtest.Equal(t, c.target.Judge(c.measured), c.want, "%+v, measured %v:", c.target, c.measured)
	}
}

// TestCasesText: twelve cases are listed, of thirteen the smallest and the largest are told.
func TestCasesText(t *testing.T) {
	var cases []measured
	for _, label := range []string{"m", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"} {
		cases = append(cases, measured{value: float64(label[0] - 'a'), label: label})
	}
	want := "mean of m: 12, a: 0, b: 1, c: 2, d: 3, e: 4, f: 5, g: 6, h: 7, i: 8, j: 9, k: 10"
	simtest.Equal(t, casesText("mean", cases), want, "")
	cases = append(cases, measured{value: 11, label: "l"})
	simtest.Equal(t, casesText("mean", cases), "mean of 13, from a: 0 to m: 12", "")
}
