package stats

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// alternating is 1 and 3 in turn: the mean is 2, and neighbours are not positively correlated.
func alternating(n int) []float64 {
	y := make([]float64, n)
	for i := range y {
		y[i] = float64(1 + i%2*2)
	}
	return y
}

// TestBatches: 40 observations without correlation count as correlated by its standard error,
// 1/sqrt(40) = 0.158, and each as 1.158/0.842 = 1.376: batches are at least 1.5 times that,
// 2.064 observations, long, and there are 19. Of 100 there would be more than 20, of 8
// 8/(1.5 * 1.354/0.646) = 2, too few.
func TestBatches(t *testing.T) {
	for n, want := range map[int]int{40: 19, 100: 20, 128: 20, 8: 0, 0: 0} {
		got := Batches(alternating(n))
		simtest.ErrorIf(t, got != want, "%d batches of %d observations, want %d", got, n, want)
	}
}

// TestMeanInterval: the means of 5 batches of two are 1, 3, 1, 3, 1, about 9/5, with the
// variance (3*0.64 + 2*1.44)/4 = 1.2. Neighbours of the ten observations have the deviations
// -0.8 (6 times) and 1.2 (4 times), with squares that add up to 9.6; the five pairs within batches
// add 3*0.64 + 2*1.44 = 4.8, the four between them -4*0.96: 0.96 in all, and the correlation is
// (0.1 + 1/10)/(1 - 3/10) = 2/7. With half its standard error, sqrt((1 - 4/49)/10) = 0.30305, as
// the mean of (1+r)/(1-r) at r = 2/7 and at 0.58876: (1.8 + 3.8634)/2 = 2.8317, which is less than
// 1.5 times a batch. The variance grows by 1/(1 - (2.8317 - 1/2.8317)/4) = 2.6290; the quantile of
// Student's t for 4 degrees of freedom is 2.776445.
func TestMeanInterval(t *testing.T) {
	y := []float64{1, 1, 3, 3, 1, 1, 3, 3, 1, 1}
	want := 2.776445 * math.Sqrt(1.2/5*2.6290)
	if got := MeanInterval(y, 0.95, 5); math.Abs(got-want) > 1e-4*want {
		t.Errorf("half-width %v, want %v", got, want)
	}
	if got := MeanInterval(y, 0.95, 0); !math.IsInf(got, 1) {
		t.Errorf("half-width %v without batches", got)
	}
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

// TestCorrelatedBatches: of 1 (20 times), 2 (20 times) and so on up to 5, batch by batch, the
// batches themselves are correlated: the deviations -2 to 2 have the squares 10 and the products
// of neighbours 2+0+0+2 = 4, so that r = (0.4 + 0.2)/(1 - 0.6) = 1.5, of which 0.8 is the most.
// The variance, 2.5, grows by 1.8/0.2 = 9.
func TestCorrelatedBatches(t *testing.T) {
	var y []float64
	for i := range 100 {
		y = append(y, float64(1+i/20))
	}
	want := 2.776445 * math.Sqrt(2.5/5*9)
	got := MeanInterval(y, 0.95, 5)
	simtest.ErrorIf(t, math.Abs(got-want) > 1e-6*want, "half-width %v, want %v", got, want)
}

// TestJoined: what is left over goes at the beginning.
func TestJoined(t *testing.T) {
	got := Joined([]float64{100, 1, 3, 5, 7, 2, 4}, 3)
	want := []float64{3, 13.0 / 3}
	simtest.ErrorIf(t, len(got) != 2 || math.Abs(got[0]-want[0]) > 1e-12 || math.Abs(got[1]-want[1]) > 1e-12,
		"joined %v, want %v", got, want)
	y := alternating(6)
	simtest.ErrorIf(t, len(Joined(y, 6)) != 6, "six of six are joined")
}

// TestMeanIntervalCoverage draws 600 series with correlations r between neighbours
// (x' = r x + e) about 10 and counts how often the 95 % interval holds the mean, where there is
// one. The count is binomial: 95 % +- 4 standard deviations of 0.9 % each is 91.4 to 98.6 %.
// Independent treatment of the observations covers 35 % at 0.9. A series of 60 is too short for
// an interval at 0.9, where an observation in 19 counts; one of 2,000 is not.
func TestMeanIntervalCoverage(t *testing.T) {
	for _, c := range []struct {
		correlation float64
		n           int
		any, all    bool // series have an interval
	}{{0, 60, true, true}, {0.5, 60, true, false}, {0.5, 500, true, true}, {0.9, 2000, true, true}, {0.9, 60, false, false}} {
		held, naive, intervals := 0, 0, 0
		for series := range 600 {
			r := sim.NewStream(3, "coverage", series)
			x := 0.0
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
			simtest.ErrorIf(t, intervals > 60,
				"correlation %v: %d of 600 series of %d have an interval", c.correlation, intervals, c.n)
			continue
		}
		share := float64(held) / float64(intervals)
		simtest.ErrorIf(t, intervals < 300 || c.all && intervals < 570 || share < 0.914 || share > 0.986,
			"correlation %v: %d of %d intervals of %d observations hold the mean", c.correlation, held, intervals, c.n)
		simtest.ErrorIf(t, c.correlation == 0.9 && naive > 300,
			"the naive interval holds the mean %d times of 600: the series is not correlated", naive)
	}
}
