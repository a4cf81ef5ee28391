package stats

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/weft-sim/weft/sim"
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
	if r.Min() != slices.Min(x) || r.Max() != slices.Max(x) {
		t.Error("extremes differ")
	}
	// Two observations a and b: t(0.975, 1 degree) = 12.706, standard error |a-b|/2.
	var two Running
	two.Add(1)
	two.Add(3)
	if got := two.HalfWidth(0.95); math.Abs(got-12.706) > 0.001 {
		t.Errorf("half width of {1, 3} = %v, want 12.706", got)
	}
}

func TestHistogramBuckets(t *testing.T) {
	last := -1
	for x := int64(0); x < 1<<20; x++ {
		i := bucket(x)
		if from, to := BucketBounds(i); x < from || x >= to {
			t.Fatalf("%d is in bucket %d = [%d, %d)", x, i, from, to)
		}
		if i != last && i != last+1 {
			t.Fatalf("bucket of %d is %d after %d", x, i, last)
		}
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
		if got := h.Quantile(q); math.Abs(got-want) > want/256 {
			t.Errorf("quantile %v = %v, want %v within 1/256", q, got, want)
		}
	}
	if h.N() != 5000 || float64(h.Max()) != x[4999] {
		t.Errorf("n = %d, max = %d", h.N(), h.Max())
	}
}

// TestBatchMeansCoverage draws series with correlation 0.9 between neighbours
// (x' = 0.9 x + e) about 10 and counts how often the 95 % interval holds the
// mean. With 300 series the count is binomial: 95 % +- 4 standard deviations
// of 1.26 % each, and batch means are known to fall a little short, hence 88 %
// as the lower end; independent treatment of the observations covers 35 %.
func TestBatchMeansCoverage(t *testing.T) {
	covered, naive := 0, 0
	for series := range 300 {
		r := sim.NewStream(3, "coverage", series)
		b := NewBatchMeans(40, 8)
		var independent Running
		x := 0.0
		for range 200 {
			x = 0.9*x + r.Float64() - 0.5
		}
		for range 20000 {
			x = 0.9*x + r.Float64() - 0.5
			b.Add(10 + x)
			independent.Add(10 + x)
		}
		if math.Abs(b.Mean()-10) <= b.HalfWidth(0.95) {
			covered++
		}
		if math.Abs(b.Mean()-10) <= independent.HalfWidth(0.95) {
			naive++
		}
	}
	if covered < 264 || covered == 300 {
		t.Errorf("%d of 300 intervals hold the mean, want 264 to 299", covered)
	}
	if naive > 200 {
		t.Errorf("the naive interval holds the mean %d times of 300: the series is not correlated", naive)
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
	if !ok || math.Abs(g.Slope-3) > 1e-12 || math.Abs(g.Level-21) > 1e-12 || g.Time != 5 || g.StandardError > 1e-12 {
		t.Fatalf("%+v %v, want slope 3, level 21, time 5, no error", g, ok)
	}
	if e, low, high := g.Exponent(g.Level-6, 0.99); math.Abs(e-1) > 1e-12 || math.Abs(low-1) > 1e-9 || math.Abs(high-1) > 1e-9 {
		t.Errorf("exponent %v from %v to %v, want 1", e, low, high)
	}
	if _, ok := MeasureGrowth(x[:7], y[:7]); ok {
		t.Error("seven observations are enough")
	}
}

// TestGrowthError: five observations worth of white noise by hand. With
// y = 0 1 0 1 0 1 0 1 at t = 0..7 the mean is 1/2, the sum of squares of t is 42,
// of t*y -1/2*... = 2 (each pair adds 1/2), so the slope is 2/42 = 1/21. The
// residuals alternate, so that their correlation counts as none and the error is
// sqrt(RSS/6/42) with RSS = 8/4 - 2*2/42 = 80/42.
func TestGrowthError(t *testing.T) {
	g, _ := MeasureGrowth([]float64{0, 1, 2, 3, 4, 5, 6, 7}, []float64{0, 1, 0, 1, 0, 1, 0, 1})
	if want := math.Sqrt(80.0 / 42 / 6 / 42); math.Abs(g.Slope-1.0/21) > 1e-12 || math.Abs(g.StandardError-want) > 1e-12 || g.Freedom != 6 {
		t.Errorf("%+v, want slope 1/21, error %v, 6 degrees of freedom", g, want)
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
		if held < least || held == 1000 {
			t.Errorf("correlation %v: %d of 1000 intervals hold 0, want %d to 999", correlation, held, least)
		}
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
