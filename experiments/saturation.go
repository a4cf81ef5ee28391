package experiments

import "math"

// saturationMetric is the derived metric that a selection of rows, usually all
// loads of one variant, comes down to.
const saturationMetric = "saturation_throughput"

// saturationThroughput is the highest accepted load among the rows that accept
// at least 0.95 of what is offered; if none does, the accepted load at the
// lowest offered one. NaN if there are no rows.
func saturationThroughput(t *Table) (float64, error) {
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
