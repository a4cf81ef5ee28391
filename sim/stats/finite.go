package stats

import "math"

// Finite is x, or NaN where x is infinite: the mean of nothing, which tables leave empty.
func Finite(x float64) float64 {
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	return x
}
