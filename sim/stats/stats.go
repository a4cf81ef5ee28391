// Package stats holds the statistics of runs: running means, histograms, confidence intervals of
// the means of correlated series, the end of a warm-up, and whether a series still grows.
package stats

import (
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Running is a sample's mean, variance and extremes in one pass (Welford 1962). The zero value is
// empty.
type Running struct {
	n        int64
	mean, m2 float64
	min, max float64
}

// Of is the sample of some values.
func Of(values []float64) (r Running) {
	for _, x := range values {
		r.Add(x)
	}
	return r
}

// Add enters an observation.
func (r *Running) Add(x float64) {
	r.n++
	if r.n == 1 {
		r.min, r.max = x, x
	}
	d := x - r.mean
	r.mean += d / float64(r.n)
	r.m2 += d * (x - r.mean)
	r.min, r.max = math.Min(r.min, x), math.Max(r.max, x)
}

// N is the number of observations.
func (r *Running) N() int64 { return r.n }

// Mean is the sample mean; NaN for an empty sample.
func (r *Running) Mean() float64 {
	if r.n == 0 {
		return math.NaN()
	}
	return r.mean
}

// Variance is the unbiased sample variance; NaN for fewer than two observations.
func (r *Running) Variance() float64 {
	if r.n < 2 {
		return math.NaN()
	}
	return r.m2 / float64(r.n-1)
}

// Min is the smallest observation; NaN for an empty sample.
func (r *Running) Min() float64 {
	if r.n == 0 {
		return math.NaN()
	}
	return r.min
}

// Max is the largest observation; NaN for an empty sample.
func (r *Running) Max() float64 {
	if r.n == 0 {
		return math.NaN()
	}
	return r.max
}

// HalfWidth is half the confidence interval of the mean at a level (0.95) for independent
// observations, by Student's t; infinite for fewer than two.
func (r *Running) HalfWidth(level float64) float64 {
	if r.n < 2 {
		return math.Inf(1)
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(r.n - 1)}.Quantile(0.5 + level/2)
	return t * math.Sqrt(r.Variance()/float64(r.n))
}

// Histogram counts non-negative integers in buckets of logarithmic width: exact below 256, and
// above with a relative error of at most 1/256 (0.4 %) in every quantile. The zero value is empty.
// Memory grows with the logarithm of the largest value: 1 kB per doubling.
type Histogram struct {
	counts []int64
	n      int64
	max    int64
}

const (
	histogramBits = 7 // buckets per doubling: 2^7
	histogramSub  = 1 << histogramBits
)

// bucket returns the index of x's bucket.
func bucket(x int64) int {
	if x < 2*histogramSub {
		return int(x)
	}
	shift := bits.Len64(uint64(x)) - histogramBits - 1
	return shift<<histogramBits + int(x>>shift)
}

// bucketBounds returns the first value of bucket i and the first after it.
func bucketBounds(i int) (from, to int64) {
	if i < 2*histogramSub {
		return int64(i), int64(i) + 1
	}
	shift := i>>histogramBits - 1
	m := int64(i - shift<<histogramBits)
	return m << shift, (m + 1) << shift
}

// Add counts x; negative numbers count as 0.
func (h *Histogram) Add(x int64) {
	x = max(x, 0)
	i := bucket(x)
	if i >= len(h.counts) {
		h.counts = append(h.counts, make([]int64, i+1-len(h.counts))...)
	}
	h.counts[i]++
	h.n++
	h.max = max(h.max, x)
}

// N is the number of values counted.
func (h *Histogram) N() int64 { return h.n }

// Max is the largest value counted, exactly.
func (h *Histogram) Max() int64 { return h.max }

// Quantile is the value at or below which a share q of the values lie (nearest rank), as its
// bucket's middle; NaN if empty.
func (h *Histogram) Quantile(q float64) float64 {
	if h.n == 0 {
		return math.NaN()
	}
	rank := max(1, int64(math.Ceil(q*float64(h.n))))
	for i, c := range h.counts {
		if rank -= c; rank <= 0 {
			from, to := bucketBounds(i)
			return math.Min(float64(from+to-1)/2, float64(h.max))
		}
	}
	panic("stats: histogram counts do not add up")
}

// Buckets yields the bounds [from, to) and count of every bucket that is not empty, ascending.
func (h *Histogram) Buckets(yield func(from, to, count int64)) {
	for i, c := range h.counts {
		if c > 0 {
			from, to := bucketBounds(i)
			yield(from, to, c)
		}
	}
}

// Merge adds the counts of o.
func (h *Histogram) Merge(o *Histogram) {
	if len(o.counts) > len(h.counts) {
		h.counts = append(h.counts, make([]int64, len(o.counts)-len(h.counts))...)
	}
	for i, c := range o.counts {
		h.counts[i] += c
	}
	h.n += o.n
	h.max = max(h.max, o.max)
}

// Archive writes the histogram or reads it.
func (h *Histogram) Archive(a *snapshot.Archive) {
	snapshot.List(a, &h.counts, snapshot.Int)
	snapshot.Int(a, &h.n)
	snapshot.Int(a, &h.max)
}

// Finite is x, or NaN where x is infinite: the mean of nothing, which tables leave empty.
func Finite(x float64) float64 {
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	return x
}

// Growth says how a series y(t) that began at time 0 grows, as the exponent of the power of t that
// it follows: 0 for a series that has become stationary, 1 for one that grows with time, 1/2 for
// one that diffuses, as a queue does whose load is just its capacity. It is (slope of y)·t/y in the
// middle of the observations, with the slope of the least-squares line.
type Growth struct {
	Slope         float64 // of y over time
	StandardError float64 // of Slope; neighbours may be correlated
	Freedom       float64 // degrees of freedom of StandardError
	Level         float64 // mean of y
	Time          float64 // mean of t
}

// leastObservations is what a line, its error and a correlation are estimated from at least.
const leastObservations = 8

// leastWorth is the least number of independent observations that correlated ones are taken for.
const leastWorth = 5

// MeasureGrowth fits a line to observations at times t (equal lengths); not ok for fewer than
// eight.
//
// The standard error takes the residuals for a first-order autoregressive series: with a
// correlation r between neighbours, n observations are worth n(1-r)/(1+r) (Law and Kelton 2000,
// section 4.4). The correlation found in the residuals of a line falls short by about (2+4r)/n,
// which is made up for (Kendall 1954, for a series about a line). No series is taken for worth less
// than five: one that is bent smoothly has residuals that are all correlation, though its slope is
// known well; the quantile for three degrees of freedom, 5.8 at 99 %, keeps such intervals wide.
// Cost: linear.
func MeasureGrowth(t, y []float64) (g Growth, ok bool) {
	n := float64(len(t))
	if n < leastObservations {
		return g, false
	}
	for i := range t {
		g.Time += t[i] / n
		g.Level += y[i] / n
	}
	var tt, ty float64
	for i := range t {
		tt += (t[i] - g.Time) * (t[i] - g.Time)
		ty += (t[i] - g.Time) * (y[i] - g.Level)
	}
	g.Slope = ty / tt
	squares, ratio := residuals(len(t), func(i int) float64 { return y[i] - g.Level - g.Slope*(t[i]-g.Time) })
	correlation := 0.0
	if squares > 0 {
		correlation = max(0, (ratio+2/n)/(1-4/n))
	}
	worth := max(leastWorth, n*(1-correlation)/(1+correlation))
	g.Freedom = worth - 2
	g.StandardError = math.Sqrt(squares / (n - 2) / tt * n / worth)
	return g, true
}

// Exponent is the exponent relative to a level, mostly [Growth.Level], with a two-sided confidence
// interval.
func (g Growth) Exponent(level, confidence float64) (exponent, low, high float64) {
	scale := g.Time / level
	half := g.StandardError * distuv.StudentsT{Sigma: 1, Nu: g.Freedom}.Quantile(0.5+confidence/2)
	return g.Slope * scale, (g.Slope - half) * scale, (g.Slope + half) * scale
}

// TruncationPoint returns how many observations at the beginning of a series
// belong to its warm-up, by the marginal standard error rule (MSER: White, Cobb and Spratt
// 2000): the cut that makes the standard error
// of what remains smallest. settled is false if that cut lies in the second
// half of the series, which then is too short, or has no steady state. At least three eighths
// of the series remain: the error of few observations is small by chance. Cost:
// linear.
func TruncationPoint(series []float64) (cut int, settled bool) {
	n := len(series)
	if n < leastObservations {
		return 0, false
	}
	// From the back, sums of the last k give each cut's statistic variance/k in constant time.
	best := -1.0
	var tail Running
	for i := n - 1; i >= 0; i-- {
		tail.Add(series[i])
		if k := float64(tail.N()); 8*k >= 3*float64(n) {
			if v := tail.m2 / (k * k); best < 0 || v <= best {
				best, cut = v, i
			}
		}
	}
	return cut, cut <= n/2
}

// LeastBatches is the least number of batches of an interval.
const LeastBatches = 5

// Constants of MeanInterval, by the coverage and cost of intervals on queues of known mean latency
// (docs/validation.md).
const (
	mostBatches = 20
	// batchLength is the least length of a batch in correlation times.
	batchLength = 1.5
	// markovBelow is the correlation of neighbours below which a series counts as a first-order
	// autoregressive one; above it neighbours are joined.
	markovBelow = 0.4
	// mostObservations is how many observations, and half of it how few, correlation is measured on
	// once joined.
	mostObservations = 128
	// fewestObservations is how many are not joined further.
	fewestObservations = 24
)

// Batches is the number of batches of a stationary series for the confidence interval of its mean
// ([MeanInterval]); 0 while it is too short.
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

// MeanInterval is half the confidence interval of the mean of a stationary series, at a level such
// as 0.95, by batch means; infinite for 0.
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
	of := Of(means)
	time, _ := correlationTimes(y)
	time = min(time, batchLength*float64(each))
	inflation := 1 / (1 - (time-1/time)/(2*float64(each)))
	if r := min(0.8, NeighbourCorrelation(means)-0.25/math.Sqrt(float64(batches))); r > 0 {
		inflation = max(inflation, (1+r)/(1-r))
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(batches - 1)}.Quantile(0.5 + level/2)
	return t * math.Sqrt(of.Variance()/float64(batches)*inflation)
}

// Joined is a series of at most n observations, means of as many neighbours as that takes, without
// the odd ones at the beginning.
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

// correlationTimes are a series' correlation times in observations, at least 1, for a correlation
// half a standard error up, and a whole one.
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

// CorrelationTime is (1+r)/(1-r): so many observations of a first-order autoregressive series with
// neighbours' correlation r count as one.
func CorrelationTime(r float64) float64 { return (1 + r) / (1 - r) }

// NeighbourCorrelation estimates the correlation of neighbours; a sample's falls short by (1+3r)/n
// (Kendall 1954), which is made up for.
func NeighbourCorrelation(y []float64) float64 {
	n := float64(len(y))
	mean := lists.Sum(y, func(x float64) float64 { return x / n })
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

// Quantile of some values, between two of them in proportion (Hyndman and Fan 1996, definition 7);
// not a number without values.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	i := min(int(at), max(0, len(sorted)-2))
	if len(sorted) == 1 {
		return sorted[0]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
