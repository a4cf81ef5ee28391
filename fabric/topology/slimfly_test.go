package topology

import (
	"math"
	"testing"
)

// Every order to 27 has diameter 2 and algebraic connectivity q. The cables of q = 5
// are those of another construction from the published definition
// (topologies/graphs/slimfly_q5.edges.gz of the reference data).
func TestSlimFly(t *testing.T) {
	for _, q := range []int{3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27} {
		x := build(t, "slim-fly", func(c *SlimFlyConfig) { c.Q = q })
		if d := Measure(x.Graph()).Diameter(); d != 2 {
			t.Errorf("q = %d: diameter %d", q, d)
		}
		if gap := AlgebraicConnectivity(x.Graph()); math.Abs(gap-float64(q)) > 1e-6 {
			t.Errorf("q = %d: algebraic connectivity %v", q, gap)
		}
	}
	x := build(t, "slim-fly", func(c *SlimFlyConfig) { c.Q = 5 })
	if got := edgesHash(x.Graph()); got != "6d4effacea9da68c61345eb2026bc76d074e7195186ac7ba3ecdef23661520a6" {
		t.Errorf("q = 5 has other cables than the reference: %s", got)
	}
}
