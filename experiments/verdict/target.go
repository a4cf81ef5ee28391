package verdict

import (
	_ "embed"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/param"
)

// The published numbers that the paper experiments are judged by, one row a
// number: targets.csv, and claims.csv with further statements of the papers in
// the same form.
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

// Targets lists all targets in the order of the data, claims.csv
// last.
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

// allowed is what the target's tolerance allows: bounds hold up to the
// tolerance, relative to the target. A side without a bound is infinite. ok is
// false for a target that is not judged.
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
