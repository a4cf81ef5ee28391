package families

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/metrics"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

// Every order to 27 has diameter 2 and algebraic connectivity q. The cables of q = 5
// agree with another construction from the published definition
// (topologies/graphs/slimfly_q5.edges.gz of the reference data).
func TestSlimFly(t *testing.T) {
	for _, q := range []int{3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27} {
		x := topologytest.Build(t, "slim-fly", func(c *SlimFlyConfig) { c.Q = q })
		d := metrics.Measure(x.Graph()).Diameter()
		simtest.ErrorIf(t, d != 2, "q = %d: diameter %d", q, d)
		gap := metrics.AlgebraicConnectivity(x.Graph())
		simtest.ErrorIf(t, math.Abs(gap-float64(q)) > 1e-6, "q = %d: algebraic connectivity %v", q, gap)
	}
	x := topologytest.Build(t, "slim-fly", func(c *SlimFlyConfig) { c.Q = 5 })
	got := edgesHash(x.Graph())
	simtest.ErrorIf(t, got != "6d4effacea9da68c61345eb2026bc76d074e7195186ac7ba3ecdef23661520a6",
		"q = 5 has other cables than the reference: %s", got)
}

// Every two switches have exactly one path of two hops where a loop is one, that is A² = J + qI:
// neighbours have one common neighbour, or none if one of them is a quadric; others have one.
func TestPolarityGraph(t *testing.T) {
	for _, q := range []int{2, 3, 4, 5, 8, 9} {
		rows, quadric := polarity(q)
		n := 0
		for s := range rows {
			if quadric[s] {
				n++
			}
			paths := make([]int, len(rows))
			step := func(u topology.SwitchID) {
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
				step(topology.SwitchID(s))
			}
			for u, k := range paths {
				want := 1
				simtest.FatalIf(t, u != s && k != want || u == s && k != q+1,
					"q = %d: %d paths of two hops from %d to %d", q, k, s, u)
			}
		}
		simtest.ErrorIf(t, n != q+1, "q = %d: %d quadrics", q, n)
	}
}

// The cables of q = 7 and 13 agree with another construction from the published
// definition (topologies/graphs/polarfly_q*.edges.gz of the reference data), as does the
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
		x := topologytest.Build(t, "polarfly", func(d *PolarFlyConfig) { d.Q = c.q })
		got := edgesHash(x.Graph())
		simtest.ErrorIf(t, got != c.hash, "q = %d has other cables than the reference: %s", c.q, got)
		gap := metrics.AlgebraicConnectivity(x.Graph())
		simtest.ErrorIf(t, math.Abs(gap-c.gap) > 1e-5, "q = %d: algebraic connectivity %v, want %v", c.q, gap, c.gap)
	}
	// Lakhotia et al.'s size: 993 of the 1 + 32*32 switches of the Moore bound.
	x := topologytest.Build(t, "polarfly", func(c *PolarFlyConfig) { c.Q = 31 })
	m := metrics.Measure(x.Graph())
	simtest.ErrorIf(t, m.Switches != 993 || m.Terminals != 15888 || m.Diameter() != 2 || math.Abs(m.MooreEfficiency()-993.0/1025) > 1e-12,
		"%+v", m)
}

// The two properties of supernodes that the diameter rests on: every vertex has d neighbours, and G
// and f(G) have nothing in common and together all pairs, but for (i, f(i)) with iq.
func TestPolarStarSupernodes(t *testing.T) {
	check := func(name string, d int, rows [][]int, f []int, but func(i, j int) bool) {
		for i, row := range rows {
			simtest.FatalIf(t, len(row) != d, "%s %d: vertex %d has %d neighbours", name, d, i, len(row))
			for j := range rows {
				own := slices.Contains(row, j)
				image := slices.Contains(rows[slices.Index(f, i)], slices.Index(f, j))
				want := i != j && !but(i, j)
				simtest.FatalIf(t, (own != image) != want || own && image,
					"%s %d: vertices %d and %d: joined in G %v, in f(G) %v", name, d, i, j, own, image)
				simtest.FatalIf(t, slices.Contains(rows[f[f[i]]], f[f[j]]) != own, "%s %d: f twice is no automorphism", name, d)
			}
		}
	}
	for _, d := range []int{0, 3, 4, 7, 8, 11, 12, 27} {
		rows, f := quads(d)
		check("iq", d, rows, f, func(i, j int) bool { return f[i] == j })
	}
	for _, d := range []int{2, 4, 6, 8, 12, 14} {
		rows, f := paley(d)
		check("paley", d, rows, f, func(i, j int) bool { return false })
	}
}

// At most 3 hops, by search; ER_3 x Paley 5, of which the reference data's cycles are
// told, has 65 switches.
func TestPolarStarDiameter(t *testing.T) {
	for _, c := range []struct {
		config   PolarStarConfig
		switches int
		diameter int
	}{
		{PolarStarConfig{3, "paley", 2, 1}, 65, 3},
		{PolarStarConfig{2, "iq", 0, 1}, 14, 3},
		{PolarStarConfig{2, "paley", 2, 1}, 35, 3},
		{PolarStarConfig{4, "iq", 3, 1}, 168, 3},
		{PolarStarConfig{5, "paley", 6, 1}, 403, 3},
		{PolarStarConfig{7, "iq", 4, 1}, 570, 3},
		{PolarStarConfig{8, "paley", 4, 1}, 657, 3},
	} {
		g := topologytest.Build(t, "polarstar", func(d *PolarStarConfig) { *d = c.config }).Graph()
		if d := metrics.Measure(g).Diameter(); g.Switches() != c.switches || d != c.diameter {
			t.Errorf("%+v: %d switches, diameter %d", c.config, g.Switches(), d)
		}
	}
}

// edgesHash is the SHA-256 of a network's cables between switches, a line "u v" each, u
// < v, in ascending order.
func edgesHash(g *topology.Graph) string {
	h := sha256.New()
	n := g.Neighbors()
	for s := range topology.SwitchID(g.Switches()) {
		for _, t := range n.Of(s) {
			if s < t {
				fmt.Fprintf(h, "%d %d\n", s, t)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
