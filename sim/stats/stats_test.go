package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim"
	"gonum.org/v1/gonum/stat"
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
