package stats

// TruncationPoint returns how many observations at the beginning of a series
// belong to its warm-up, by the marginal standard error rule on means of five
// (MSER-5: White, Cobb and Spratt 2000): the cut that makes the standard error
// of what remains smallest. settled is false if that cut lies in the second
// half of the series, which then is too short, or has no steady state. Cost:
// linear.
func TruncationPoint(series []float64) (cut int, settled bool) {
	const group = 5
	n := len(series) / group
	if n < 4 {
		return 0, false
	}
	means := make([]float64, n)
	for i := range means {
		for _, x := range series[i*group : (i+1)*group] {
			means[i] += x / group
		}
	}
	// From the back, sums of the last k means give each cut's statistic
	// variance/k in constant time.
	best, bestCut := -1.0, 0
	var tail Running
	for i := n - 1; i >= 0; i-- {
		tail.Add(means[i])
		if k := float64(tail.N()); k >= 4 {
			if v := tail.m2 / (k * k); best < 0 || v <= best {
				best, bestCut = v, i
			}
		}
	}
	return bestCut * group, bestCut <= n/2
}
