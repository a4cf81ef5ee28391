package experiments

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/stats"
)

// Verdict is a target beside what was measured.
type Verdict struct {
	Target   Target
	Measured float64 // NaN: not measured
	// Half is half the width of the 95 % confidence interval of Measured; NaN
	// where there is none.
	Half    float64
	Verdict string
	RestsOn string // one of RestsOnNames
	Quick   bool   // of the small variant of the experiment
	Note    string
}

// checkExpect finds what is wrong with an [[expect]] table before anything
// runs.
func (f *File) checkExpect(path string, e *ExpectConfig) {
	d := f.doc
	if _, err := targetByID(e.Target); err != nil {
		d.Problem(document.Join(path, "target"), "= %q: %v", e.Target, err)
	}
	if e.Metric == "" {
		d.Problem(path, "has no metric: name a column, or %s", strings.Join(results.SortedKeys(results.DerivedMetrics), " or "))
	}
	names := results.SortedKeys(e.Of)
	switch {
	case e.Formula == "" && len(names) > 0:
		d.Problem(document.Join(path, "of"), "is given without a formula, for example formula = %q", strings.Join(names, " / "))
	case e.Formula != "" && len(names) == 0:
		d.Problem(document.Join(path, "formula"), "has no names: give the selections under of, for example of = { a = { \"routing.type\" = \"min\" }, b = { \"routing.type\" = \"val\" } }")
	case e.Formula != "":
		if _, err := results.ParseFormula(e.Formula, names); err != nil {
			d.Problem(document.Join(path, "formula"), "= %q: %v", e.Formula, err)
		}
	}
	if (e.BaselineIs == "") != (len(e.Baseline) == 0) {
		d.Problem(path, "has baseline or baseline_is alone: the one selects rows, the other says what they are")
	}
	if !f.checkTable(path, e.Table) {
		return
	}
	for _, column := range e.Each {
		f.checkColumn(document.Join(path, "each"), column)
	}
	f.checkColumn(document.Join(path, "counterexample"), e.Counterexample)
	f.checkColumn(document.Join(path, "steady"), e.Steady)
	if e.SteadyTo != "" && (e.Steady == "" || math.IsNaN(results.Number(e.SteadyTo))) {
		d.Problem(document.Join(path, "steady_to"), "= %q: want a number, and steady, the column that it is a value of", e.SteadyTo)
	}
	f.checkSelection(document.Join(path, "baseline"), e.Baseline)
	if results.DerivedMetrics[e.Metric] == nil {
		f.checkColumn(document.Join(path, "metric"), e.Metric)
	}
	f.checkSelection(document.Join(path, "where"), e.Where)
	for _, name := range names {
		f.checkSelection(document.Join(path, "of."+document.QuoteName(name)), e.Of[name])
	}
}

// Verdicts judges the expectations of a file by its results. tables holds the
// further tables of the run.
func (f *File) Verdicts(results *Table, tables map[string]*Table) []Verdict {
	var verdicts []Verdict
	for _, e := range f.Expects {
		target, err := targetByID(e.Target)
		if err != nil {
			panic("experiments: " + err.Error()) // Load has checked it
		}
		table := results
		if e.Table != figures.ResultsTable {
			table = tables[e.Table]
		}
		v := e.judge(target, table)
		v.RestsOn, v.Quick = e.RestsOn, f.quick
		if v.RestsOn == "" {
			v.RestsOn = Simulated
			if f.kind != nil && f.kind.restsOn != "" {
				v.RestsOn = f.kind.restsOn
			}
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// judge measures what the target is about and compares.
func (e *ExpectConfig) judge(target Target, t *Table) Verdict {
	v := Verdict{Target: target, Measured: math.NaN(), Half: math.NaN()}
	var notes []string
	unsteady := false
	cases, err := e.measure(t, nil, target.Unit)
	switch {
	case errors.Is(err, errNoRows):
		v.Verdict = NotRun
		notes = append(notes, err.Error())
	case err != nil:
		v.Verdict = Missed
		notes = append(notes, "not measured: "+err.Error())
	default:
		m := e.combine(target, cases)
		v.Measured, v.Half = m.value, m.half
		v.Verdict = target.Judge(v.Measured)
		if unsteady = e.SteadyTo != "" && !results.SameCell(e.SteadyTo, cases[0].label); unsteady {
			v.Verdict = Missed
			notes = append(notes, fmt.Sprintf("no steady value at %s = %s", e.Steady, e.SteadyTo))
		}
	}
	if e.Counterexample != "" && v.Verdict != NotRun {
		if n, err := e.contradicted(t); err != nil {
			notes = append(notes, "no counterexample: "+err.Error())
		} else if n > e.CounterexampleAbove {
			v.Verdict = Refuted
			notes = []string{e.Counterexample + " = " + results.FormatCell(n)}
		}
	}
	if e.Calibrated != "" && v.Verdict != NotRun {
		if v.Verdict == Met || v.Verdict == Reported {
			v.Verdict = Calibrated
		}
		notes = append(notes, "fitted to it: "+e.Calibrated)
	}
	if (v.Verdict == Met || v.Verdict == Missed) && !unsteady && target.undecided(v.Measured, v.Half) {
		notes = append(notes, IntervalHasBound)
	}
	if v.Verdict != NotRun {
		notes = append(notes, e.againstBaseline(target, v.Verdict, t)...)
	}
	if slices.ContainsFunc(cases, func(m measured) bool { return m.moving }) {
		notes = append(notes, MayMove)
	}
	if len(cases) > 1 {
		notes = append(notes, casesText(e.Combine, cases))
	} else if e.Steady != "" && len(cases) == 1 {
		notes = append(notes, "measured at "+e.Steady+" = "+cases[0].label)
	}
	if e.Note != "" {
		notes = append(notes, e.Note)
	}
	v.Note = strings.Join(notes, "; ")
	return v
}

// IntervalHasBound is what the note of a verdict says that other seeds might
// turn.
const IntervalHasBound = "the 95 % interval contains the bound"

// MayMove is what the note of a verdict says of a time at a point that is not
// steady.
const MayMove = "at points that are not steady: may grow with the length of the run"

// contradicted is the largest count of the counterexample's column over the rows
// of where.
func (e *ExpectConfig) contradicted(t *Table) (float64, error) {
	count := ExpectConfig{Target: e.Target, Metric: e.Counterexample, Table: e.Table, Where: e.Where, Take: "largest"}
	cases, err := count.measure(t, nil, "")
	if err != nil {
		return math.NaN(), err
	}
	return cases[0].value, nil
}

// againstBaseline says whether the rows of baseline meet the target, where it
// can be met, beside own, the verdict of the target's own rows.
func (e *ExpectConfig) againstBaseline(target Target, own string, t *Table) []string {
	if len(e.Baseline) == 0 {
		return nil
	}
	cases, err := e.measure(t, e.Baseline, target.Unit)
	if err != nil {
		return []string{e.BaselineIs + " not measured: " + err.Error()}
	}
	value := e.combine(target, cases).value
	switch verdict := target.Judge(value); {
	case verdict == Met && own == Met:
		return []string{fmt.Sprintf("also met %s (%s)", e.BaselineIs, shortNumber(value))}
	case verdict == Met || verdict == Missed:
		return []string{fmt.Sprintf("%s %s (%s)", verdict, e.BaselineIs, shortNumber(value))}
	default: // a target that nothing is judged by
		return []string{fmt.Sprintf("%s %s", shortNumber(value), e.BaselineIs)}
	}
}

// listedCases is the number of cases that a note lists one by one.
const listedCases = 12

// casesText lists the values that each gives; of many, the smallest and the
// largest.
func casesText(combine string, cases []measured) string {
	text := func(c measured) string { return c.label + ": " + shortNumber(c.value) }
	if len(cases) > listedCases {
		byValue := func(a, b measured) int { return cmp.Compare(a.value, b.value) }
		return fmt.Sprintf("%s of %d, from %s to %s", combine, len(cases), text(slices.MinFunc(cases, byValue)), text(slices.MaxFunc(cases, byValue)))
	}
	parts := make([]string, len(cases))
	for i, c := range cases {
		parts[i] = text(c)
	}
	return combine + " of " + strings.Join(parts, ", ")
}

// shortNumber prints a number with the digits that a reader compares.
func shortNumber(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }

func selectionText(where map[string]string) string {
	if len(where) == 0 {
		return "any value"
	}
	return results.DescribeSelection(where)
}

// What a row rests on.
const (
	Formula   = "formula"   // a closed form, computed
	Count     = "count"     // what an algorithm or a table gives, counted
	Simulated = "simulated" // a network or a machine, simulated
	Repeat    = "repeat"    // the same simulation as another row: the number says nothing new
	Timed     = "timed"     // the time that weft itself takes
)

// RestsOnNames lists them in the order in which they are shown.
func RestsOnNames() []string { return []string{Simulated, Count, Formula, Repeat, Timed} }

// VerdictTable is the content of verdicts.csv.
func VerdictTable(verdicts []Verdict) *Table {
	t := &Table{Columns: []string{"id", "paper", "artifact", "case", "metric", "target", "measured", "ci95", "unit", "kind", "tolerance", "rests_on", "variant", "verdict", "note"}}
	for _, v := range verdicts {
		x, variant := v.Target, "full"
		if v.Quick {
			variant = "quick"
		}
		t.Rows = append(t.Rows, []string{
			x.ID, x.Paper, x.Artifact, x.Case, x.Metric, results.FormatCell(x.Value), results.FormatCell(v.Measured), results.FormatCell(stats.Finite(v.Half)), x.Unit, x.Kind, x.ToleranceText(), v.RestsOn, variant, v.Verdict, v.Note,
		})
	}
	return t
}

// AnyMissed tells whether a target was missed. What was not run is no miss, and
// neither is what was refuted.
func AnyMissed(verdicts []Verdict) bool {
	return slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Verdict == Missed })
}

// VerdictCount is how often a verdict was reached, or what so many rows rest on.
type VerdictCount struct {
	Verdict string
	N       int
}

// CountVerdicts counts, in the order of [VerdictNames]; verdicts that were not
// reached are left out.
func CountVerdicts(verdicts []Verdict) []VerdictCount {
	return countBy(verdicts, VerdictNames(), func(v *Verdict) string { return v.Verdict })
}

// CountMet counts what the rows met rest on, in the order of [RestsOnNames].
func CountMet(verdicts []Verdict) []VerdictCount {
	return countBy(verdicts, RestsOnNames(), func(v *Verdict) string {
		if v.Verdict != Met {
			return ""
		}
		return v.RestsOn
	})
}

func countBy(verdicts []Verdict, names []string, of func(*Verdict) string) (counts []VerdictCount) {
	for _, name := range names {
		c := VerdictCount{Verdict: name}
		for i := range verdicts {
			if of(&verdicts[i]) == name {
				c.N++
			}
		}
		if c.N > 0 {
			counts = append(counts, c)
		}
	}
	return counts
}
