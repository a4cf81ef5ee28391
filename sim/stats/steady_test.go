package stats

import (
	"github.com/weft-sim/weft/sim"
	"math"
	"testing"
)

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
