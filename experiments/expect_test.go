package experiments

import (
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestTargets: the data are whole, ids are unique, and every row can be judged.
func TestTargets(t *testing.T) {
	want := 0
	for _, name := range []string{"papers/targets.csv", "papers/claims.csv"} {
		text := simtest.Must(os.ReadFile(name))(t)
		want += strings.Count(string(text), "\n") - 1
	}
	targets := Targets()
	if len(targets) != want {
		t.Errorf("%d targets, want %d", len(targets), want)
	}
	seen := map[string]bool{}
	for _, x := range targets {
		if seen[x.ID] || math.IsNaN(x.Value) {
			t.Errorf("%s twice, or without value", x.ID)
		}
		seen[x.ID] = true
		x.Judge(x.Value) // panics on an unknown kind of tolerance
	}
}

// TestVerdicts: selections, means, units and formulas, by hand.
func TestVerdicts(t *testing.T) {
	results := table(t, `
point,routing.type,traffic.load,seed,replications,offered_load,accepted_load,latency_mean_ns
0,a,0.2,1,1,0.2,0.2,30
1,a,0.4,1,1,0.4,0.39,50
2,b,0.2,1,1,0.2,0.2,20
3,b,0.4,1,1,0.4,0.2,900
`)
	links := map[string]*Table{"links": table(t, "point,role,utilisation\n0,x,0.5\n0,y,0.2\n1,x,0.7")}
	const (
		ratio  = "dragonfly-fig8b-wc-ugal-l-over-ugal-g-saturation-ratio"                                                  // at most 0.9
		reduce = "dragonfly-fig16-wc-load-0-2-16-flit-buffers-reduction-by-ugal-l-cr-against-ugal-l-vch-latency-reduction" // 0.35, 50 % relative
		micros = "alltoall-fig6-64-b-no-contention-latency"                                                                // calibrated, us
		use    = "dragonfly-fig9-ugal-l-same-router-channels-over-the-other-non-minimal-ones-at-wc-high-load-utilisation-ratio"
	)
	cell := func(key, value string) map[string]string { return map[string]string{key: value} }
	for _, c := range []struct {
		name    string
		e       ExpectConfig
		want    float64
		verdict string
		note    string
	}{
		{"ratio of saturation", ExpectConfig{Target: ratio, Metric: "saturation_throughput", Formula: "b / a",
			Of: map[string]map[string]string{"a": cell("routing.type", "a"), "b": cell("routing.type", "b")}},
			0.2 / 0.39, Met, ""},
		{"reduction at a load", ExpectConfig{Target: reduce, Metric: "latency_mean_ns", Formula: "1 - b / a", Where: cell("traffic.load", "0.20"),
			Of: map[string]map[string]string{"a": cell("routing.type", "a"), "b": cell("routing.type", "b")}},
			1 - 20.0/30, Met, ""},
		{"unit, mean of rows", ExpectConfig{Target: micros, Metric: "latency_mean_ns", Where: cell("routing.type", "a")}, 0.04, Missed, ""}, // of 1.26 +- 15 %
		{"other table", ExpectConfig{Target: use, Table: "links", Metric: "utilisation", Formula: "y / x",
			Of: map[string]map[string]string{"x": cell("role", "x"), "y": cell("role", "y")}},
			0.2 / 0.6, Met, ""},
		{"no row", ExpectConfig{Target: ratio, Metric: "accepted_load", Where: cell("routing.type", "c"), Note: "said"}, math.NaN(), NotRun,
			"no row has routing.type = c; said"},
		{"no column", ExpectConfig{Target: use, Table: "links", Metric: "use"}, math.NaN(), Missed,
			`not measured: no column "use": there are point, role, utilisation`},
		{"no table", ExpectConfig{Target: use, Table: "blame", Metric: "use"}, math.NaN(), Missed, `not measured: the run has no table "blame"`},
	} {
		if c.e.Table == "" {
			c.e.Table = figures.ResultsTable
		}
		judged(t, c.name, (&File{Expects: []ExpectConfig{c.e}}).Verdicts(results, links)[0], c.want, c.verdict, c.note)
	}
}

// fig8bRatio is at most 0.9; fig8bVAL is 0.5 within 15 %, 0.425 to 0.575.
const (
	fig8bRatio = "dragonfly-fig8b-wc-ugal-l-over-ugal-g-saturation-ratio"
	fig8bVAL   = "dragonfly-fig8b-wc-val-saturation-throughput"
)

// judgeOne judges one expectation over a table of results.
func judgeOne(results *Table, e ExpectConfig) Verdict {
	if e.Take == "" {
		e.Take = "mean"
	}
	if e.Combine == "" {
		e.Combine = "every"
	}
	e.Table = figures.ResultsTable
	return (&File{Expects: []ExpectConfig{e}}).Verdicts(results, nil)[0]
}

// judged compares what a verdict says with what is wanted, its value to rounding.
func judged(t *testing.T, name string, v Verdict, want float64, verdict, note string) {
	t.Helper()
	same := math.Abs(v.Measured-want) < 1e-12 || math.IsNaN(v.Measured) && math.IsNaN(want)
	if !same || v.Verdict != verdict || v.Note != note {
		t.Errorf("%s: %v %s %q, want %v %s %q", name, v.Measured, v.Verdict, v.Note, want, verdict, note)
	}
}

// TestVerdictOverSeeds: with several seeds the value is computed for each by
// itself, and their mean and interval are shown. The ratios b/a of the seeds are
// 0.88, 0.90, 0.92: mean 0.90, standard deviation 0.02, and with Student's t of
// 2 degrees of freedom, 4.3027, a half-width of 4.3027*0.02/sqrt(3) = 0.0497. The
// ratio of the means is 0.9008; the bound, 0.9, lies in the interval.
func TestVerdictOverSeeds(t *testing.T) {
	results := table(t, `
routing.type,seed,offered_load,accepted_load
a,1,1,0.5
b,1,1,0.44
a,2,1,0.4
b,2,1,0.36
a,3,1,0.6
b,3,1,0.552
`)
	e := ExpectConfig{Target: fig8bRatio, Metric: "accepted_load", Formula: "b / a",
		Of: map[string]map[string]string{"a": {"routing.type": "a"}, "b": {"routing.type": "b"}}}
	v := judgeOne(results, e)
	if math.Abs(v.Measured-0.9) > 1e-12 || math.Abs(v.Half-0.0497) > 1e-4 || v.Verdict != Met || v.Note != IntervalHasBound {
		t.Errorf("%v +- %v %s %q", v.Measured, v.Half, v.Verdict, v.Note)
	}
	e.Formula = "b / a - 0.2" // far from the bound
	if v := judgeOne(results, e); v.Verdict != Met || v.Note != "" || math.Abs(v.Half-0.0497) > 1e-4 {
		t.Errorf("%v +- %v %s %q", v.Measured, v.Half, v.Verdict, v.Note)
	}
}

// TestVerdictInterval: with one seed the interval is that of the columns. Means
// of 30 +- 3 and 24 +- 1 give a ratio of 0.8. Moving them by their half-widths
// one at a time gives 24/33 = 0.72727 and 25/30 = 0.83333, so that the half-width
// is sqrt(0.07273^2 + 0.03333^2) = 0.0800.
func TestVerdictInterval(t *testing.T) {
	results := table(t, "routing.type,seed,latency_mean_ns,latency_ci95_ns\na,1,30,3\nb,1,24,1")
	v := judgeOne(results, ExpectConfig{Target: fig8bRatio, Metric: "latency_mean_ns", Formula: "b / a",
		Of: map[string]map[string]string{"a": {"routing.type": "a"}, "b": {"routing.type": "b"}}})
	if math.Abs(v.Measured-0.8) > 1e-12 || math.Abs(v.Half-0.0800) > 1e-4 || v.Note != "" {
		t.Errorf("%v +- %v %q", v.Measured, v.Half, v.Note)
	}
	// The mean of two rows: (3^2 + 1^2)^(1/2) / 2 = 1.5811.
	if v := judgeOne(results, ExpectConfig{Target: fig8bVAL, Metric: "latency_mean_ns"}); v.Measured != 27 || math.Abs(v.Half-1.5811) > 1e-4 {
		t.Errorf("%v +- %v", v.Measured, v.Half)
	}
	if cell := VerdictTable([]Verdict{{Half: math.Inf(1)}}).Rows[0][7]; cell != "" {
		t.Errorf("an infinite interval is written %q", cell)
	}
}

// TestVerdictEach: every case that a row names is judged, or they are combined.
// fig8bVAL allows 0.425 to 0.575.
func TestVerdictEach(t *testing.T) {
	results := table(t, `
job.ranks,kind,seed,x
120,a,1,0.5
180,a,1,0.56
240,a,1,0.44
240,b,1,0.3
300,b,1,0.9
`)
	for _, c := range []struct {
		name    string
		e       ExpectConfig
		want    float64
		verdict string
		note    string
	}{
		{"farthest shown", ExpectConfig{Where: map[string]string{"kind": "a"}}, 0.56, Met, "every of 120: 0.5, 180: 0.56, 240: 0.44"},
		{"one misses", ExpectConfig{Where: map[string]string{"job.ranks": "240"}, Each: []string{"kind"}}, 0.3, Missed, "every of a: 0.44, b: 0.3"},
		{"mean", ExpectConfig{Where: map[string]string{"kind": "a"}, Combine: "mean"}, 0.5, Met, "mean of 120: 0.5, 180: 0.56, 240: 0.44"},
		{"smallest", ExpectConfig{Where: map[string]string{"kind": "a"}, Combine: "smallest"}, 0.44, Met, "smallest of 120: 0.5, 180: 0.56, 240: 0.44"},
		{"several columns, largest", ExpectConfig{Where: map[string]string{"job.ranks": "240"}, Each: []string{"kind", "job.ranks"}, Combine: "largest"}, 0.44, Met, "largest of a 240: 0.44, b 240: 0.3"},
		{"a set without a part of the formula", ExpectConfig{Formula: "a + 0*b", Of: map[string]map[string]string{"a": {"kind": "a"}, "b": {"kind": "b"}}}, 0.44, Met, ""},
		{"no set has all parts", ExpectConfig{Where: map[string]string{"job.ranks": "120"}, Formula: "a + b", Of: map[string]map[string]string{"a": {"kind": "a"}, "b": {"kind": "b"}}},
			math.NaN(), NotRun, "b: no row has job.ranks = 120, kind = b"},
		{"rows counted", ExpectConfig{Take: "count", Each: []string{"seed"}, Where: map[string]string{"kind": "b"}}, 2, Missed, ""},
		{"the largest row", ExpectConfig{Take: "largest", Each: []string{"seed"}, Where: map[string]string{"kind": "b"}}, 0.9, Missed, ""},
	} {
		c.e.Target, c.e.Metric = fig8bVAL, "x"
		if c.e.Each == nil {
			c.e.Each = []string{"job.ranks"}
		}
		judged(t, c.name, judgeOne(results, c.e), c.want, c.verdict, c.note)
	}
}

// TestVerdictKinds: fitted rows, counterexamples, baselines.
func TestVerdictKinds(t *testing.T) {
	results := table(t, `
mode,seed,x,lost
good,1,0.5,0
other,1,0.51,0
bad,1,,49
far,1,0.9,0
`)
	where := func(mode string) map[string]string { return map[string]string{"mode": mode} }
	for _, c := range []struct {
		name    string
		e       ExpectConfig
		verdict string
		note    string
	}{
		{"fitted", ExpectConfig{Where: where("good"), Calibrated: "the price of a connection"}, Calibrated, "fitted to it: the price of a connection"},
		{"fitted in vain", ExpectConfig{Where: where("far"), Calibrated: "the price of a connection"}, Missed, "fitted to it: the price of a connection"},
		{"fitted, with a baseline", ExpectConfig{Where: where("good"), Calibrated: "the price", Baseline: where("far"), BaselineIs: "for nothing"}, Calibrated, "fitted to it: the price; missed for nothing (0.9)"},
		{"a fitted row that was not run", ExpectConfig{Where: where("none"), Calibrated: "the price"}, NotRun, "no row has mode = none"},
		{"refuted", ExpectConfig{Where: where("bad"), Counterexample: "lost", Note: "said"}, Refuted, "lost = 49; said"},
		{"nothing against it", ExpectConfig{Where: where("good"), Counterexample: "lost"}, Met, ""},
		{"as many as are allowed", ExpectConfig{Where: where("bad"), Counterexample: "lost", CounterexampleAbove: 49}, Missed, "not measured: x has empty cells where mode = bad"},
		{"missing, nothing against it", ExpectConfig{Where: where("bad")}, Missed, "not measured: x has empty cells where mode = bad"},
		{"also met", ExpectConfig{Where: where("good"), Baseline: where("other"), BaselineIs: "without connections"}, Met, "also met without connections (0.51)"},
		{"the baseline misses", ExpectConfig{Where: where("good"), Baseline: where("far"), BaselineIs: "without connections"}, Met, "missed without connections (0.9)"},
	} {
		c.e.Target, c.e.Metric = fig8bVAL, "x"
		if v := judgeOne(results, c.e); v.Verdict != c.verdict || v.Note != c.note {
			t.Errorf("%s: %s %q, want %s %q", c.name, v.Verdict, v.Note, c.verdict, c.note)
		}
	}
	if v := judgeOne(results, ExpectConfig{Target: fig8bVAL, Metric: "x", Take: "count", Where: where("none")}); v.Measured != 0 || v.Verdict != Missed {
		t.Errorf("no rows to count: %v %s", v.Measured, v.Verdict)
	}
	if v := judgeOne(&Table{Columns: []string{"mode", "x"}}, ExpectConfig{Target: fig8bVAL, Metric: "x", Take: "count"}); v.Verdict != NotRun {
		t.Errorf("an empty table: %v %s", v.Measured, v.Verdict)
	}
	if AnyMissed([]Verdict{{Verdict: NotRun}, {Verdict: Refuted}, {Verdict: Calibrated}}) || !AnyMissed([]Verdict{{Verdict: Met}, {Verdict: Missed}}) {
		t.Error("what was not run or was refuted counts as missed, or a miss does not")
	}
}

// TestVerdictSteady: the highest load at which both keep up with every seed is
// 0.4; at 0.6 b is saturated with seed 2, 0.7 only a has. There the ratios b/a are
// 0.8 and 0.7.
func TestVerdictSteady(t *testing.T) {
	results := table(t, `
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
	e := ExpectConfig{Target: fig8bRatio, Metric: "latency_mean_ns", Steady: "traffic.load", Formula: "b / a",
		Of: map[string]map[string]string{"a": {"kind": "a"}, "b": {"kind": "b"}}}
	judged(t, "steady", judgeOne(results, e), 0.75, Met, IntervalHasBound+"; measured at traffic.load = 0.4")
	for _, c := range []struct {
		to, load string
		want     float64
		verdict  string
		note     string
	}{
		{"0.6", "", 0.75, Missed, "no steady value at traffic.load = 0.6; measured at traffic.load = 0.4"},
		{"0.7", "", math.NaN(), NotRun, "no row has traffic.load = 0.7"}, // which only a has
		{"0.2", "", 1, Missed, "measured at traffic.load = 0.2"},         // where the ratio is 1, above 0.9
		{"", "0.6", math.NaN(), Missed, "not measured: the network keeps up at no traffic.load that all have"},
	} {
		if e.SteadyTo = c.to; c.load != "" {
			e.Where = map[string]string{"traffic.load": c.load}
		}
		judged(t, "steady to "+c.to, judgeOne(results, e), c.want, c.verdict, c.note)
	}
}

func table(t *testing.T, text string) *Table {
	t.Helper()
	return simtest.Must(ReadTable("t.csv", strings.NewReader(strings.TrimSpace(text))))(t)
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
		if got := c.target.Judge(c.measured); got != c.want {
			t.Errorf("%+v, measured %v: %s, want %s", c.target, c.measured, got, c.want)
		}
	}
}

// TestCasesText: twelve cases are listed, of thirteen the smallest and the
// largest are told.
func TestCasesText(t *testing.T) {
	var cases []measured
	for _, label := range []string{"m", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"} {
		cases = append(cases, measured{value: float64(label[0] - 'a'), label: label})
	}
	want := "mean of m: 12, a: 0, b: 1, c: 2, d: 3, e: 4, f: 5, g: 6, h: 7, i: 8, j: 9, k: 10"
	if got := casesText("mean", cases); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	cases = append(cases, measured{value: 11, label: "l"})
	if got, want := casesText("mean", cases), "mean of 13, from a: 0 to m: 12"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPaperExperiments: every published number is measured by an experiment that
// comes with weft, and by one only; and in full that experiment has the points
// that the number is about, as far as settings say which (cells of results and
// of further tables are known only once it has run).
func TestPaperExperiments(t *testing.T) {
	bound := map[string]string{}
	for _, name := range Embedded("papers") {
		f := embeddedFile(t, name)
		settings := f.settingsTable()
		for _, e := range f.Expects {
			if first, twice := bound[e.Target]; twice {
				t.Errorf("%s is judged by %s and by %s", e.Target, first, name)
			}
			bound[e.Target] = name
			of := slices.Collect(maps.Values(e.Of))
			if len(of) == 0 {
				of = []map[string]string{nil}
			}
			if len(e.Baseline) > 0 {
				of = append(of, e.Baseline)
			}
			for _, more := range of {
				where := overlaid(e.Where, more)
				maps.DeleteFunc(where, func(column, _ string) bool { return !slices.Contains(settings.Columns, column) })
				if rows, err := settings.Where(where); err != nil || len(rows.Rows) == 0 {
					t.Errorf("%s: %s: no point has %s (%v)", name, e.Target, selectionText(where), err)
				}
			}
		}
	}
	for _, target := range Targets() {
		if bound[target.ID] == "" {
			t.Errorf("%s is bound to no experiment", target.ID)
		}
	}
}

// openedFiles are those that come with weft and several tests look at.
var openedFiles = map[string]*File{}

// embeddedFile opens a file that comes with weft, once for all tests.
func embeddedFile(t *testing.T, name string) *File {
	t.Helper()
	if openedFiles[name] == nil {
		f := simtest.Must(Open(name, Options{}))(t)
		f.shared.forget() // its networks
		openedFiles[name] = f
	}
	return openedFiles[name]
}

// settingsTable has a row for each point and the swept keys for columns.
func (f *File) settingsTable() *Table {
	t := &Table{Columns: f.keys}
	for _, p := range f.Points {
		t.Rows = append(t.Rows, p.Swept)
	}
	return t
}

// TestListTitles: where a title speaks of points or networks, it is listed as it is in the
// file read in full.
func TestListTitles(t *testing.T) {
	shown := 0
	for _, name := range Embedded("") {
		text := simtest.Must(embedded.ReadFile(name))(t)
		listed := EmbeddedTitle(name)
		d, err := document.Parse(name, string(text))
		if title, _ := d.Root["title"].(string); err == nil && !placeholder.MatchString(title) {
			if listed != title {
				t.Errorf("%s is listed as %q, its title is %q", name, listed, title)
			}
			continue
		}
		f := embeddedFile(t, name)
		if shown++; listed != f.Title {
			t.Errorf("%s is listed as %q, its title is %q", name, listed, f.Title)
		}
	}
	if shown == 0 {
		t.Error("no title speaks of points")
	}
}

// TestReproductionTime: every paper has been timed, whole and in its quick variant. 960 + 780 + 1020
// + 36 + 300 s are 51.6 minutes of one processor.
func TestReproductionTime(t *testing.T) {
	papers := map[string]bool{}
	for _, path := range Embedded("papers") {
		papers[paperOf(path)] = true
	}
	for paper := range papers {
		if took := reproductionTimes()[paper]; took[0] <= 0 || took[1] <= 0 {
			t.Errorf("%s took %v s", paper, took)
		}
	}
	if len(reproductionTimes()) != len(papers) {
		t.Errorf("%d times of %d papers", len(reproductionTimes()), len(papers))
	}
	for _, c := range []struct {
		paths []string
		quick bool
		want  string
	}{
		{[]string{"papers/dswitch/theorem1.toml"}, false, "1 of the 6 experiments of dswitch, all of which take roughly 36 s of processor time, 18 s on 2 idle processors (on weft's own machine)"},
		{filesOf("dswitch"), true, "6 experiments: roughly 5 s of processor time, 2 s on 2 idle processors (on weft's own machine)"},
	} {
		if got := ReproductionTime(c.paths, c.quick, 2); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// filesOf lists the files of a paper.
func filesOf(paper string) (paths []string) {
	for _, path := range Embedded("papers") {
		if paperOf(path) == paper {
			paths = append(paths, path)
		}
	}
	return paths
}

// Dragonflies from 72 to 16,512 terminals, unbalanced ones, and one with several
// channels between groups carry what the experiment offers them, in less than
// 2 GiB. The window of 100 cycles is short, for time's sake: of the smallest
// network's 1,080 worst-case packets the standard deviation is 3 %, so that 10 %
// are missing by chance in one run of 2,000; the others have more.
func TestDragonflySizes(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates 16,512 terminals")
	}
	f := simtest.Must(Open("papers/dragonfly/sizes", Options{Quick: true}))(t)
	o := execute(t, f, Execution{})
	offered, accepted, packets := numbers(t, o.Results, "offered_load"), numbers(t, o.Results, "accepted_load"), numbers(t, o.Results, "packets_measured")
	if len(offered) != 10 { // 5 networks, 2 patterns
		t.Fatalf("%d points", len(offered))
	}
	most := 0.0
	for i, load := range offered {
		if accepted[i] < 0.9*load {
			t.Errorf("point %d accepts %v of %v", i, accepted[i], load)
		}
		most = max(most, packets[i])
	}
	if want := 0.9 * 16512 * 0.3 * 100; most < want {
		t.Errorf("the largest network measured %v packets, want at least %v", most, want)
	}
	if peak := peakMemory(); peak >= 2<<30 {
		t.Errorf("%d MiB", peak>>20)
	}
}

// numbers returns a column of a table.
func numbers(t *testing.T, table *Table, name string) []float64 {
	t.Helper()
	return simtest.Must(table.Numbers(name))(t)
}
