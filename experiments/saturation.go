package experiments

import (
	"math"

	"github.com/weft-sim/weft/fabric/core"
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
		if t.State(i) == core.Steady && !(x <= best) {
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
