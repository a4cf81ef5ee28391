package experiments

import (
	_ "embed"
	"fmt"
	"math"
	"strings"
	"sync"
)

// targetsCSV holds the published numbers that the paper experiments are judged
// by, one row a number.
//
//go:embed papers/targets.csv
var targetsCSV string

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

// Targets lists all targets in the order of the data.
var Targets = sync.OnceValue(func() []Target {
	t, err := ReadTable("targets.csv", strings.NewReader(targetsCSV))
	if err != nil {
		panic("experiments: " + err.Error())
	}
	targets := make([]Target, len(t.Rows))
	for i, r := range t.Rows {
		targets[i] = Target{
			ID: r[0], Paper: r[1], Artifact: r[2], Case: r[3], Metric: r[4], Value: number(r[5]), Unit: r[6],
			Kind: r[7], Tolerance: number(r[8]), ToleranceKind: r[9], Origin: r[10],
		}
	}
	return targets
})

// targetByID finds a target.
func targetByID(id string) (Target, error) {
	var ids []string
	for _, t := range Targets() {
		if t.ID == id {
			return t, nil
		}
		ids = append(ids, t.ID)
	}
	return Target{}, fmt.Errorf("no such target%s", didYouMean(id, ids))
}

// Verdicts.
const (
	Met        = "met"
	Missed     = "missed"
	Calibrated = "calibrated" // the model was fitted to it
	Reported   = "reported"   // no tolerance: shown beside the paper
)

// Judge compares a measured value with the target by the target's tolerance.
// Bounds hold up to the tolerance, relative to the target.
func (t Target) Judge(measured float64) string {
	var ok bool
	slack := t.Tolerance
	if math.IsNaN(slack) {
		slack = 0
	}
	const rounding = 1e-12 // of decimal fractions
	switch {
	case t.Kind == "calibrated":
		return Calibrated
	case t.Kind == "reported" || t.ToleranceKind == "":
		return Reported
	case t.ToleranceKind == "rel":
		ok = math.Abs(measured-t.Value) <= (slack+rounding)*math.Abs(t.Value)
	case t.ToleranceKind == "abs":
		ok = math.Abs(measured-t.Value) <= slack+rounding
	case t.ToleranceKind == "at_least":
		ok = measured >= t.Value-(slack+rounding)*math.Abs(t.Value)
	case t.ToleranceKind == "at_most":
		ok = measured <= t.Value+(slack+rounding)*math.Abs(t.Value)
	default:
		panic(fmt.Sprintf("experiments: target %s has tolerance kind %q", t.ID, t.ToleranceKind))
	}
	if ok {
		return Met
	}
	return Missed
}
