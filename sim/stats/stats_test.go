package stats

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

func sample(n int) []float64 {
	r, x := sim.NewStream(7, "sample", 0), make([]float64, n)
	for i := range x {
		x[i] = math.Exp(6 * r.Float64())
	}
	return x
}

func TestRunningAgainstGonum(t *testing.T) {
	x := sample(1000)
	var r Running
	for _, v := range x {
		r.Add(v)
	}
	mean, variance := stat.MeanVariance(x, nil)
	simtest.ErrorIf(t, math.Abs(r.Mean()-mean) > 1e-9*mean || math.Abs(r.Variance()-variance) > 1e-9*variance,
		"mean %v variance %v, want %v %v", r.Mean(), r.Variance(), mean, variance)
	simtest.ErrorIf(t, r.Min() != slices.Min(x) || r.Max() != slices.Max(x), "extremes differ")
	// Two observations a and b: t(0.975, 1 degree) = 12.706, standard error |a-b|/2.
	var two Running
	two.Add(1)
	two.Add(3)
	simtest.Near(t, two.HalfWidth(0.95), 12.706, 0.001, "half width of {1, 3}")
}

func TestHistogramBuckets(t *testing.T) {
	last := -1
	for x := int64(0); x < 1<<20; x++ {
		i := bucket(x)
		from, to := bucketBounds(i)
		simtest.FatalIf(t, x < from || x >= to, "%d is in bucket %d = [%d, %d)", x, i, from, to)
		simtest.FatalIf(t, i != last && i != last+1, "bucket of %d is %d after %d", x, i, last)
		last = i
	}
	i := bucket(math.MaxInt64)
	simtest.ErrorIf(t, i < 0 || i > 1<<14, "bucket of the largest value is %d", i)
}

// TestHistogramQuantiles holds the stated relative error of 1/256 against the nearest rank of the sorted sample.
func TestHistogramQuantiles(t *testing.T) {
	x := sample(5000)
	var h, half Histogram
	for i, v := range x {
		x[i] = math.Floor(v * 100)
		if i%2 == 0 {
			h.Add(int64(x[i]))
		} else {
			half.Add(int64(x[i]))
		}
	}
	h.Merge(&half)
	slices.Sort(x)
	for _, q := range []float64{0.001, 0.5, 0.95, 0.99, 1} {
		want := x[max(1, int(math.Ceil(q*float64(len(x)))))-1]
		simtest.Near(t, h.Quantile(q), want, want/256, "quantile %v", q)
	}
	simtest.ErrorIf(t, h.N() != 5000 || float64(h.Max()) != x[4999], "n = %d, max = %d", h.N(), h.Max())
}

// TestQuantileIsTheNearestRank: of 1 to 10 the first quartile is the value of rank
// ceil(2.5) = 3, and the median that of rank 5.
func TestQuantileIsTheNearestRank(t *testing.T) {
	var h Histogram
	for x := range int64(10) {
		h.Add(x + 1)
	}
	for q, want := range map[float64]float64{0.25: 3, 0.5: 5, 0.51: 6, 0: 1, 1: 10} {
		simtest.Equal(t, h.Quantile(q), want, "quantile %v of 1 to 10 is", q)
	}
	h.Add(300) // whose bucket, 300 and 301, has the middle 300.5
	simtest.Equal(t, h.Quantile(1), 300, "the largest value is")
	for q, want := range map[float64]float64{0: 1, 0.25: 1.75, 0.5: 2.5, 1: 4} { // between values
		simtest.Equal(t, Quantile([]float64{4, 2, 1, 3}, q), want, "quantile %v of 1 to 4 is", q)
	}
}

// TestGrowthOfALine: y = 6 + 3t at t = 1..9 has slope 3 and level 21 at t = 5;
// relative to what is above 6 its exponent is 3*5/15 = 1.
func TestGrowthOfALine(t *testing.T) {
	var x, y []float64
	for i := 1.0; i <= 9; i++ {
		x, y = append(x, i), append(y, 6+3*i)
	}
	g, ok := MeasureGrowth(x, y)
	simtest.FatalIf(t, !ok || math.Abs(g.Slope-3) > 1e-12 || math.Abs(g.Level-21) > 1e-12 || g.Time != 5 || g.StandardError > 1e-12,
		"%+v %v, want slope 3, level 21, time 5, no error", g, ok)
	e, low, high := g.Exponent(g.Level-6, 0.99)
	simtest.ErrorIf(t, math.Abs(e-1) > 1e-12 || math.Abs(low-1) > 1e-9 || math.Abs(high-1) > 1e-9, "exponent %v from %v to %v, want 1", e, low, high)
	_, ok = MeasureGrowth(x[:7], y[:7])
	simtest.ErrorIf(t, ok, "seven observations are enough")
	flat, _ := MeasureGrowth(x, make([]float64, 9))
	simtest.Alike(t, "without residuals the error and its freedom", flat.StandardError, 0, flat.Freedom, 9-2)
}

// TestGrowthError: five observations worth of white noise by hand. With y = 0 1 0 1 0 1 0 1 at t =
// 0..7 the mean is 1/2, the sum of squares of t is 42, of t*y -1/2*... = 2 (each pair adds 1/2), so
// the slope is 2/42 = 1/21. The residuals alternate, so that their correlation counts as none and
// the error is sqrt(RSS/6/42) with RSS = 8/4 - 2*2/42 = 80/42.
func TestGrowthError(t *testing.T) {
	g, _ := MeasureGrowth([]float64{0, 1, 2, 3, 4, 5, 6, 7}, []float64{0, 1, 0, 1, 0, 1, 0, 1})
	want := math.Sqrt(80.0 / 42 / 6 / 42)
	simtest.ErrorIf(t, math.Abs(g.Slope-1.0/21) > 1e-12 || math.Abs(g.StandardError-want) > 1e-12 || g.Freedom != 6,
		"%+v, want slope 1/21, error %v, 6 degrees of freedom", g, want)
}

// TestGrowthErrorOfCorrelatedResiduals: y = 0 0 1 1 three times and then mirrored has, at t = 0 to
// 23, no slope, the mean 1/2 and residuals of +-1/2, whose squares add up to 6. Of their 23 pairs
// of neighbours 13 agree and 10 do not: the products add up to 3/4, so that their correlation is
// 1/8 in the sample, and (1/8 + 2/24)/(1 - 4/24) = 1/4 without what the line takes of it. The
// observations are worth 24 (3/4)/(5/4) = 14.4, the sum of squares of t is 24 (24^2-1)/12 = 1150.
func TestGrowthErrorOfCorrelatedResiduals(t *testing.T) {
	var at, y []float64
	for i := range 24 {
		at = append(at, float64(i))
		y = append(y, float64(min(i, 23-i)%4/2))
	}
	g, _ := MeasureGrowth(at, y)
	want := math.Sqrt(6.0 / 22 / 1150 * 24 / 14.4)
	simtest.ErrorIf(t, math.Abs(g.Slope) > 1e-12 || math.Abs(g.StandardError-want) > 1e-12 || math.Abs(g.Freedom-12.4) > 1e-9,
		"%+v, want no slope, error %v, 12.4 degrees of freedom", g, want)
}

// TestTruncationPoint: behind one observation of 100 the series alternates between 1 and 2, and its statistic, the sum
// of squares over the square of the length, falls with the length: the cut is behind the first. With the outlier at
// place 30 of 40, which lies in the half that must be steady, there is no such half. Three observations that are equal
// by chance at the end of 16 are fewer than three eighths. Of equal statistics the longest series' counts: all of eight
// equal ones, or four behind four others, the second half.
func TestTruncationPoint(t *testing.T) {
	with := func(at int) []float64 {
		y := make([]float64, 40)
		for i := range y {
			y[i] = float64(1 + i%2)
		}
		y[at] = 100
		return y
	}
	for name, c := range map[string]struct {
		series  []float64
		cut     int
		settled bool
	}{
		"outlier first": {with(0), 1, true}, "outlier at 12": {with(12), 13, true}, "outlier at 22": {with(22), 23, false},
		"equal at the end": {append(with(0)[1:14], 1.5, 1.5, 1.5), 0, true}, "seven are too few": {make([]float64, 7), 0, false},
		"all equal": {make([]float64, 8), 0, true}, "halves": {[]float64{9, 9, 9, 9, 1, 1, 1, 1}, 4, true},
	} {
		cut, settled := TruncationPoint(c.series)
		simtest.ErrorIf(t, cut != c.cut || settled != c.settled, "%s: cut %d, settled %v; want %d, %v", name, cut, settled, c.cut, c.settled)
	}
}

// TestGrowthCoverage draws 1,000 series of 60 observations about a level of 10, neighbours correlated by 0, 0.5 and
// 0.8, and counts how often the 99 % interval of the exponent holds 0. Independent observations: 990 +- 4 standard
// deviations of 3.1. Where neighbours are correlated the correlation is itself estimated, from 60 observations, and the
// interval is somewhat too narrow: at least 96 %.
func TestGrowthCoverage(t *testing.T) {
	for correlation, least := range map[float64]int{0: 978, 0.5: 970, 0.8: 960} {
		held := 0
		for series := range 1000 {
			r, x := sim.NewStream(5, "growth", series), 0.0
			var at, y []float64
			for i := range 80 {
				x = correlation*x + r.Float64() - 0.5
				if i >= 20 {
					at, y = append(at, float64(i)), append(y, 10+x)
				}
			}
			g, _ := MeasureGrowth(at, y)
			if _, low, high := g.Exponent(g.Level, 0.99); low <= 0 && high >= 0 {
				held++
			}
		}
		simtest.ErrorIf(t, held < least || held == 1000, "correlation %v: %d of 1000 intervals hold 0, want %d to 999", correlation, held, least)
	}
}

// TestGrowthExponents: powers of time have their exponent, found in the middle of
// the second half of a run, within 0.03: a line is fitted to a curve.
func TestGrowthExponents(t *testing.T) {
	for _, power := range []float64{0, 0.5, 1, 1.5} {
		var x, y []float64
		for i := 64.0; i < 128; i++ {
			x, y = append(x, i), append(y, math.Pow(i, power))
		}
		g, _ := MeasureGrowth(x, y)
		e, _, _ := g.Exponent(g.Level, 0.99)
		simtest.ErrorIf(t, math.Abs(e-power) > 0.03, "t^%v: exponent %v", power, e)
	}
}

// alternating is 1 and 3 in turn: the mean is 2, and neighbours are not positively correlated.
func alternating(n int) []float64 {
	y := make([]float64, n)
	for i := range y {
		y[i] = float64(1 + i%2*2)
	}
	return y
}

// TestBatches: 40 observations without correlation count as correlated by its standard error, 1/sqrt(40) = 0.158, and
// each as 1.158/0.842 = 1.376: batches are at least 1.5 times that, 2.064 observations, long, and there are 19. Of 100
// there would be more than 20, of 8 8/(1.5 * 1.354/0.646) = 2, too few.
func TestBatches(t *testing.T) {
	for n, want := range map[int]int{40: 19, 100: 20, 128: 20, 8: 0, 0: 0} {
		simtest.Equal(t, Batches(alternating(n)), want, "batches of %d observations", n)
	}
}

// TestMeanInterval: the means of 5 batches of two are 1, 3, 1, 3, 1, about 9/5, with the variance (3*0.64 + 2*1.44)/4 =
// 1.2. Neighbours of the ten observations have the deviations
// -0.8 (6 times) and 1.2 (4 times), with squares that add up to 9.6; the five pairs within batches
// add 3*0.64 + 2*1.44 = 4.8, the four between them -4*0.96: 0.96 in all, and the correlation is (0.1 + 1/10)/(1 - 3/10)
// = 2/7. With half its standard error, sqrt((1 - 4/49)/10) = 0.30305, as the mean of (1+r)/(1-r) at r = 2/7 and at
// 0.58876: (1.8 + 3.8634)/2 = 2.8317, which is less than 1.5 times a batch. The variance grows by 1/(1 - (2.8317 -
// 1/2.8317)/4) = 2.6290; the quantile of Student's t for 4 degrees of freedom is 2.776445.
//
// Batches may be shorter than the correlation asks for. Of 1, -1, 0, 1 and -1, twice each, the products of neighbours
// add up to 2 and the squares to 8: r = (1/4 + 1/10)/(1 - 3/10) = 1/2, whose time, 3 and more, counts as 1.5 times a
// batch, 3. The variance of the means, 1, grows by 1/(1 - (3 - 1/3)/4) = 3; the means themselves are not correlated.
//
// Batches of one, 2, 0, -2, 0 and 0, have the variance 2. The products are 0, so that r = (1/5)/(1 - 3/5) = 1/2. Within
// batches 1.5 counts, which makes the variance 1/(1 - (1.5 - 1/1.5)/2) = 1.714 times as large; between them r, less
// 0.25/sqrt(5) = 0.1118, is 0.3882 and makes it 1.3882/0.6118 = 2.2690 times as large. What is constant has no width.
func TestMeanInterval(t *testing.T) {
	y := []float64{1, 1, 3, 3, 1, 1, 3, 3, 1, 1}
	want := func(variance, grows float64) float64 { return 2.776445 * math.Sqrt(variance/5*grows) }
	simtest.Near(t, MeanInterval(y, 0.95, 5), want(1.2, 2.6290), 1e-4, "half-width")
	simtest.Near(t, MeanInterval([]float64{1, 1, -1, -1, 0, 0, 1, 1, -1, -1}, 0.95, 5), want(1, 3), 1e-4, "of short batches")
	simtest.Near(t, MeanInterval([]float64{2, 0, -2, 0, 0}, 0.95, 5), want(2, 2.2690), 1e-4, "of correlated batches")
	simtest.Alike(t, "half-width", MeanInterval(y, 0.95, 0), math.Inf(1), MeanInterval(make([]float64, 10), 0.95, 5), 0)
}

// TestCorrelationTimes: six blocks of 16 observations, 1 and -1 in turn, with 0.45 and -0.45 added in turn.
// Neighbours alternate, so that their correlation is 0.6 and says 4 observations; joined by twos and fours
// they say 0.84 and 0.67. By eights they are 12 of 1, 1, -1, -1 and so on, of whose 11 products 6 are 1:
// r = (1/12 + 1/12)/(1 - 3/12) = 2/9, with its standard error, sqrt((1 - 4/81)/12) = 0.28146, 0.50368. An
// independent one are 8 (1+r)/(1-r) = 12.571 observations, up to 24.237.
func TestCorrelationTimes(t *testing.T) {
	var y []float64
	for i := range 96 {
		y = append(y, float64(1-i/16%2*2)+0.45*float64(1-i%2*2))
	}
	time, longest := correlationTimes(y)
	simtest.ErrorIf(t, math.Abs(time-18.404) > 0.01 || math.Abs(longest-24.237) > 0.01, "%v, up to %v", time, longest)
}

// TestCorrelatedBatches: of 1 (20 times), 2 (20 times) and so on up to 5, batch by batch, the batches themselves are
// correlated: the deviations -2 to 2 have the squares 10 and the products of neighbours 2+0+0+2 = 4, so that r = (0.4 +
// 0.2)/(1 - 0.6) = 1.5, of which 0.8 is the most. The variance, 2.5, grows by 1.8/0.2 = 9.
func TestCorrelatedBatches(t *testing.T) {
	var y []float64
	for i := range 100 {
		y = append(y, float64(1+i/20))
	}
	want := 2.776445 * math.Sqrt(2.5/5*9)
	simtest.Near(t, MeanInterval(y, 0.95, 5), want, 1e-6*want, "half-width")
}

// TestJoined: what is left over goes at the beginning.
func TestJoined(t *testing.T) {
	got, want := Joined([]float64{100, 1, 3, 5, 7, 2, 4}, 3), []float64{3, 13.0 / 3}
	simtest.ErrorIf(t, len(got) != 2 || math.Abs(got[0]-want[0]) > 1e-12 || math.Abs(got[1]-want[1]) > 1e-12, "joined %v, want %v", got, want)
	simtest.ErrorIf(t, len(Joined(alternating(6), 6)) != 6, "six of six are joined")
}

// TestMeanIntervalCoverage draws 600 series with correlations r between neighbours (x' = r x + e) about 10 and counts
// how often the 95 % interval holds the mean, where there is one. The count is binomial: 95 % +- 4 standard deviations
// of 0.9 % each is 91.4 to 98.6 %. Independent treatment of the observations covers 35 % at 0.9. A series of 60 is too
// short for an interval at 0.9, where an observation in 19 counts; one of 2,000 is not.
func TestMeanIntervalCoverage(t *testing.T) {
	for _, c := range []struct {
		correlation float64
		n           int
		any, all    bool // series have an interval
	}{{0, 60, true, true}, {0.5, 60, true, false}, {0.5, 500, true, true}, {0.9, 2000, true, true}, {0.9, 60, false, false}} {
		held, naive, intervals := 0, 0, 0
		for series := range 600 {
			r, x := sim.NewStream(3, "coverage", series), 0.0
			for range 200 {
				x = c.correlation*x + r.Float64() - 0.5
			}
			var all Running
			y := make([]float64, c.n)
			for i := range y {
				x = c.correlation*x + r.Float64() - 0.5
				y[i] = 10 + x
				all.Add(y[i])
			}
			if math.Abs(all.Mean()-10) <= all.HalfWidth(0.95) {
				naive++
			}
			half := MeanInterval(y, 0.95, Batches(y))
			if math.IsInf(half, 1) {
				continue
			}
			intervals++
			if math.Abs(all.Mean()-10) <= half {
				held++
			}
		}
		if !c.any {
			simtest.ErrorIf(t, intervals > 60, "correlation %v: %d of 600 series of %d have an interval", c.correlation, intervals, c.n)
			continue
		}
		share := float64(held) / float64(intervals)
		simtest.ErrorIf(t, intervals < 300 || c.all && intervals < 570 || share < 0.914 || share > 0.986,
			"correlation %v: %d of %d intervals of %d observations hold the mean", c.correlation, held, intervals, c.n)
		simtest.ErrorIf(t, c.correlation == 0.9 && naive > 300, "the naive interval holds the mean %d times of 600: the series is not correlated", naive)
	}
}
