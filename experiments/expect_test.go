package experiments

import (
	"math"
	"strings"
	"testing"
)

func table(t *testing.T, text string) *Table {
	t.Helper()
	table, err := ReadTable("t.csv", strings.NewReader(strings.TrimSpace(text)))
	if err != nil {
		t.Fatal(err)
	}
	return table
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
