// Package skeletons holds the programs that stand for applications: what they send and when, with
// given computing.
package skeletons

import (
	"cmp"
	"fmt"
	"math/bits"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// Registry holds the programs that stand for applications, by what they send between computing.
var Registry = param.NewRegistry[Env, Program]("skeleton")

// Program is something that ranks can run any number of times.
type Program interface {
	// Run starts a run on a machine with a time unit; costs are of local work that the program
	// leaves open.
	Run(unit sim.Time, costs mpi.Costs) mpi.Workload
}

// Needs is what a program has of each rank, and their number.
type Needs struct{ Ranks, CPUs, NICs int }

// NeedsOf finds it; of a schedule nothing is made that grows with the ranks.
func NeedsOf(p Program) Needs {
	if s, ok := p.(collectives.Schedule); ok {
		return Needs{s.Ranks(), 1, 1}
	}
	w := p.Run(sim.Nanosecond, mpi.Costs{})
	return Needs{w.Ranks(), w.CPUs(), w.NICs()}
}

// Env is what a skeleton is built for.
type Env struct {
	Ranks   int
	PerNode int // ranks on a node, for the algorithms that know of nodes
}

// Iterations is how often a skeleton repeats; Compute is every rank's computing time in each.
type Iterations struct {
	Iterations int      `toml:"iterations" doc:"iterations to simulate; 0: as many as the benchmark has" min:"0"`
	Compute    sim.Time `toml:"compute" doc:"computing time of a rank per iteration" min:"0ns"`
}

// Times is how often: standard unless the settings say otherwise.
func (it Iterations) Times(standard int) int { return cmp.Or(it.Iterations, standard) }

// NeedRanks refuses numbers of ranks that a skeleton cannot use.
func NeedRanks(skeleton string, ok bool, ranks int, want string) error {
	if ok {
		return nil
	}
	return &param.ParamError{Key: "ranks", Value: ranks, Want: fmt.Sprintf("%s for skeleton %q", want, skeleton)}
}

// FT configures the skeleton of NAS FT.
type FT struct {
	Iterations
	Class    string `toml:"class" doc:"problem class" choices:"A|B|C|D|E"`
	Alltoall string `toml:"alltoall" doc:"algorithm of the transposes"`
}

func init() {
	param.Register(Registry, "nas-ft", "NAS FT: 3-D FFT, transposes by alltoall, 1-D or 2-D layout", FT{Class: "A", Alltoall: "alltoall-pairwise"}, func(c FT, e Env) (Program, error) {
		p := ftClasses[c.Class]
		body, err := ftIteration(c, p, e)
		if err != nil {
			return nil, err
		}
		return mpi.Iterate(body, c.Times(p.iterations)), nil
	})
}

type ftClass struct{ nx, ny, nz, iterations int }

// NAS configures the skeletons of NAS CG, LU and MG.
type NAS struct {
	Iterations
	Class string `toml:"class" doc:"problem class" choices:"A|B|C|D|E"`
}

// nasClass is a problem of one size.
type nasClass struct{ n, iterations int }

// Problem sizes: Bailey et al., The NAS Parallel Benchmarks, and NPB 3 for classes D and E.
var ftClasses = map[string]ftClass{
	"A": {256, 256, 128, 6},
	"B": {512, 256, 256, 20},
	"C": {512, 512, 512, 20},
	"D": {2048, 1024, 1024, 25},
	"E": {4096, 2048, 2048, 25},
}

// FTLayout is NPB's division of the ranks: np2 consecutive ranks share a row, ranks of equal number
// in their rows a column of np1. Up to nz ranks it is 1-D (np1 = 1); beyond, np1 = nz.
func FTLayout(class string, ranks int) (np1, np2 int) {
	if nz := ftClasses[class].nz; ranks > nz {
		return nz, ranks / nz
	}
	return 1, ranks
}

// ftIteration is an inverse FFT and a checksum. The 1-D layout transposes once, among all; the 2-D
// layout twice, within rows and columns. Every rank holds nx*ny*nz/ranks points of 16 bytes.
func ftIteration(c FT, p ftClass, e Env) (collectives.Schedule, error) {
	n := e.Ranks
	np1, np2 := FTLayout(c.Class, n)
	points := p.nx * p.ny * p.nz
	if err := NeedRanks("nas-ft", n >= 1 && np1*np2 == n && points%(n*max(np1, np2)) == 0 && n <= p.ny*p.nz, n, "a power of two, within the class's ny*nz,"); err != nil {
		return nil, err
	}
	bytes := sim.Bytes(points / n * 16)
	parts := []collectives.Schedule{collectives.Work(n, c.Compute)}
	for _, transpose := range []struct{ size, stride int }{{np2, 1}, {np1, np2}} {
		if transpose.size == 1 {
			continue
		}
		a, err := collectives.Registry.New(c.Alltoall, collectives.Env{Ranks: transpose.size, PerNode: e.PerNode, Bytes: bytes / sim.Bytes(transpose.size)})
		if err != nil {
			return nil, err
		}
		parts = append(parts, collectives.Divide(a, n, transpose.stride))
	}
	const checksum = 16 // a complex number
	return collectives.Sequence(append(parts, collectives.ReduceBinomial(n, 0, checksum))...), nil
}

// FFT3D configures a 3-D FFT with one transpose a step, the application of the alltoall paper.
type FFT3D struct {
	Iterations
	N        int    `toml:"n" doc:"points along each dimension" min:"1" max:"100000"`
	Alltoall string `toml:"alltoall" doc:"algorithm of the transpose"`
}

func init() {
	param.Register(Registry, "fft3d", "3-D FFT in slabs: one alltoall of n^3*16/P^2 bytes a step", FFT3D{Iterations{3, 0}, 120, "alltoall-ring"}, func(c FFT3D, e Env) (Program, error) {
		block := c.N * c.N * c.N / e.Ranks * 16 / e.Ranks
		a, err := collectives.Registry.New(c.Alltoall, collectives.Env{Ranks: e.Ranks, PerNode: e.PerNode, Bytes: sim.Bytes(block)})
		if err != nil {
			return nil, err
		}
		return mpi.Iterate(collectives.Sequence(collectives.Work(e.Ranks, c.Compute), a), c.Times(3)), nil
	})
}

func init() {
	param.Register(Registry, "nas-lu", "NAS LU: wavefronts of small messages over a 2-D grid, plane by plane", NAS{Class: "A"}, func(c NAS, e Env) (Program, error) {
		p := luClasses[c.Class]
		if err := NeedRanks("nas-lu", e.Ranks >= 1 && e.Ranks&(e.Ranks-1) == 0, e.Ranks, "a power of two"); err != nil {
			return nil, err
		}
		xdim := 1 << (bits.Len(uint(e.Ranks)) / 2)
		if err := NeedRanks("nas-lu", xdim*4 <= p.n, e.Ranks, "at least 4 points a rank along each dimension,"); err != nil {
			return nil, err
		}
		return mpi.Iterate(luIteration(p.n, xdim, e.Ranks, c.Compute), c.Times(p.iterations)), nil
	})
}

// Problem sizes: Bailey et al., The NAS Parallel Benchmarks, and NPB 3 for classes D and E.
var luClasses = map[string]nasClass{"A": {64, 250}, "B": {102, 250}, "C": {162, 250}, "D": {408, 300}, "E": {1020, 300}}

// luIteration is one iteration (SSOR step) of NAS LU: a lower and an upper sweep over the inner planes,
// in each of which a rank receives from two neighbours, computes and sends to the other two
// (exchange_1), and an exchange of two planes of faces for the right-hand side (exchange_3). The
// computing time is spread evenly over the planes of both sweeps. Ranks are numbered along x first.
func luIteration(n, xdim, ranks int, compute sim.Time) collectives.Schedule {
	ydim, planes := ranks/xdim, n-2
	// sides are the bytes of the points of each position in a row of them, 5 variables each.
	sides := func(positions int) []int64 {
		return lists.Make(positions, func(i int) int64 { return int64((i+1)*n/positions-i*n/positions) * 5 * 8 })
	}
	across, along := sides(ydim), sides(xdim)
	sweep := 6 * planes
	return collectives.Uniform(ranks, sweep+1, func(rank, round int, dst []collectives.Op) []collectives.Op {
		x, y := rank%xdim, rank/xdim
		// neighbours visits those a step away in x and in y, with the bytes of a plane's message.
		neighbours := func(step int, visit func(peer int, bytes int64)) {
			if to := x + step; to >= 0 && to < xdim {
				visit(rank+step, across[y])
			}
			if to := y + step; to >= 0 && to < ydim {
				visit(rank+step*xdim, along[x])
			}
		}
		direction, tag := 1, 0 // the lower sweep goes up in x and y
		if round >= sweep/2 {
			direction, tag = -1, 1
		}
		switch {
		case round == sweep: // two layers of all planes, with all neighbours at once
			for _, step := range []int{-1, 1} {
				neighbours(step, func(peer int, bytes int64) {
					bytes *= int64(2 * n)
					dst = append(dst, collectives.RecvOp(peer, 2, bytes), collectives.SendOp(peer, 2, bytes))
				})
			}
		case round%3 == 0:
			neighbours(-direction, func(peer int, bytes int64) { dst = append(dst, collectives.RecvOp(peer, tag, bytes)) })
		case round%3 == 1:
			dst = append(dst, collectives.Op{Kind: collectives.Compute, Time: compute / sim.Time(2*planes)})
		default:
			neighbours(direction, func(peer int, bytes int64) { dst = append(dst, collectives.SendOp(peer, tag, bytes)) })
		}
		return dst
	})
}

// Halo configures the exchange of halos on a grid of ranks.
type Halo struct {
	Iterations
	Dims  []int     `toml:"dims" doc:"ranks along each dimension; the first varies slowest" min:"1"`
	Wraps bool      `toml:"wraps" doc:"the grid is a torus"`
	Bytes sim.Bytes `toml:"bytes" doc:"size of a face" min:"0B"`
}

func init() {
	param.Register(Registry, "halo", "every rank exchanges faces with its grid neighbours, then computes", Halo{Iterations{10, 0}, []int{4, 4}, true, 8192}, func(c Halo, e Env) (Program, error) {
		product := 1
		for _, d := range c.Dims {
			product *= d
		}
		if product != e.Ranks {
			return nil, &param.ParamError{Key: "dims", Value: c.Dims, Want: fmt.Sprintf("a product of %d, the number of ranks", e.Ranks)}
		}
		return mpi.Iterate(halo(c, e.Ranks), c.Times(10)), nil
	})
}

func halo(c Halo, ranks int) collectives.Schedule {
	return collectives.Uniform(ranks, 2, func(rank, round int, dst []collectives.Op) []collectives.Op {
		if round == 1 {
			return append(dst, collectives.Op{Kind: collectives.Compute, Time: c.Compute})
		}
		stride := ranks
		for dim, n := range c.Dims {
			stride /= n
			at := rank / stride % n
			for _, step := range []int{-1, 1} {
				to := at + step
				if c.Wraps {
					to = (to + n) % n
				}
				if to < 0 || to >= n || to == at {
					continue
				}
				peer := rank + (to-at)*stride
				// Tags tell the two directions apart where both lead to one rank.
				out, in := 2*dim+(step+1)/2, 2*dim+(1-step)/2
				dst = append(dst, collectives.RecvOp(peer, in, int64(c.Bytes)), collectives.SendOp(peer, out, int64(c.Bytes)))
			}
		}
		return dst
	})
}
