package skeletons

import (
	"math/bits"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

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
		return mpi.Iterate(body, c.times(p.iterations)), nil
	})
}

type ftClass struct{ nx, ny, nz, iterations int }

// Problem sizes: Bailey et al., The NAS Parallel Benchmarks, and NPB 3 for
// classes D and E.
var ftClasses = map[string]ftClass{
	"A": {256, 256, 128, 6},
	"B": {512, 256, 256, 20},
	"C": {512, 512, 512, 20},
	"D": {2048, 1024, 1024, 25},
	"E": {4096, 2048, 2048, 25},
}

// FTLayout is NPB's division of the ranks: np2 consecutive ranks share a row,
// ranks with equal number in their rows a column of np1. Up to nz ranks the
// layout is 1-D (np1 = 1); beyond, np1 = nz.
func FTLayout(class string, ranks int) (np1, np2 int) {
	if nz := ftClasses[class].nz; ranks > nz {
		return nz, ranks / nz
	}
	return 1, ranks
}

// ftIteration is one iteration: an inverse FFT and a checksum. The 1-D layout
// transposes once, among all; the 2-D layout twice, within rows and within
// columns. Every rank holds nx*ny*nz/ranks points of 16 bytes.
func ftIteration(c FT, p ftClass, e Env) (collectives.Schedule, error) {
	n := e.Ranks
	np1, np2 := FTLayout(c.Class, n)
	points := p.nx * p.ny * p.nz
	if err := needRanks("nas-ft", n >= 1 && np1*np2 == n && points%(n*max(np1, np2)) == 0 && n <= p.ny*p.nz, n, "a power of two, within the class's ny*nz,"); err != nil {
		return nil, err
	}
	bytes := sim.Bytes(points / n * 16)
	parts := []collectives.Schedule{collectives.Work(n, c.Compute)}
	transpose := func(size int, locate func(int) (int, int), member func(int, int) int) error {
		a, err := collectives.Registry.New(c.Alltoall, collectives.Env{Ranks: size, PerNode: e.PerNode, Bytes: bytes / sim.Bytes(size)})
		if err == nil {
			parts = append(parts, collectives.Split(a, n, locate, member))
		}
		return err
	}
	rows := bits.TrailingZeros(uint(np2)) // np2 is a power of two
	if np2 > 1 {
		if err := transpose(np2, func(r int) (int, int) { return r >> rows, r & (np2 - 1) }, func(g, i int) int { return g<<rows + i }); err != nil {
			return nil, err
		}
	}
	if np1 > 1 {
		if err := transpose(np1, func(r int) (int, int) { return r & (np2 - 1), r >> rows }, func(g, i int) int { return i<<rows + g }); err != nil {
			return nil, err
		}
	}
	const checksum = 16 // a complex number
	return collectives.Sequence(append(parts, collectives.ReduceBinomial(n, 0, checksum))...), nil
}

// FFT3D configures a 3-D FFT with one transpose a step, the application of the
// alltoall paper.
type FFT3D struct {
	Iterations
	N        int    `toml:"n" doc:"points along each dimension" min:"1"`
	Alltoall string `toml:"alltoall" doc:"algorithm of the transpose"`
}

func init() {
	param.Register(Registry, "fft3d", "3-D FFT in slabs: one alltoall of n^3*16/P^2 bytes a step", FFT3D{Iterations{3, 0}, 120, "alltoall-ring"}, func(c FFT3D, e Env) (Program, error) {
		block := c.N * c.N * c.N / e.Ranks * 16 / e.Ranks
		a, err := collectives.Registry.New(c.Alltoall, collectives.Env{Ranks: e.Ranks, PerNode: e.PerNode, Bytes: sim.Bytes(block)})
		if err != nil {
			return nil, err
		}
		return mpi.Iterate(collectives.Sequence(collectives.Work(e.Ranks, c.Compute), a), c.times(3)), nil
	})
}
