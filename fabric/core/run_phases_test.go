package core_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
)

// TestLearningWarmUp: a network that learns warms up for 4,000 cycles, or that doubled, and
// is cut off at half of the budget; one that does not learn warms up by the truncation rule.
func TestLearningWarmUp(t *testing.T) {
	n := dragonflyNetwork(t, "q-adaptive", 2, 4, 2)
	config := fabric.DefaultConfig()
	config.Switch.VCs = n.routing.VCs()
	if _, r := n.run(t, config, 0.1, 1, measure.Plan{Window: 100}); r.Warmup != 4000 && r.Warmup != 8000 {
		t.Errorf("warm-up of %d cycles at load 0.1", r.Warmup)
	}
	if _, r := n.run(t, config, 0.1, 1, measure.Plan{Window: 100, Budget: 6000}); r.Warmup != 3000 || r.Settled {
		t.Errorf("warm-up of %d cycles of a budget of 6,000, settled %v", r.Warmup, r.Settled)
	}
	if _, r := dragonflyNetwork(t, "min", 2, 4, 2).run(t, config, 0.1, 1, measure.Plan{Window: 100}); r.Warmup >= 4000 {
		t.Errorf("warm-up of %d cycles of minimal routing", r.Warmup)
	}
}
