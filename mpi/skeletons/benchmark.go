package skeletons

import (
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/mpi"
)

// Benchmark is a program that stands for a benchmark, of which users know the figures.
type Benchmark interface {
	// Figures works them out from the mean time in seconds of an iteration's operation on each rank.
	Figures(times []float64) Figures
}

// Figures are what benchmarks print besides times, in bytes and messages a second; NaN is none.
type Figures struct {
	Bandwidth, Messages float64 // as osu_bw and osu_mbw_mr
	AlgBW, BusBW        float64 // as nccl-tests
}

// NoFigures are the figures of programs that measure nothing.
var NoFigures = Figures{math.NaN(), math.NaN(), math.NaN(), math.NaN()}

// windows is the test of bandwidth.
type windows struct {
	*mpi.Iterated
	Micro
}

// Figures counts the messages of all pairs in the time of the slowest sender, which ends with the answer.
func (w windows) Figures(times []float64) Figures {
	f := NoFigures
	half := len(times) / 2
	f.Messages = float64(w.Window*half) / slices.Max(times[:half])
	f.Bandwidth = f.Messages * float64(w.Bytes)
	return f
}

// Figures counts the bytes that a rank has in the end, or gives, in the mean time of the ranks, and what of
// them has to pass each rank's link in the best algorithm.
func (o osuAlltoall) Figures(times []float64) Figures {
	f := NoFigures
	ranks, bytes, time := float64(len(times)), float64(o.Bytes), 0.0
	for _, t := range times {
		time += t / ranks
	}
	others := (ranks - 1) / ranks
	switch operation, _, _ := strings.Cut(o.Algorithm.Name(), "-"); operation {
	case "alltoall", "allgather":
		f.AlgBW, f.BusBW = bytes*ranks/time, bytes*ranks/time*others
	case "allreduce":
		f.AlgBW, f.BusBW = bytes/time, bytes/time*2*others
	case "broadcast", "reduce":
		f.AlgBW, f.BusBW = bytes/time, bytes/time
	}
	return f
}
