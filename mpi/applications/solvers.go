package applications

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(skeletons.Registry, "sweep3d", "wavefronts over a 2-D grid from each corner, two octants of angles and block by block of planes (Sweep3D; Koch, Baker, Alcouffe 1992; Hoisie, Lubeck, Wasserman 2000)", Sweep3D{skeletons.Iterations{Iterations: 1}, []int{4, 4}, 4, 2400}, newSweep3D)
	param.Register(skeletons.Registry, "nas-cg", "NAS CG: sums of vectors within the rows of a 2-D grid, a transpose, and scalar products (Bailey et al., NAS-95-020)", skeletons.NAS{Class: "A"}, newCG)
	param.Register(skeletons.Registry, "nas-mg", "NAS MG: V-cycles with faces on a 3-D torus, smaller from level to level (Bailey et al., NAS-95-020)", skeletons.NAS{Class: "A"}, newMG)
}

// Sweep3D configures a transport sweep.
type Sweep3D struct {
	skeletons.Iterations
	Dims   []int     `toml:"dims" doc:"ranks along both dimensions; the first varies fastest" min:"1"`
	Blocks int       `toml:"blocks" doc:"blocks of planes and angles that follow each other in a sweep" min:"1" max:"100000"`
	Bytes  sim.Bytes `toml:"bytes" doc:"size of a face of a block" min:"0B"`
}

// newSweep3D: for each of eight octants, blocks go from corner to corner: a rank receives from two
// neighbours upstream, computes, and sends downstream.
func newSweep3D(c Sweep3D, e skeletons.Env) (skeletons.Program, error) {
	if err := checkGrid(c.Dims, e.Ranks); err != nil {
		return nil, err
	}
	if len(c.Dims) != 2 {
		return nil, &param.ParamError{Key: "dims", Value: c.Dims, Want: "two dimensions"}
	}
	nx, ny := c.Dims[0], c.Dims[1]
	const octants, stages = 8, 3
	sweep := collectives.Uniform(e.Ranks, octants*c.Blocks*stages, func(rank, round int, dst []collectives.Op) []collectives.Op {
		corner := round / stages / c.Blocks / 2 // two octants, above and below, from each
		dx, dy := 1-corner%2*2, 1-corner/2*2
		x, y := rank%nx, rank/nx
		ends := func(x, y int, op func(peer, tag int, bytes int64) collectives.Op, tag int) {
			if x >= 0 && x < nx && y >= 0 && y < ny {
				dst = append(dst, op(y*nx+x, tag, int64(c.Bytes)))
			}
		}
		switch round % stages {
		case 0:
			ends(x-dx, y, collectives.RecvOp, 0)
			ends(x, y-dy, collectives.RecvOp, 1)
		case 1:
			if c.Compute > 0 {
				dst = append(dst, collectives.Op{Kind: collectives.Compute, Time: c.Compute / sim.Time(octants*c.Blocks)})
			}
		case 2:
			ends(x+dx, y, collectives.SendOp, 0)
			ends(x, y+dy, collectives.SendOp, 1)
		}
		return dst
	})
	return mpi.Iterate(collectives.Sequence(sweep, collectives.AllreduceRecursiveDoubling(e.Ranks, 8)), c.Times(1)), nil
}

type problem struct{ n, iterations int }

// Order of the matrix and outer iterations (NPB 3).
var cgClasses = map[string]problem{
	"A": {14000, 15}, "B": {75000, 75}, "C": {150000, 75}, "D": {1500000, 100}, "E": {9000000, 100},
}

// newCG: of 2^k ranks, npcols = 2^ceil(k/2) stand in a row. An outer iteration has 25 steps of the
// conjugate gradients and the norm of the residual; each multiplies by the matrix: log2 npcols
// exchanges with which a row sums its vector, and one with the transposed rank; and
// has two sums of a number over the row, which is over all of them.
func newCG(c skeletons.NAS, e skeletons.Env) (skeletons.Program, error) {
	n := e.Ranks
	if err := skeletons.NeedRanks("nas-cg", n >= 1 && n&(n-1) == 0, n, "a power of two"); err != nil {
		return nil, err
	}
	class := cgClasses[c.Class]
	k := bits.TrailingZeros(uint(n))
	cols := 1 << ((k + 1) / 2)
	rows := n / cols
	piece := int64(class.n/rows+1) * 8 // of the vector, doubles
	inRow := func(rank, step int) int { return rank/cols*cols + (rank%cols ^ 1<<step) }
	steps := bits.TrailingZeros(uint(cols))
	// transposed is NPB's exch_proc.
	transposed := func(rank int) int {
		if cols == rows {
			return rank%rows*rows + rank/rows
		}
		return 2*((rank/2)%rows*rows+rank/2/rows) + rank%2
	}
	exchange := func(dst []collectives.Op, rank, peer int, bytes int64) []collectives.Op {
		if peer == rank {
			return dst
		}
		return append(dst, collectives.RecvOp(peer, 0, bytes), collectives.SendOp(peer, 0, bytes))
	}
	scalars := 2 // sums of a number in a step
	rounds := 1 + steps + 1 + scalars*steps
	step := collectives.Uniform(n, rounds, func(rank, round int, dst []collectives.Op) []collectives.Op {
		switch {
		case round == 0:
			if c.Compute > 0 {
				dst = append(dst, collectives.Op{Kind: collectives.Compute, Time: c.Compute / 26})
			}
		case round <= steps:
			return exchange(dst, rank, inRow(rank, round-1), piece)
		case round == steps+1:
			return exchange(dst, rank, transposed(rank), piece/int64(cols/rows))
		default:
			return exchange(dst, rank, inRow(rank, (round-steps-2)%max(1, steps)), 8)
		}
		return dst
	})
	const conjugateGradients = 25
	all := slices.Repeat([]collectives.Schedule{step}, conjugateGradients+1)
	return mpi.Iterate(collectives.Sequence(all...), c.Times(class.iterations)), nil
}

// Points along each dimension and iterations (NPB 3).
var mgClasses = map[string]problem{
	"A": {256, 4}, "B": {256, 20}, "C": {512, 20}, "D": {1024, 50}, "E": {2048, 50},
}

// newMG: a V-cycle goes from the finest level to the coarsest at which every rank has a point along
// each dimension, and back; at each level faces are exchanged by dimension, once downwards and
// twice upwards (residual, smoother).
func newMG(c skeletons.NAS, e skeletons.Env) (skeletons.Program, error) {
	n := e.Ranks
	if err := skeletons.NeedRanks("nas-mg", n >= 1 && n&(n-1) == 0, n, "a power of two"); err != nil {
		return nil, err
	}
	class := mgClasses[c.Class]
	dims := []int{1, 1, 1}
	for i, k := 0, bits.TrailingZeros(uint(n)); k > 0; i, k = i+1, k-1 {
		dims[i%3] *= 2
	}
	if dims[0] > class.n {
		return nil, &param.ParamError{Key: "ranks", Value: n, Want: fmt.Sprintf("at most %d along a dimension for class %s", class.n, c.Class)}
	}
	faces := func(points int) (all []collectives.Schedule) {
		for dim := range dims {
			area := 8 * int64(points/dims[(dim+1)%3]+2) * int64(points/dims[(dim+2)%3]+2)
			all = append(all, shiftAlong(dims, dim, sim.Bytes(area), n))
		}
		return all
	}
	var cycle []collectives.Schedule
	if c.Compute > 0 {
		cycle = append(cycle, collectives.Work(n, c.Compute))
	}
	for points := class.n; points >= dims[0]; points /= 2 {
		cycle = append(cycle, faces(points)...)
	}
	for points := dims[0]; points <= class.n; points *= 2 {
		cycle = append(append(cycle, faces(points)...), faces(points)...)
	}
	cycle = append(cycle, collectives.AllreduceRecursiveDoubling(n, 8))
	return mpi.Iterate(collectives.Sequence(cycle...), c.Times(class.iterations)), nil
}
