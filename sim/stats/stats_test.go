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
	r := sim.NewStream(7, "sample", 0)
	x := make([]float64, n)
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
	if math.Abs(r.Mean()-mean) > 1e-9*mean || math.Abs(r.Variance()-variance) > 1e-9*variance {
		t.Errorf("mean %v variance %v, want %v %v", r.Mean(), r.Variance(), mean, variance)
	}
	simtest.ErrorIf(t, r.Min() != slices.Min(x) || r.Max() != slices.Max(x), "extremes differ")
	// Two observations a and b: t(0.975, 1 degree) = 12.706, standard error |a-b|/2.
	var two Running
	two.Add(1)
	two.Add(3)
	got := two.HalfWidth(0.95)
	simtest.ErrorIf(t, math.Abs(got-12.706) > 0.001, "half width of {1, 3} = %v, want 12.706", got)
}

func TestHistogramBuckets(t *testing.T) {
	last := -1
	for x := int64(0); x < 1<<20; x++ {
		i := bucket(x)
		from, to := BucketBounds(i)
		simtest.FatalIf(t, x < from || x >= to, "%d is in bucket %d = [%d, %d)", x, i, from, to)
		simtest.FatalIf(t, i != last && i != last+1, "bucket of %d is %d after %d", x, i, last)
		last = i
	}
	if i := bucket(math.MaxInt64); i < 0 || i > 1<<14 {
		t.Errorf("bucket of the largest value is %d", i)
	}
}

// TestHistogramQuantiles holds the stated relative error of 1/256 against the
// nearest rank of the sorted sample.
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
		got := h.Quantile(q)
		simtest.ErrorIf(t, math.Abs(got-want) > want/256, "quantile %v = %v, want %v within 1/256", q, got, want)
	}
	if h.N() != 5000 || float64(h.Max()) != x[4999] {
		t.Errorf("n = %d, max = %d", h.N(), h.Max())
	}
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
	simtest.ErrorIf(t, math.Abs(e-1) > 1e-12 || math.Abs(low-1) > 1e-9 || math.Abs(high-1) > 1e-9,
		"exponent %v from %v to %v, want 1", e, low, high)
	if _, ok := MeasureGrowth(x[:7], y[:7]); ok {
		t.Error("seven observations are enough")
	}
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

// TestTruncationPoint: behind one observation of 100 the series alternates between 1 and 2, and
// its statistic, the sum of squares over the square of the length, falls with the length: the
// cut is behind the first. With the outlier at place 30 of 40, which lies in the half that must
// be steady, there is no such half. Three observations that are equal by chance at the end of 16 are
// fewer than three eighths.
func TestTruncationPoint(t *testing.T) {
	with := func(at int) []float64 {
		y := make([]float64, 40)
		for i := range y {
			y[i] = float64(1 + i%2)
		}
		y[at] = 100
		return y
	}
	if cut, settled := TruncationPoint(with(0)); cut != 1 || !settled {
		t.Errorf("outlier first: cut %d, settled %v; want 1, true", cut, settled)
	}
	if cut, settled := TruncationPoint(with(12)); cut != 13 || !settled {
		t.Errorf("outlier at 12: cut %d, settled %v; want 13, true", cut, settled)
	}
	if cut, settled := TruncationPoint(with(22)); cut != 23 || settled {
		t.Errorf("outlier at 22: cut %d, settled %v; want 23, false", cut, settled)
	}
	chance := append(with(0)[1:14], 1.5, 1.5, 1.5)
	if cut, settled := TruncationPoint(chance); cut != 0 || !settled {
		t.Errorf("equal at the end: cut %d, settled %v; want 0, true", cut, settled)
	}
	if _, settled := TruncationPoint(make([]float64, 7)); settled {
		t.Error("seven observations are enough")
	}
}

// TestGrowthCoverage draws 1,000 series of 60 observations about a level of 10,
// neighbours correlated by 0, 0.5 and 0.8, and counts how often the 99 % interval
// of the exponent holds 0. Independent observations: 990 +- 4 standard deviations
// of 3.1. Where neighbours are correlated the correlation is itself estimated,
// from 60 observations, and the interval is somewhat too narrow: at least 96 %.
func TestGrowthCoverage(t *testing.T) {
	for correlation, least := range map[float64]int{0: 978, 0.5: 970, 0.8: 960} {
		held := 0
		for series := range 1000 {
			r := sim.NewStream(5, "growth", series)
			x := 0.0
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
		simtest.ErrorIf(t, held < least || held == 1000,
			"correlation %v: %d of 1000 intervals hold 0, want %d to 999", correlation, held, least)
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
		if e, _, _ := g.Exponent(g.Level, 0.99); math.Abs(e-power) > 0.03 {
			t.Errorf("t^%v: exponent %v", power, e)
		}
	}
}
