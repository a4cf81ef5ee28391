package mpi

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/stats"
)

// The daemon takes [3, 5), [13, 15), [23, 25) ...: of every 10 units the CPU has 8.
func TestDaemonTakesTheCPU(t *testing.T) {
	n := &noise{Noise: Noise{DaemonEvery: 10, DaemonTime: 2}, phase: []sim.Time{3}}
	for _, c := range []struct{ start, work, want sim.Time }{
		{0, 3, 3},     // done when the daemon comes
		{0, 4, 6},     // 3 before it, 1 behind it
		{3, 1, 6},     // comes with the daemon
		{4, 1, 6},     // in its midst
		{5, 8, 13},    // just the gap
		{5, 9, 16},    // one gap and 1
		{5, 16, 23},   // two gaps
		{5, 17, 26},   // two gaps and 1
		{0, 11, 13},   // 3 and one gap
		{0, 12, 16},   // 3, one gap and 1
		{14, 80, 113}, // ten gaps from 15 on: 15 + 10*10 - 2
		{7, 0, 7},     // no work, no wait
	} {
		if got := n.end(0, c.start, c.work); got != c.want {
			t.Errorf("%d units from %d end at %d, want %d", c.work, c.start, got, c.want)
		}
	}
	// Against taking one unit after the other.
	for start := sim.Time(0); start < 40; start++ {
		at, left := start, sim.Time(0)
		for work := sim.Time(1); work < 60; work++ {
			for left = 1; left > 0; at++ {
				if d := at - 3; d < 0 || d%10 >= 2 {
					left--
				}
			}
			if got := n.end(0, start, work); got != at {
				t.Fatalf("%d units from %d end at %d, want %d", work, start, got, at)
			}
		}
	}
}

// Means over 20,000 draws. Exponential: 1, with a standard error of 0.7 %. Normal
// with spread 0.25: 1, next to nothing being cut off, standard deviation 0.25.
// Spread 1: the mean of a normal variable of mean and deviation 1, given that it
// is positive, is 1 + f(1)/F(1) = 1 + 0.2420/0.8413 = 1.2876.
func TestNoiseDistributions(t *testing.T) {
	for _, c := range []struct {
		law             string
		spread          float64
		mean, deviation float64
	}{
		{Exponential, 0, 1, 1},
		{Normal, 0.25, 1, 0.25},
		{Normal, 1, 1.2876, 0.794},
	} {
		n := Noise{Spread: c.spread}
		s := sim.NewStream(7, "test", 0)
		var r stats.Running
		for range 20000 {
			r.Add(n.draw(&s, c.law))
		}
		if math.Abs(r.Mean()-c.mean) > 0.02 || math.Abs(math.Sqrt(r.Variance())-c.deviation) > 0.02 || r.Min() < 0 {
			t.Errorf("%s, spread %v: mean %.4f, deviation %.4f, least %v; want %v and %v", c.law, c.spread, r.Mean(), math.Sqrt(r.Variance()), r.Min(), c.mean, c.deviation)
		}
	}
}
