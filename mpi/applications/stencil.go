// Package applications holds programs of ranks beyond papers': stencils, solvers, training,
// storage, traffic, and programs of others.
package applications

import (
	"fmt"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Stencil configures the exchange with all neighbours on a grid of ranks, also at edges and
// corners: a 9-point or 27-point stencil.
type Stencil struct {
	skeletons.Iterations
	Dims   []int     `toml:"dims" doc:"ranks along each dimension; the first varies fastest" min:"1"`
	Wraps  bool      `toml:"wraps" doc:"the grid is a torus"`
	Bytes  sim.Bytes `toml:"bytes" doc:"size of a face" min:"0B"`
	Edge   sim.Bytes `toml:"edge" doc:"size of what goes to a neighbour along two dimensions" min:"0B"`
	Corner sim.Bytes `toml:"corner" doc:"size of what goes to a neighbour along three dimensions or more" min:"0B"`
}

func init() {
	param.Register(skeletons.Registry, "stencil", "every rank exchanges with all its grid neighbours, at faces, edges and corners, then computes", Stencil{skeletons.Iterations{Iterations: 10}, []int{4, 4}, false, 8192, 64, 8}, func(c Stencil, e skeletons.Env) (skeletons.Program, error) {
		if err := checkGrid(c.Dims, e.Ranks); err != nil {
			return nil, err
		}
		return mpi.Iterate(computeThen(e.Ranks, c.Compute, c.exchange(nil)), c.Times(10)), nil
	})
	param.Register(skeletons.Registry, "milc", "lattice QCD: halos on a 4-D torus of ranks to all 8 neighbours, twice, then two sums (MILC; Bernard et al., IJSA 1991; sizes as MFNetSim's, PADS 2025)", MILC{skeletons.Iterations{Iterations: 100, Compute: 25 * sim.Nanosecond}, []int{2, 2, 2, 2}, 497664}, newMILC)
	param.Register(skeletons.Registry, "lammps", "molecular dynamics: positions to the six neighbours on a 3-D torus, a dimension after the other, forces back, and every so often atoms and a sum (LAMMPS; Plimpton, J. Comp. Phys. 1995)", LAMMPS{skeletons.Iterations{Iterations: 10}, []int{4, 2, 2}, 65536, 16384, 5}, newLAMMPS)
	param.Register(skeletons.Registry, "random-neighbours", "every rank exchanges with neighbours drawn once, as on an unstructured mesh, then computes", RandomNeighbours{skeletons.Iterations{Iterations: 10}, 4, 8192, 1}, newRandomNeighbours)
}

// checkGrid refuses a grid that has not as many places as there are ranks.
func checkGrid(dims []int, ranks int) error {
	product := 1
	for _, d := range dims {
		product *= max(1, d)
		if product > ranks {
			break
		}
	}
	if product == ranks && len(dims) <= 8 {
		return nil
	}
	return &param.ParamError{Key: "dims", Value: dims, Want: fmt.Sprintf("at most 8 dimensions with a product of %d, the number of ranks", ranks)}
}

func computeThen(ranks int, t sim.Time, s collectives.Schedule) collectives.Schedule {
	if t == 0 {
		return s
	}
	return collectives.Sequence(s, collectives.Work(ranks, t))
}

// exchange is a round of sends to all neighbours and receives from them, posted by their shifts:
// numbers with a digit of base 3 for each dimension, the first one last, that is 1 where the
// neighbour is not apart. Where they are not ordered, they rise.
func (c Stencil) exchange(order []int) collectives.Schedule {
	ranks, shifts := 1, 1
	for _, d := range c.Dims {
		ranks *= d
		shifts *= 3
	}
	if order == nil {
		for shift := range shifts {
			order = append(order, shift)
		}
	}
	return collectives.Uniform(ranks, 1, func(rank, _ int, dst []collectives.Op) []collectives.Op {
		for _, shift := range order {
			peer, along, stride := 0, 0, 1
			for rest, dim := shift, 0; dim < len(c.Dims); dim++ {
				n := c.Dims[dim]
				at := rank/stride%n + rest%3 - 1
				if rest%3 != 1 {
					along++
				}
				if c.Wraps {
					at = (at + n) % n
				}
				if at < 0 || at >= n {
					peer = -1
					break
				}
				peer += at * stride
				stride *= n
				rest /= 3
			}
			if peer < 0 || peer == rank || along == 0 {
				continue
			}
			bytes := []sim.Bytes{c.Bytes, c.Edge, c.Corner}[min(along, 3)-1]
			// The other's shift back is the last shift less this one.
			dst = append(dst, collectives.RecvOp(peer, shifts-1-shift, int64(bytes)), collectives.SendOp(peer, shift, int64(bytes)))
		}
		return dst
	})
}

// byKind orders the shifts along so many dimensions: faces, a dimension after the other and each with
// this shift along it (0 back, 2 ahead) before the other, then corners, then edges.
func byKind(dims, first int) (order []int) {
	middle, place := 0, 1
	for range dims {
		middle += place
		place *= 3
	}
	for face := 1; face < place; face *= 3 {
		order = append(order, middle+(first-1)*face, middle-(first-1)*face)
	}
	along := func(shift int) (n int) {
		for digit := 1; digit < place; digit *= 3 {
			if shift/digit%3 != 1 {
				n++
			}
		}
		return n
	}
	var corners, edges []int
	for shift := range place {
		switch n := along(shift); {
		case n > 2:
			corners = append(corners, shift)
		case n == 2:
			edges = append(edges, shift)
		}
	}
	return append(append(order, corners...), edges...)
}

// MILC configures a lattice on a 4-D torus of ranks.
type MILC struct {
	skeletons.Iterations
	Dims  []int     `toml:"dims" doc:"ranks along each dimension; the first varies fastest" min:"1"`
	Bytes sim.Bytes `toml:"bytes" doc:"size of a message to a neighbour" min:"0B"`
}

func newMILC(c MILC, e skeletons.Env) (skeletons.Program, error) {
	if err := checkGrid(c.Dims, e.Ranks); err != nil {
		return nil, err
	}
	halo := Stencil{Dims: c.Dims, Wraps: true, Bytes: c.Bytes}.exchange(byKind(len(c.Dims), 0)[:2*len(c.Dims)]) // faces
	both := overlapped{halo, c.Compute}
	sum := collectives.AllreduceRecursiveDoubling(e.Ranks, 8)
	return mpi.Iterate(collectives.Sequence(both, both, sum, sum), c.Times(100)), nil
}

// overlapped computes, once, while the operations of each round are under way.
type overlapped struct {
	collectives.Schedule
	time sim.Time
}

func (o overlapped) Round(rank, round int, dst []collectives.Op) []collectives.Op {
	dst = o.Schedule.Round(rank, round, dst)
	if o.time > 0 {
		dst = append(dst, collectives.Op{Kind: collectives.Compute, Time: o.time})
	}
	return dst
}

// LAMMPS configures a domain decomposition in three dimensions.
type LAMMPS struct {
	skeletons.Iterations
	Dims    []int     `toml:"dims" doc:"ranks along each dimension; the first varies fastest" min:"1"`
	Bytes   sim.Bytes `toml:"bytes" doc:"positions, or forces, for a neighbour" min:"0B"`
	Atoms   sim.Bytes `toml:"atoms" doc:"atoms that move to a neighbour when lists of neighbours are made" min:"0B"`
	Rebuild int       `toml:"rebuild" doc:"iterations from one making of these lists to the next, a divisor of their number" min:"1" max:"1000"`
}

func newLAMMPS(c LAMMPS, e skeletons.Env) (skeletons.Program, error) {
	if err := checkGrid(c.Dims, e.Ranks); err != nil {
		return nil, err
	}
	n, times := e.Ranks, c.Times(10)
	if times%c.Rebuild != 0 {
		return nil, &param.ParamError{Key: "iterations", Value: times, Want: fmt.Sprintf("a multiple of rebuild = %d", c.Rebuild)}
	}
	// swaps go by dimension, so that corners come along; back, in the opposite order.
	swaps := func(bytes sim.Bytes, back bool) (all []collectives.Schedule) {
		for i := range c.Dims {
			dim := i
			if back {
				dim = len(c.Dims) - 1 - i
			}
			all = append(all, shiftAlong(c.Dims, dim, bytes, n))
		}
		return all
	}
	var steps []collectives.Schedule
	for i := range c.Rebuild {
		steps = append(steps, swaps(c.Bytes, false)...)
		steps = append(steps, collectives.Work(n, c.Compute))
		steps = append(steps, swaps(c.Bytes, true)...)
		if i == c.Rebuild-1 {
			steps = append(steps, swaps(c.Atoms, false)...)
			steps = append(steps, collectives.AllreduceRecursiveDoubling(n, 8))
		}
	}
	return mpi.Iterate(collectives.Sequence(steps...), times/c.Rebuild), nil
}

// shiftAlong is an exchange with both neighbours along one dimension of a torus.
func shiftAlong(dims []int, dim int, bytes sim.Bytes, ranks int) collectives.Schedule {
	stride := 1
	for _, d := range dims[:dim] {
		stride *= d
	}
	n := dims[dim]
	return collectives.Uniform(ranks, 1, func(rank, _ int, dst []collectives.Op) []collectives.Op {
		if n == 1 {
			return dst
		}
		at := rank / stride % n
		up, down := rank+((at+1)%n-at)*stride, rank+((at+n-1)%n-at)*stride
		return append(dst, collectives.RecvOp(down, 0, int64(bytes)), collectives.RecvOp(up, 1, int64(bytes)),
			collectives.SendOp(up, 0, int64(bytes)), collectives.SendOp(down, 1, int64(bytes)))
	})
}

// RandomNeighbours configures an unstructured mesh.
type RandomNeighbours struct {
	skeletons.Iterations
	Neighbours int       `toml:"neighbours" doc:"of a rank, an even number; some may be the same" min:"2" max:"4096"`
	Bytes      sim.Bytes `toml:"bytes" doc:"size of a message to a neighbour" min:"0B"`
	Seed       int64     `toml:"seed" doc:"of the neighbours" min:"0"`
}

func newRandomNeighbours(c RandomNeighbours, e skeletons.Env) (skeletons.Program, error) {
	if err := skeletons.NeedRanks("random-neighbours", e.Ranks >= 2, e.Ranks, "at least 2"); err != nil {
		return nil, err
	}
	if c.Neighbours%2 != 0 {
		return nil, &param.ParamError{Key: "neighbours", Value: c.Neighbours, Want: "an even number: a cycle of all ranks gives each two"}
	}
	// Each two are the ranks before and behind in a random cycle of all.
	var next, last [][]int32
	for i := range c.Neighbours / 2 {
		before, behind := cycle(e.Ranks, uint64(c.Seed), "random neighbours", i)
		next, last = append(next, behind), append(last, before)
	}
	exchange := collectives.Uniform(e.Ranks, 1, func(rank, _ int, dst []collectives.Op) []collectives.Op {
		for i := range next {
			to, from := int(next[i][rank]), int(last[i][rank])
			dst = append(dst, collectives.RecvOp(from, 2*i, int64(c.Bytes)), collectives.RecvOp(to, 2*i+1, int64(c.Bytes)),
				collectives.SendOp(to, 2*i, int64(c.Bytes)), collectives.SendOp(from, 2*i+1, int64(c.Bytes)))
		}
		return dst
	})
	return mpi.Iterate(computeThen(e.Ranks, c.Compute, exchange), c.Times(10)), nil
}
