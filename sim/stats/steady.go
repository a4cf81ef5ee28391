package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Growth says how a series y(t) that began at time 0 grows, as the exponent of
// the power of t that it follows: 0 for a series that has become stationary, 1
// for one that grows with time, 1/2 for one that diffuses, as a queue does whose
// load is just its capacity. It is (slope of y)·t/y in the middle of the
// observations, with the slope of the least-squares line.
type Growth struct {
	Slope         float64 // of y over time
	StandardError float64 // of Slope; neighbours may be correlated
	Freedom       float64 // degrees of freedom of StandardError
	Level         float64 // mean of y
	Time          float64 // mean of t
}

// leastObservations is what a line, its error and a correlation are estimated
// from at least.
const leastObservations = 8

// leastWorth is the least number of independent observations that correlated
// ones are taken for.
const leastWorth = 5

// MeasureGrowth fits a line to observations at times t (both slices of one
// length); ok is false for fewer than eight.
//
// The standard error takes the residuals for a first-order autoregressive
// series: with a correlation r between neighbours, n observations are worth
// n(1-r)/(1+r) (Law and Kelton 2000, section 4.4). The correlation found in the
// residuals of a line falls short by about (2+4r)/n, which is made up for
// (Kendall 1954, for a series about a line). No series is taken for worth less
// than five: one that is bent smoothly has residuals that are all correlation,
// though its slope is known well; the quantile for three degrees of freedom, 5.8
// at 99 %, keeps such intervals wide. Cost: linear.
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
	var squares, neighbours, before float64
	for i := range t {
		e := y[i] - g.Level - g.Slope*(t[i]-g.Time)
		squares += e * e
		if i > 0 {
			neighbours += e * before
		}
		before = e
	}
	correlation := 0.0
	if squares > 0 {
		correlation = max(0, (neighbours/squares+2/n)/(1-4/n))
	}
	worth := max(leastWorth, n*(1-correlation)/(1+correlation))
	g.Freedom = worth - 2
	g.StandardError = math.Sqrt(squares / (n - 2) / tt * n / worth)
	return g, true
}

// Exponent is the exponent relative to a level, usually [Growth.Level], with
// the limits of a two-sided confidence interval.
func (g Growth) Exponent(level, confidence float64) (exponent, low, high float64) {
	scale := g.Time / level
	half := g.StandardError * distuv.StudentsT{Sigma: 1, Nu: g.Freedom}.Quantile(0.5+confidence/2)
	return g.Slope * scale, (g.Slope - half) * scale, (g.Slope + half) * scale
}

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
