package topology

import (
	"math"
	"testing"
)

// Every two switches have exactly one path of two hops where a loop is one, that is
// A² = J + qI: neighbours have one common neighbour, or none if one of them is a
// quadric; others have one.
func TestPolarityGraph(t *testing.T) {
	for _, q := range []int{2, 3, 4, 5, 8, 9} {
		rows, quadric := polarity(q)
		n := 0
		for s := range rows {
			if quadric[s] {
				n++
			}
			paths := make([]int, len(rows))
			step := func(u SwitchID) {
				for _, v := range rows[u] {
					paths[v]++
				}
				if quadric[u] {
					paths[u]++
				}
			}
			for _, u := range rows[s] {
				step(u)
			}
			if quadric[s] {
				step(SwitchID(s))
			}
			for u, k := range paths {
				if want := 1; u != s && k != want || u == s && k != q+1 {
					t.Fatalf("q = %d: %d paths of two hops from %d to %d", q, k, s, u)
				}
			}
		}
		if n != q+1 {
			t.Errorf("q = %d: %d quadrics", q, n)
		}
	}
}

// The cables of q = 7 and 13 are those of another construction from the published
// definition (topologies/graphs/polarfly_q*.edges.gz of the reference data), as is the
// algebraic connectivity.
func TestPolarFly(t *testing.T) {
	for _, c := range []struct {
		q    int
		gap  float64
		hash string
	}{
		{7, 5.35425, "9394ca0435904919565ad4ac94ac04c65c382cca894685169cc5e86e00daa872"},
		{13, 10.39445, "151d4e217d610330cf8f78a14cf3e8b7423f52fb6833de5277fa8603fb4380f7"},
	} {
		x := build(t, "polarfly", func(d *PolarFlyConfig) { d.Q = c.q })
		if got := edgesHash(x.Graph()); got != c.hash {
			t.Errorf("q = %d has other cables than the reference: %s", c.q, got)
		}
		if gap := AlgebraicConnectivity(x.Graph()); math.Abs(gap-c.gap) > 1e-5 {
			t.Errorf("q = %d: algebraic connectivity %v, want %v", c.q, gap, c.gap)
		}
	}
	// Lakhotia et al.'s size: 993 of the 1 + 32*32 switches of the Moore bound.
	x := build(t, "polarfly", func(c *PolarFlyConfig) { c.Q = 31 })
	m := Measure(x.Graph())
	if m.Switches != 993 || m.Terminals != 15888 || m.Diameter() != 2 || math.Abs(m.MooreEfficiency()-993.0/1025) > 1e-12 {
		t.Errorf("%+v", m)
	}
}
