package measure

import (
	"math"
	"slices"
	"testing"
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
		r := &runner{course: course{slices: c.latency, hops: c.hops}}
		if got := r.hasSettled(true); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
