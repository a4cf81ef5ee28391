package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// LeastBatches is the least number of batches of an interval.
const LeastBatches = 5

// Constants of MeanInterval, chosen by the coverage and cost of intervals on queues whose mean
// latency is known (docs/validation.md).
const (
	mostBatches = 20
	// batchLength is the least length of a batch in correlation times.
	batchLength = 1.5
	// markovBelow is the correlation of neighbours from which on down a series is taken for a
	// first-order autoregressive one; above it neighbours are joined.
	markovBelow = 0.4
	// mostObservations is the number of observations, once joined, between half of which and
	// which correlation is measured.
	mostObservations = 128
	// fewestObservations is how many are not joined further.
	fewestObservations = 24
)

// Batches is the number of batches that a stationary series is divided into for the
// confidence interval of its mean ([MeanInterval]); 0 while it is too short for one.
//
// The length of batches follows from the correlation time T = (1+r)/(1-r), for a
// correlation r between neighbours: the number of observations that count as one independent
// one. Where r is large, neighbours are joined first, since queues forget more slowly than
// their first correlation says (the idea of ASAP3: Steiger et al. 2005). Batches are at least
// 1.5 T long, for a T with the standard error of r added, and there are 5 to 20 of them: few
// and long ones while the series is short, whose interval is wide by Student's t. Cost: linear.
func Batches(series []float64) int {
	y := Joined(series, mostObservations)
	_, longest := correlationTimes(y)
	batches := min(mostBatches, int(float64(len(y))/(batchLength*longest)))
	if batches < LeastBatches {
		return 0
	}
	return batches
}

// MeanInterval is half the width of the confidence interval of the mean of a stationary
// series, at a level such as 0.95, by the means of some batches; infinite for 0.
//
// The variance is made larger by what the correlation T within batches of m observations hides,
// 1/(1 - (T-1/T)/2m) for a first-order autoregressive series, or by the correlation r of the
// batches themselves, (1+r)/(1-r), as in Skart (Tafazzoli and Wilson 2011), whichever is more;
// of r a quarter of its standard error is taken for chance. Cost: linear.
func MeanInterval(series []float64, level float64, batches int) float64 {
	if batches == 0 {
		return math.Inf(1)
	}
	y := Joined(series, mostObservations)
	each := len(y) / batches
	means := join(y[len(y)-each*batches:], each)
	var of Running
	for _, x := range means {
		of.Add(x)
	}
	time, _ := correlationTimes(y)
	time = min(time, batchLength*float64(each))
	inflation := 1 / (1 - (time-1/time)/(2*float64(each)))
	if r := min(0.8, NeighbourCorrelation(means)-0.25/math.Sqrt(float64(batches))); r > 0 {
		inflation = max(inflation, (1+r)/(1-r))
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(batches - 1)}.Quantile(0.5 + level/2)
	return t * math.Sqrt(of.Variance()/float64(batches)*inflation)
}

// Joined is a series of at most n observations: means of as many neighbours as that takes. What
// is left over at the beginning is left out.
func Joined(series []float64, n int) []float64 {
	each := (len(series) + n - 1) / n
	if each <= 1 {
		return series
	}
	return join(series[len(series)%each:], each)
}

func join(series []float64, each int) []float64 {
	means := make([]float64, len(series)/each)
	for i := range means {
		for _, x := range series[i*each : (i+1)*each] {
			means[i] += x / float64(each)
		}
	}
	return means
}

// correlationTimes are the correlation time of a series in observations, at least 1, half a standard
// error of the correlation up, and a whole one.
func correlationTimes(y []float64) (time, longest float64) {
	for scale := 1.0; ; scale *= 2 {
		r := max(0, min(NeighbourCorrelation(y), 0.98))
		if r <= markovBelow || len(y) < fewestObservations {
			up := min(0.99, r+math.Sqrt((1-r*r)/float64(len(y))))
			time, longest = scale*CorrelationTime(r), scale*CorrelationTime(up)
			return (time + longest) / 2, longest
		}
		y = join(y[len(y)%2:], 2)
	}
}

// CorrelationTime is (1+r)/(1-r): as many observations of a first-order autoregressive series
// with a correlation r between neighbours count as an independent one.
func CorrelationTime(r float64) float64 { return (1 + r) / (1 - r) }

// NeighbourCorrelation estimates the correlation of neighbours. What is found in a sample falls
// short by (1+3r)/n (Kendall 1954), which is made up for.
func NeighbourCorrelation(y []float64) float64 {
	n := float64(len(y))
	mean := 0.0
	for _, x := range y {
		mean += x / n
	}
	squares, ratio := residuals(len(y), func(i int) float64 { return y[i] - mean })
	if squares == 0 {
		return 0
	}
	return (ratio + 1/n) / (1 - 3/n)
}

// residuals are the sum of their squares, and that of the products of neighbours over it.
func residuals(n int, residual func(i int) float64) (squares, ratio float64) {
	neighbours, before := 0.0, 0.0
	for i := range n {
		e := residual(i)
		squares, neighbours, before = squares+e*e, neighbours+e*before, e
	}
	return squares, neighbours / squares
}
