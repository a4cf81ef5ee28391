package skeletons

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestFigures: what the benchmarks print. Two pairs exchange windows of 64 messages of 1,000 B; the
// slower sender takes 2 us: 128 messages in 2 us. Blocks and vectors of 100 B on four ranks, mean 1 us.
func TestFigures(t *testing.T) {
	none := math.NaN()
	env := Env{Ranks: 4, PerNode: 1}
	bandwidth := param.Choose(Registry, "osu-bandwidth")
	w := simtest.Must(bandwidth.Build(env))(t).(windows)
	w.Bytes = 1000
	same(t, "osu-bandwidth", w.Figures([]float64{1e-6, 2e-6, 9e-6, 9e-6}), Figures{64e9, 64e6, none, none})
	for name, want := range map[string]Figures{
		"alltoall-bruck":        {none, none, 400e6, 300e6}, // four blocks, three of them for others
		"allgather-ring":        {none, none, 400e6, 300e6},
		"allreduce-ring":        {none, none, 100e6, 150e6}, // 2 * 3/4
		"broadcast-binomial":    {none, none, 100e6, 100e6},
		"reduce-binomial":       {none, none, 100e6, 100e6},
		"barrier-dissemination": NoFigures,
	} {
		program := simtest.Must(newOSUAlltoall(OSUAlltoall{Bytes: 100, Algorithm: param.Choose(collectives.Registry, name), Iterations: 1}, env))(t)
		same(t, name, program.(Benchmark).Figures([]float64{0.5e-6, 1.5e-6, 1e-6, 1e-6}), want)
	}
}

func same(t *testing.T, name string, got, want Figures) {
	t.Helper()
	for i, pair := range [][2]float64{{got.Bandwidth, want.Bandwidth}, {got.Messages, want.Messages}, {got.AlgBW, want.AlgBW}, {got.BusBW, want.BusBW}} {
		if pair[0] != pair[0] && pair[1] != pair[1] {
			continue
		}
		simtest.ErrorIf(t, !(math.Abs(pair[0]/pair[1]-1) < 1e-12), "%s, figure %d: %v, want %v", name, i, pair[0], pair[1])
	}
}
