package marking

import (
	"testing"

	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestREDMean: with a weight of 1/2 and 20, 20, 0, 40 flits waiting the mean is 10, 15, 7.5 and
// 23.75: marks above 10 are certain from 11 on. With a weight of 1 it is what waits.
func TestREDMean(t *testing.T) {
	for weight, want := range map[float64][4]bool{0.5: {false, true, false, true}, 1: {true, true, false, true}} {
		p := simtest.Must(Registry.New("red", atPort, param.Set("mark_from_flits", 10), param.Set("mark_to_flits", 11), param.Set("mark_weight", weight)))(t)
		for i, waiting := range []int{20, 20, 0, 40} {
			if got := p.Mark(&Leaving{Flits: 1, Waiting: waiting}); got != want[i] {
				t.Errorf("weight %g, %d flits wait: marked %v", weight, waiting, got)
			}
		}
	}
}

// TestREDProbability: half way between the ends half of mark_probability, 0.2, is marked: of 10,000
// packets 2,000, within four standard deviations, 4 * sqrt(10,000 * 0.2 * 0.8) = 160.
func TestREDProbability(t *testing.T) {
	p := simtest.Must(Registry.New("red", atPort, param.Set("mark_from_flits", 10), param.Set("mark_to_flits", 30), param.Set("mark_probability", 0.4)))(t)
	marked := 0
	for range 10_000 {
		if p.Mark(&Leaving{Flits: 1, Waiting: 20}) {
			marked++
		}
	}
	if marked < 1840 || marked > 2160 {
		t.Errorf("%d of 10,000 packets are marked, want 2,000", marked)
	}
}
