// Package intervals holds what weft says of a run against what is true: how often the 95 % intervals
// of runs that find their windows hold the mean, of closed forms or of long runs, and how often
// their verdicts are wrong.
package intervals

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/stats"
)

//go:embed panel
var embedded embed.FS

func init() {
	judge.Register(judge.Source{
		Name: "intervals", Example: "weft reproduce intervals/queue --quick", Open: Open,
		Help: `intervals, or intervals/SETUP, counts how often the intervals of 200 runs hold the mean, for
the experiments that come with weft or, with --data, those of a folder: SETUP.toml, of kind
traffic, whose windows are found. truths.csv (file, variant, metric, truth) has the means that
are known; the others are measured in long runs.`,
	})
}

// Columns of the table of verdicts; the verdict and a note follow. Truth and its standard error are
// in ns, or in flits per terminal and cycle; bias and its error in shares of the half-width.
var Columns = []string{"file", "variant", "metric", "truth", "truth_error", "intervals", "held", "share_percent", "bias_of_half", "half_percent", "cycles_mean"}

// Runs of a set-up, seeds 1 and following, and long ones, from longSeed on. The window of these is
// of longCycles, or of so many times as many cycles as the others take in the mean where that is
// more; a tenth of it goes before.
const (
	runs, quickRuns = 200, 40
	longRuns        = 16
	longSeed        = 10_001
	longTimes       = 10
	longCycles      = 200_000
)

// Open is the reference of a folder, or of the panel that comes with weft.
func Open(data string) (*judge.Reference, error) {
	folder, place := judge.Folder(data, judge.Embedded(embedded, "panel"), "the panel of weft")
	files, err := fs.Glob(folder, "*.toml")
	if err != nil {
		return nil, err
	}
	truths := map[truth]float64{}
	faults, _ := judge.EachRow(folder, place, "truths.csv", func(t *judge.Table) {
		truths[truth{t.Cell("file"), t.Cell("variant"), t.Cell("metric")}] = t.Number("truth", math.MaxFloat64)
	}, "file", "variant", "metric", "truth")
	section := &judge.Section{File: "verdicts.csv", Columns: Columns, Conclude: conclude}
	r := &judge.Reference{Name: "intervals", Place: place, Entry: "set-up", Sections: []*judge.Section{section}, Faults: faults}
	for _, file := range files {
		s := &setUp{name: strings.TrimSuffix(file, ".toml"), truths: truths}
		text, err := judge.ReadFile(folder, file)
		if s.text = text; err != nil {
			s.faults = document.Problems{{At: path.Join(place, file), Message: "cannot be read: " + err.Error()}}
		}
		section.Entries = append(section.Entries, &judge.Entry{Name: s.name, Faults: &s.faults, Judge: s.judge})
	}
	return r, nil
}

// truth is what a metric of a variant of a file has for its mean.
type truth struct{ file, variant, metric string }

// setUp is a file of the panel.
type setUp struct {
	name, text string
	truths     map[truth]float64
	faults     document.Problems
}

// execute runs a variant, or all of them, with some seeds.
func (u *setUp) execute(s *judge.Session, folder string, first, n int, set ...string) (*experiments.File, *results.Table, bool, error) {
	seeds := lists.Make(n, func(i int) string { return strconv.Itoa(first + i) })
	with := *s
	with.Options.Set = append(slices.Clone(s.Options.Set), append(set, "sweep.seed=["+strings.Join(seeds, ", ")+"]")...)
	file, err := with.Load(u.name+".toml", u.text, false)
	if err != nil {
		return nil, nil, false, err
	}
	outcome, err := with.Run(u.name, file, filepath.Join(s.Out, "intervals", folder))
	if err != nil {
		return nil, nil, false, err
	}
	return file, outcome.Results, len(outcome.Failures) > 0, nil
}

func (u *setUp) judge(s *judge.Session) (rows []judge.Row, failed bool, err error) {
	n := runs
	if s.Quick {
		n = quickRuns
	}
	file, table, failed, err := u.execute(s, u.name, 1, n)
	switch {
	case err != nil && file == nil:
		return []judge.Row{{Cells: append([]string{u.name}, make([]string, len(Columns)-1)...), Verdict: judge.NotRun, Note: judge.Refusal(err)}}, false, nil
	case err != nil:
		return nil, failed, err
	}
	keys := slices.DeleteFunc(slices.Clone(file.SweptKeys()), func(key string) bool { return key == "seed" })
	variants, err := table.Distinct(keys)
	if err != nil {
		return nil, failed, err
	}
	for i, values := range variants {
		v := variant{setUp: u, place: i}
		selection := map[string]string{}
		var names []string
		for k, key := range keys {
			selection[key] = values[k]
			v.set = append(v.set, key+"="+values[k])
			names = append(names, key+" = "+values[k])
		}
		v.name = strings.Join(names, ", ")
		if v.table, err = table.Where(selection); err != nil {
			return nil, failed, err
		}
		of, anyFailed, err := v.judge(s)
		if err != nil {
			return nil, failed, err
		}
		rows, failed = append(rows, of...), failed || anyFailed
	}
	return rows, failed, nil
}

// variant is what a file runs at some values of its sweep, seeds apart.
type variant struct {
	*setUp
	place int
	name  string
	set   []string
	table *results.Table
	long  *results.Table // nil: not run
}

// judge judges the verdicts of a variant, its latency where it is steady, and its accepted load.
func (v *variant) judge(s *judge.Session) (rows []judge.Row, failed bool, err error) {
	cycles, err := v.table.Numbers("cycles")
	if err != nil {
		return nil, false, err
	}
	mean := stats.Finite(stat.Mean(cycles, nil))
	state := measure.Steady
	if _, known := v.truths[truth{v.setUp.name, v.name, "latency_mean_ns"}]; !known {
		window := max(longCycles, int(longTimes*mean))
		set := append(slices.Clone(v.set), fmt.Sprintf("measure.warmup=%d", max(1, window/10)), fmt.Sprintf("measure.window=%d", max(1, window)))
		if _, v.long, failed, err = v.execute(s, fmt.Sprintf("%s-long-%d", v.setUp.name, v.place), longSeed, longRuns, set...); err != nil {
			return nil, failed, err
		}
		if len(v.long.Rows) > 0 {
			state = v.long.State(0)
		}
	}
	rows = append(rows, v.states(state, mean))
	for _, metric := range []struct{ column, interval string }{{"latency_mean_ns", "latency_ci95_ns"}, {"accepted_load", "accepted_ci95"}} {
		if metric.column == "latency_mean_ns" && state != measure.Steady {
			continue
		}
		row, pairs, err := v.intervals(metric.column, metric.interval, mean)
		if err != nil {
			return nil, failed, err
		}
		if rows = append(rows, row); metric.column == "latency_mean_ns" {
			rows = append(rows, pairs)
		}
	}
	return rows, failed, nil
}

// states counts wrong verdicts: none may be. Undecided is none.
func (v *variant) states(state measure.State, cycles float64) judge.Row {
	wrong := 0
	for i := range v.table.Rows {
		if got := v.table.State(i); got != measure.Undecided && got != state {
			wrong++
		}
	}
	n := len(v.table.Rows)
	r := judge.Row{Cells: []string{v.setUp.name, v.name, "state", state.String(), "", strconv.Itoa(n), strconv.Itoa(n - wrong), percent(n-wrong, n), "", "", short(cycles)}, Verdict: judge.Agrees}
	if state == measure.Undecided {
		r.Verdict, r.Note = judge.NotJudged, "the long runs are undecided"
	} else if wrong > 0 {
		r.Verdict, r.Note = judge.Differs, fmt.Sprintf("%d wrong", wrong)
	}
	return r
}

// fewest is the number of intervals from which a share of them is judged.
const fewest = 20

// intervals counts the intervals that hold the truth, and the neighbouring seeds that are called
// different. The truth of a long run is known up to its standard error, which makes intervals
// wider by its square.
func (v *variant) intervals(column, interval string, cycles float64) (row, pairs judge.Row, err error) {
	values, err := v.table.Numbers(column)
	halves, err2 := v.table.Numbers(interval)
	if err := cmp.Or(err, err2); err != nil {
		return row, pairs, err
	}
	value, known := v.truths[truth{v.setUp.name, v.name, column}]
	deviation := 0.0
	if !known && v.long != nil {
		all, err := v.long.Numbers(column)
		if err != nil {
			return row, pairs, err
		}
		var long stats.Running
		for _, x := range all {
			long.Add(x)
		}
		value, deviation = long.Mean(), math.Sqrt(long.Variance()/float64(long.N()))
	} else if !known { // a closed form: what is offered is accepted
		offered, err := v.table.Numbers("offered_load")
		if err != nil {
			return row, pairs, err
		}
		value = offered[0]
	}
	var means, widths stats.Running
	n, held, different, of := 0, 0, 0, 0
	for i, x := range values {
		half := halves[i]
		if math.IsNaN(x) || math.IsNaN(half) {
			continue
		}
		n++
		means.Add(x)
		widths.Add(half)
		if math.Abs(x-value) <= math.Hypot(half, 1.96*deviation) {
			held++
		}
		if i%2 == 1 && !math.IsNaN(values[i-1]) && !math.IsNaN(halves[i-1]) {
			of++
			if math.Abs(x-values[i-1]) > math.Hypot(half, halves[i-1]) {
				different++
			}
		}
	}
	bias := (means.Mean() - value) / widths.Mean()
	chance := math.Hypot(math.Sqrt(means.Variance()/float64(max(1, n))), deviation) / widths.Mean()
	row = judge.Row{Verdict: judge.Agrees, Cells: []string{v.setUp.name, v.name, column, short(value), short(deviation), strconv.Itoa(n), strconv.Itoa(held), percent(held, n), short(bias), short(100 * widths.Mean() / value), short(cycles)}}
	pairs = judge.Row{Verdict: judge.Agrees, Cells: []string{v.setUp.name, v.name, "pairs", "", "", strconv.Itoa(of), strconv.Itoa(of - different), percent(of-different, of), "", "", ""}}
	switch {
	case n < fewest:
		row.Verdict, row.Note = judge.NotJudged, "too few intervals"
	case !likely(n-held, n):
		row.Verdict, row.Note = judge.Differs, "intervals hold too seldom"
	case math.Abs(bias) > 0.25+3*chance:
		row.Verdict, row.Note = judge.Differs, "biased"
	}
	switch {
	case of < fewest:
		pairs.Verdict, pairs.Note = judge.NotJudged, "too few intervals"
	case !likely(different, of):
		pairs.Verdict, pairs.Note = judge.Differs, "equal networks differ too often"
	}
	return row, pairs, nil
}

// likely tells whether chance allows that so many or more of n intervals miss, at 95 %, once in
// 1,000 times.
func likely(missed, n int) bool {
	if missed == 0 {
		return true
	}
	return 1-distuv.Binomial{N: float64(n), P: 0.05}.CDF(float64(missed-1)) >= 0.001
}

// conclude adds up what the rows count: of all intervals of means 93 to 97 % may hold, no verdict
// may be wrong, equal networks may differ in 5 %, as far as chance allows.
func conclude(table *results.Table, count judge.Count, failed bool) (judge.Conclusion, error) {
	type tally struct{ of, held int }
	sums := map[string]*tally{}
	for _, r := range judge.RowsOf(table) {
		of, err := strconv.Atoi(r.Cells[5])
		held, err2 := strconv.Atoi(r.Cells[6])
		if err != nil || err2 != nil || r.Verdict == judge.NotJudged {
			continue
		}
		if sums[r.Cells[2]] == nil {
			sums[r.Cells[2]] = &tally{}
		}
		sums[r.Cells[2]].of += of
		sums[r.Cells[2]].held += held
	}
	c := judge.Conclusion{Shown: table, Failed: failed || count[judge.Differs] > 0}
	for _, x := range []struct{ metric, text string }{
		{"latency_mean_ns", "intervals of the mean latency hold it"}, {"accepted_load", "intervals of the accepted load hold it"},
		{"pairs", "pairs of equal networks are called equal"}, {"state", "verdicts are not wrong"},
	} {
		if t := sums[x.metric]; t != nil {
			c.Text += fmt.Sprintf("%d of %d (%s %%) %s; ", t.held, t.of, percent(t.held, t.of), x.text)
		}
	}
	if t := sums["latency_mean_ns"]; t != nil && t.of >= 1000 {
		share := float64(t.held) / float64(t.of)
		c.Failed = c.Failed || share < 0.93 || share > 0.97
	}
	c.Text += count.String()
	return c, nil
}

func percent(part, of int) string {
	if of == 0 {
		return ""
	}
	return strconv.FormatFloat(100*float64(part)/float64(of), 'f', 1, 64)
}

func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
