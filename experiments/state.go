package experiments

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric/measure"
)

// Metrics that a selection of rows, usually all loads of one variant, comes
// down to.
const (
	saturationMetric = "saturation_throughput" // the rule of papers: see acceptedAt95
	steadyMetric     = "steady_throughput"     // weft's own verdict
)

// derivedMetrics are computed from several rows.
var derivedMetrics = map[string]func(*Table) (float64, error){
	saturationMetric: acceptedAt95,
	steadyMetric:     steadyThroughput,
}

// steadyThroughput is the highest accepted load among the steady rows, NaN if
// there are none.
func steadyThroughput(t *Table) (float64, error) {
	accepted, err := t.Numbers("accepted_load")
	if err != nil {
		return math.NaN(), err
	}
	best := math.NaN()
	for i, x := range accepted {
		if t.State(i) == measure.Steady && !(x <= best) {
			best = x
		}
	}
	return best, nil
}

// acceptedAt95 is the highest accepted load among the rows that accept at least
// 0.95 of what is offered; if none does, the accepted load at the lowest offered
// one. NaN if there are no rows. Papers and BookSim2 call this the saturation
// throughput; it is no verdict, since a network that falls behind by less than 5 %
// passes it (see [State]).
func acceptedAt95(t *Table) (float64, error) {
	offered, err := t.Numbers("offered_load")
	if err != nil {
		return math.NaN(), err
	}
	accepted, err := t.Numbers("accepted_load")
	if err != nil {
		return math.NaN(), err
	}
	best, lowest, atLowest := math.NaN(), math.Inf(1), math.NaN()
	for i := range offered {
		if accepted[i] >= 0.95*offered[i] && !(accepted[i] <= best) {
			best = accepted[i]
		}
		if offered[i] < lowest {
			lowest, atLowest = offered[i], accepted[i]
		}
	}
	if math.IsNaN(best) {
		return atLowest, nil
	}
	return best, nil
}

// stateColumn holds the verdict on a point, as [core.State] writes it.
const stateColumn = "state"

// State is the verdict on row i of a table of results. A table without one, of
// another kind or by hand, counts as steady, but for the rows in which a column
// "saturated" says "true".
func (t *Table) State(i int) measure.State {
	if at := slices.Index(t.Columns, stateColumn); at >= 0 {
		if s, err := measure.ParseState(t.Rows[i][at]); err == nil {
			return s
		}
	}
	if at := slices.Index(t.Columns, "saturated"); at >= 0 && t.Rows[i][at] == "true" {
		return measure.Saturated
	}
	return measure.Steady
}

// CountStates says how many rows have each verdict: "74 steady, 6 undecided, 40 saturated";
// "" of a table without verdicts.
func (t *Table) CountStates() string {
	if !slices.Contains(t.Columns, stateColumn) {
		return ""
	}
	counts := map[measure.State]int{}
	for i := range t.Rows {
		counts[t.State(i)]++
	}
	var parts []string
	for _, s := range []measure.State{measure.Steady, measure.Undecided, measure.Saturated} {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %v", counts[s], s))
		}
	}
	return strings.Join(parts, ", ")
}
