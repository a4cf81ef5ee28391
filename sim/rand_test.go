package sim

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/stats"
)

func TestStreamsDifferByName(t *testing.T) {
	seen := map[uint64]string{}
	for _, role := range []string{"birth", "routing", ""} {
		for id := range 1000 {
			for seed := range uint64(3) {
				s := NewStream(seed, role, id)
				x := s.Uint64()
				other, dup := seen[x]
				simtest.FatalIf(t, dup, "streams %q and %q begin alike", other, role)
				seen[x] = role
			}
		}
	}
}

// TestStreamIsFrozen pins the sequence: results must not change from version
// to version without notice in the change log.
func TestStreamIsFrozen(t *testing.T) {
	s := NewStream(1, "birth", 0)
	want := [3]uint64{s.Uint64(), s.Uint64(), s.Uint64()}
	simtest.ErrorIf(t, want != [3]uint64{frozen0, frozen1, frozen2}, "stream (1, birth, 0) begins %#x", want)
}

// TestIntN counts 700,000 draws in 7 cells: chi-square with 6 degrees exceeds 35 once in 200,000.
func TestIntN(t *testing.T) {
	r := NewStream(5, "intn", 0)
	var cells [7]float64
	for range 700_000 {
		cells[r.IntN(7)]++
	}
	chi := 0.0
	for _, c := range cells {
		chi += (c - 100_000) * (c - 100_000) / 100_000
	}
	simtest.ErrorIf(t, chi > 35, "chi-square = %v, cells %v", chi, cells)
}

const (
	frozen0 = 0x9e36d39919c42cf7
	frozen1 = 0xc42d8fa4839bb5ca
	frozen2 = 0x51a66559fd0378da
)

// TestGeometric holds mean and variance against 1/p and (1-p)/p^2. With 200,000 draws the mean's
// standard error is sqrt(1-p)/(p*447); six of them are exceeded once in 5e8.
func TestGeometric(t *testing.T) {
	for _, p := range []float64{1, 0.7, 0.1, 0.001} {
		g, r := NewGeometric(p), NewStream(5, "geometric", 0)
		var x stats.Running
		for range 200_000 {
			x.Add(float64(g.Draw(&r)))
		}
		if d := math.Abs(x.Mean() - 1/p); d > 6*math.Sqrt(1-p)/p/447 {
			t.Errorf("p = %v: mean %v, want %v", p, x.Mean(), 1/p)
		}
		want := (1 - p) / p / p
		simtest.ErrorIf(t, math.Abs(x.Variance()-want) > 0.05*want, "p = %v: variance %v, want %v", p, x.Variance(), want)
	}
	r := NewStream(5, "geometric", 1)
	if x := NewGeometric(0).Draw(&r); x < 1<<59 {
		t.Errorf("p = 0 draws %d", x)
	}
}

// TestGeometricTable holds the table against the logarithm, at random and where
// the table's steps are.
func TestGeometricTable(t *testing.T) {
	r := NewStream(6, "geometric", 0)
	for _, p := range []float64{1e-6, 0.003, 0.1, 0.4, 0.97, 1 - 1e-12} {
		g := NewGeometric(p)
		for range 20_000 {
			before := r
			x := r.Uint64() >> 11
			got, want := g.Draw(&before), g.invert(x)
			simtest.FatalIf(t, got != want, "p = %v: fraction %#x draws %d, want %d", p, x, got, want)
		}
		for n, x := range g.tabulate().above {
			if x > 0 && g.invert(x-1) > int64(n)+1 {
				t.Fatalf("p = %v: %#x gives %d trials already", p, x-1, g.invert(x-1))
			}
			if x < 1<<53 && g.invert(x) <= int64(n)+1 {
				t.Fatalf("p = %v: %#x gives %d trials only, want more than %d", p, x, g.invert(x), n+1)
			}
		}
	}
}
