// Package verdict holds what was measured against what papers state: their numbers, how an
// [[expect]] table measures one in tables of results, and the verdict on it.
package verdict

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/stats"
)

// Expect is an [[expect]] table: a row of the targets and how the
// measured value follows from the results.
type Expect struct {
	Target              string                       `toml:"target" doc:"id of a row of the targets; weft reproduce judges the measured value by its tolerance"`
	Metric              string                       `toml:"metric" doc:"column; or steady_throughput: the highest accepted load among steady points; or saturation_throughput, as papers define it: the highest accepted load among points with accepted >= 0.95 of offered; or, of table histogram, peaks: how many it has"`
	Table               string                       `toml:"table" doc:"results, or a further table of the kind such as links"`
	Where               map[string]string            `toml:"-"`
	Take                string                       `toml:"take" doc:"what is taken of several selected rows; count: how many there are, 0 if none" choices:"mean|largest|smallest|count"`
	Each                []string                     `toml:"each" doc:"column, or list of columns: every set of their values among the rows of where gives a value of its own"`
	Combine             string                       `toml:"combine" doc:"what becomes of the values of each: every, each has to meet the target and the one farthest from it is shown; or one number" choices:"every|mean|largest|smallest"`
	Steady              string                       `toml:"steady" doc:"column, such as traffic.load, of which only the highest value counts at which the state is steady in all selected rows, those of of and of all seeds included"`
	SteadyTo            string                       `toml:"steady_to" doc:"with steady: the value that the target names, the highest that is looked at; if the network does not keep up there, the row is missed, and the value shown is that of the highest at which it does"`
	Of                  map[string]map[string]string `toml:"-"`
	Formula             string                       `toml:"formula" doc:"arithmetic (+ - * /, parentheses, min(a, b), max(a, b)) over the names under [expect.of], each a selection of rows beyond where; default: the value itself"`
	Calibrated          string                       `toml:"calibrated" doc:"the parameter that was fitted to this row: within the target's tolerance the verdict is calibrated, outside it is missed"`
	RestsOn             string                       `toml:"rests_on" doc:"what the measured value comes from: simulated, count (what an algorithm gives), formula, repeat (a simulation that another row was judged by), timed (weft's own time); left out: by the kind" choices:"|simulated|count|formula|repeat|timed"`
	Counterexample      string                       `toml:"counterexample" doc:"column that counts what contradicts the paper in any model; if it is above counterexample_above over the rows of where, the verdict is refuted"`
	CounterexampleAbove float64                      `toml:"counterexample_above" doc:"the most that the paper allows of it"`
	Baseline            map[string]string            `toml:"-"`
	BaselineIs          string                       `toml:"baseline_is" doc:"what the rows of baseline are, such as \"without connections\""`
	Note                string                       `toml:"note" doc:"what to say beside the verdict"`
}

// Verdict is a target beside what was measured.
type Verdict struct {
	Target   Target
	Measured float64 // NaN: not measured
	// Half is half the width of the 95 % confidence interval of Measured; NaN where there is none.
	Half    float64
	Verdict string
	RestsOn string // one of RestsOnNames
	Quick   bool   // of the small variant of the experiment
	Note    string
}

// Judge measures what the target of an expectation is about, and compares. tables holds the
// further tables of the run. Targets that nobody knows panic: the loader has refused them.
func (e *Expect) Judge(t *results.Table, tables map[string]*results.Table) Verdict {
	target, err := TargetByID(e.Target)
	if err != nil {
		panic("verdict: " + err.Error())
	}
	if e.Table != figures.ResultsTable {
		t = tables[e.Table]
	}
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

// IntervalHasBound is what the note of a verdict says that other seeds might turn.
const IntervalHasBound = "the 95 % interval contains the bound"

// MayMove is what the note of a verdict says of a time at a point that is not steady.
const MayMove = "at points that are not steady: may grow with the length of the run"

// contradicted is the largest count of the counterexample's column over the rows of where.
func (e *Expect) contradicted(t *results.Table) (float64, error) {
	rows, err := (&Expect{Table: e.Table}).rows(t, e.Where)
	if err != nil {
		return math.NaN(), err
	}
	counts, err := rows.Numbers(e.Counterexample)
	if err != nil {
		return math.NaN(), err
	}
	return slices.Max(counts), nil
}

// againstBaseline says whether the rows of baseline meet the target, where it
// can be met, beside own, the verdict of the target's own rows.
func (e *Expect) againstBaseline(target Target, own string, t *results.Table) []string {
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
		return []string{fmt.Sprintf("also met %s (%s)", e.BaselineIs, results.Short(value))}
	case verdict == Met || verdict == Missed:
		return []string{fmt.Sprintf("%s %s (%s)", verdict, e.BaselineIs, results.Short(value))}
	default: // a target that nothing is judged by
		return []string{fmt.Sprintf("%s %s", results.Short(value), e.BaselineIs)}
	}
}

// listedCases is the number of cases that a note lists one by one.
const listedCases = 12

// casesText lists the values that each gives; of many, the smallest and the largest.
func casesText(combine string, cases []measured) string {
	text := func(c measured) string { return c.label + ": " + results.Short(c.value) }
	if len(cases) > listedCases {
		byValue := func(a, b measured) int { return cmp.Compare(a.value, b.value) }
		return fmt.Sprintf("%s of %d, from %s to %s", combine, len(cases), text(slices.MinFunc(cases, byValue)), text(slices.MaxFunc(cases, byValue)))
	}
	return combine + " of " + lists.Join(cases, ", ", text)
}

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

// RestsOnNames lists what verdicts may rest on, in the order in which it is shown.
func RestsOnNames() []string { return []string{Simulated, Count, Formula, Repeat, Timed} }

// Table is the content of verdicts.csv.
func Table(verdicts []Verdict) *results.Table {
	t := &results.Table{Columns: []string{"id", "paper", "artifact", "case", "metric", "target", "measured", "ci95", "unit", "kind", "tolerance", "rests_on", "variant", "verdict", "note"}}
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

// Tally is how often a verdict was reached, or what so many rows rest on.
type Tally struct {
	Verdict string
	N       int
}

// Tallies counts, in the order of [Names]; verdicts that were not reached are left out.
func Tallies(verdicts []Verdict) []Tally {
	return countBy(verdicts, Names(), func(v *Verdict) string { return v.Verdict })
}

// TalliesOfMet counts what the rows met rest on, in the order of [RestsOnNames].
func TalliesOfMet(verdicts []Verdict) []Tally {
	return countBy(verdicts, RestsOnNames(), func(v *Verdict) string {
		if v.Verdict != Met {
			return ""
		}
		return v.RestsOn
	})
}

func countBy(verdicts []Verdict, names []string, of func(*Verdict) string) (counts []Tally) {
	for _, name := range names {
		c := Tally{Verdict: name}
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

// The published numbers that the paper experiments are judged by, one row a number: targets.csv,
// and claims.csv with further statements of the papers in the same form.
var (
	//go:embed targets.csv
	targetsCSV string
	//go:embed claims.csv
	claimsCSV string
)

// Target is a published number.
type Target struct {
	ID, Paper, Artifact, Case, Metric string
	Value                             float64
	Unit                              string
	Kind                              string // exact, calibrated, predicted, bound, reported
	Tolerance                         float64
	ToleranceKind                     string // rel, abs, at_least, at_most; empty: not judged
	Origin                            string
}

// Targets lists all targets in the order of the data, claims.csv last.
var Targets = sync.OnceValue(func() []Target {
	return append(readTargets("targets.csv", targetsCSV), readTargets("claims.csv", claimsCSV)...)
})

// readTargets reads an embedded table; a broken one panics.
func readTargets(name, text string) []Target {
	t, err := results.ReadTable(name, strings.NewReader(text))
	if err != nil {
		panic("verdict: " + err.Error())
	}
	targets := make([]Target, len(t.Rows))
	for i, r := range t.Rows {
		targets[i] = Target{
			ID: r[0], Paper: r[1], Artifact: r[2], Case: r[3], Metric: r[4], Value: results.Number(r[5]), Unit: r[6],
			Kind: r[7], Tolerance: results.Number(r[8]), ToleranceKind: r[9], Origin: r[10],
		}
	}
	return targets
}

// TargetByID finds a target.
func TargetByID(id string) (Target, error) {
	var ids []string
	for _, t := range Targets() {
		if t.ID == id {
			return t, nil
		}
		ids = append(ids, t.ID)
	}
	return Target{}, fmt.Errorf("no such target%s", param.DidYouMean(id, ids))
}

// Verdicts.
const (
	Met        = "met"
	Missed     = "missed"
	Refuted    = "refuted"    // what the paper says is contradicted by a count that no model could avoid
	Calibrated = "calibrated" // the model was fitted to it, and is within what is allowed
	Reported   = "reported"   // no tolerance: shown beside the paper
	NotRun     = "not-run"    // the run has none of the points that it is about
)

// Names lists the verdicts in the order in which they are shown.
func Names() []string { return []string{Met, Missed, Refuted, Calibrated, Reported, NotRun} }

// calibratedWithin is the tolerance, relative to the target, of what the model was fitted to
// where the target has none.
const calibratedWithin = 0.15

// allowed is what the target's tolerance allows: bounds hold up to the tolerance, relative to the
// target. A side without a bound is infinite. ok is false for a target that is not judged.
func (t Target) allowed() (low, high float64, ok bool) {
	tolerance, kind := t.Tolerance, t.ToleranceKind
	switch {
	case t.Kind == "calibrated" && kind == "":
		tolerance, kind = calibratedWithin, "rel"
	case t.Kind == "reported", kind == "":
		return math.Inf(-1), math.Inf(1), false
	case math.IsNaN(tolerance):
		tolerance = 0
	}
	if kind != "abs" {
		tolerance *= math.Abs(t.Value)
	}
	low, high = t.Value-tolerance, t.Value+tolerance
	switch kind {
	case "rel", "abs":
	case "at_least":
		high = math.Inf(1)
	case "at_most":
		low = math.Inf(-1)
	default:
		panic(fmt.Sprintf("verdict: target %s has tolerance kind %q", t.ID, t.ToleranceKind))
	}
	return low, high, true
}

// ToleranceText says what allowed goes by, such as "rel 0.15"; empty for a target that is not
// judged.
func (t Target) ToleranceText() string {
	switch _, _, judged := t.allowed(); {
	case !judged:
		return ""
	case t.ToleranceKind == "":
		return fmt.Sprintf("rel %v (none is given)", calibratedWithin)
	}
	return t.ToleranceKind + " " + results.FormatCell(t.Tolerance)
}

// Judge compares a measured value with the target by the target's tolerance.
func (t Target) Judge(measured float64) string {
	low, high, judged := t.allowed()
	rounding := 1e-12 * max(1, math.Abs(t.Value)) // of decimal fractions
	switch {
	case !judged:
		return Reported
	case !(measured >= low-rounding && measured <= high+rounding):
		return Missed
	case t.Kind == "calibrated":
		return Calibrated
	}
	return Met
}

// undecided tells whether the interval measured +- half contains a bound of
// what the target allows, so that another set of seeds might turn the verdict.
func (t Target) undecided(measured, half float64) bool {
	low, high, judged := t.allowed()
	return judged && half > 0 && (math.Abs(measured-low) <= half || math.Abs(measured-high) <= half)
}

// farther tells whether a is farther from meeting the target than b.
func (t Target) farther(a, b float64) bool {
	switch t.ToleranceKind {
	case "at_least":
		return a < b
	case "at_most":
		return a > b
	}
	return math.Abs(a-t.Value) > math.Abs(b-t.Value)
}
