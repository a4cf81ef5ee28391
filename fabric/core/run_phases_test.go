package core_test

import (
	"math"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
)

// TestLearned: switches that learn have learned when the last quarter of 40, 80, 160 or so
// slices is like the one before, in latency within 10 % and in hops within 1 %.
func TestLearned(t *testing.T) {
	same := func(n int, x float64) []float64 { return slices.Repeat([]float64{x}, n) }
	ends := func(n int, first, last float64) []float64 { return append(same(n-n/4, first), same(n/4, last)...) }
	gap := same(40, 20)
	gap[39] = math.Inf(1) // nothing was delivered
	for _, c := range []struct {
		name          string
		latency, hops []float64
		want          bool
	}{
		{"too short", same(39, 20), same(39, 3), false},
		{"level", same(40, 20), same(40, 3), true},
		{"between lengths", same(60, 20), same(60, 3), false},
		{"three lengths", same(120, 20), same(120, 3), false},
		{"level for longer", same(160, 20), same(160, 3), true},
		{"latency falls by a ninth", ends(80, 20, 17.8), same(80, 3), false},
		{"by a twelfth", ends(80, 20, 18.3), same(80, 3), true},
		{"hops rise by 2 %", same(80, 20), ends(80, 3, 3.06), false},
		{"an empty slice", gap, slices.Clone(gap), true},
	} {
		if got := core.Learned(c.latency, c.hops); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestLearningWarmUp: a network that learns warms up for 4,000 cycles, or that doubled, and
// is cut off at half of the budget; one that does not learn warms up by the truncation rule.
func TestLearningWarmUp(t *testing.T) {
	n := dragonflyNetwork(t, "q-adaptive", 2, 4, 2)
	config := fabric.DefaultConfig()
	config.Switch.VCs = n.routing.VCs()
	if _, r := n.run(t, config, 0.1, 1, core.Plan{Window: 100}); r.Warmup != 4000 && r.Warmup != 8000 {
		t.Errorf("warm-up of %d cycles at load 0.1", r.Warmup)
	}
	if _, r := n.run(t, config, 0.1, 1, core.Plan{Window: 100, Budget: 6000}); r.Warmup != 3000 || r.Settled {
		t.Errorf("warm-up of %d cycles of a budget of 6,000, settled %v", r.Warmup, r.Settled)
	}
	if _, r := dragonflyNetwork(t, "min", 2, 4, 2).run(t, config, 0.1, 1, core.Plan{Window: 100}); r.Warmup >= 4000 {
		t.Errorf("warm-up of %d cycles of minimal routing", r.Warmup)
	}
}
