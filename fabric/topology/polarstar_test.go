package topology

import (
	"slices"
	"testing"
)

// The two properties of supernodes that the diameter rests on: every vertex has d
// neighbours, and G and f(G) have nothing in common and together all pairs, but for
// (i, f(i)) with iq.
func TestPolarStarSupernodes(t *testing.T) {
	check := func(name string, d int, rows [][]int, f []int, but func(i, j int) bool) {
		for i, row := range rows {
			if len(row) != d {
				t.Fatalf("%s %d: vertex %d has %d neighbours", name, d, i, len(row))
			}
			for j := range rows {
				own := slices.Contains(row, j)
				image := slices.Contains(rows[slices.Index(f, i)], slices.Index(f, j))
				if want := i != j && !but(i, j); (own != image) != want || own && image {
					t.Fatalf("%s %d: vertices %d and %d: joined in G %v, in f(G) %v", name, d, i, j, own, image)
				}
				if slices.Contains(rows[f[f[i]]], f[f[j]]) != own {
					t.Fatalf("%s %d: f twice is no automorphism", name, d)
				}
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
		g := build(t, "polarstar", func(d *PolarStarConfig) { *d = c.config }).Graph()
		if d := Measure(g).Diameter(); g.Switches() != c.switches || d != c.diameter {
			t.Errorf("%+v: %d switches, diameter %d", c.config, g.Switches(), d)
		}
	}
}
