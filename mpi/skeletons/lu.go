package skeletons

import (
	"math/bits"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// LU configures the skeleton of NAS LU.
type LU struct {
	Iterations
	Class string `toml:"class" doc:"problem class" choices:"A|B|C|D|E"`
}

func init() {
	param.Register(Registry, "nas-lu", "NAS LU: wavefronts of small messages over a 2-D grid, plane by plane", LU{Class: "A"}, func(c LU, e Env) (Program, error) {
		p := luClasses[c.Class]
		if err := needRanks("nas-lu", e.Ranks >= 1 && e.Ranks&(e.Ranks-1) == 0, e.Ranks, "a power of two"); err != nil {
			return nil, err
		}
		l := newLU(p.n, e.Ranks, c.Compute)
		if err := needRanks("nas-lu", l.xdim*4 <= p.n, e.Ranks, "at least 4 points a rank along each dimension,"); err != nil {
			return nil, err
		}
		return mpi.Iterate(l, c.times(p.iterations)), nil
	})
}

type luClass struct{ n, iterations int }

// Problem sizes: Bailey et al., The NAS Parallel Benchmarks, and NPB 3 for
// classes D and E.
var luClasses = map[string]luClass{"A": {64, 250}, "B": {102, 250}, "C": {162, 250}, "D": {408, 300}, "E": {1020, 300}}

// lu is one iteration (SSOR step) of NAS LU: a lower and an upper sweep over
// the inner planes, in each of which a rank receives from two neighbours,
// computes and sends to the other two (exchange_1), and an exchange of two
// planes of faces for the right-hand side (exchange_3). The computing time is
// spread evenly over the planes of both sweeps. Ranks are numbered along x
// first.
type lu struct {
	n, xdim, ydim  int
	ranks, planes  int
	plane          sim.Time // computing time
	alongX, alongY []int64  // bytes of a message to a neighbour in x, by y; in y, by x
}

func newLU(n, ranks int, compute sim.Time) *lu {
	dims := bits.Len(uint(ranks)) - 1
	xdim := 1 << ((dims + 1) / 2)
	l := &lu{n: n, xdim: xdim, ydim: ranks / xdim, ranks: ranks, planes: n - 2}
	l.plane = compute / sim.Time(2*l.planes)
	// The points of position i among so many positions, 5 variables each.
	side := func(positions int) []int64 {
		bytes := make([]int64, positions)
		for i := range bytes {
			bytes[i] = int64((i+1)*n/positions-i*n/positions) * 5 * 8
		}
		return bytes
	}
	l.alongX, l.alongY = side(l.ydim), side(l.xdim)
	return l
}

func (l *lu) Ranks() int     { return l.ranks }
func (l *lu) Rounds(int) int { return 2*3*l.planes + 1 }

func (l *lu) Round(rank, round int, dst []collectives.Op) []collectives.Op {
	x, y := rank%l.xdim, rank/l.xdim
	alongX, alongY := l.alongX[y], l.alongY[x]
	sweep := 6 * l.planes
	if round == sweep {
		// Two layers of all planes, with all neighbours at once.
		layers := int64(2 * l.n)
		for _, step := range []int{-1, 1} {
			if to := x + step; to >= 0 && to < l.xdim {
				dst = append(dst, collectives.RecvOp(rank+step, 2, layers*alongX), collectives.SendOp(rank+step, 2, layers*alongX))
			}
			if to := y + step; to >= 0 && to < l.ydim {
				dst = append(dst, collectives.RecvOp(rank+step*l.xdim, 2, layers*alongY), collectives.SendOp(rank+step*l.xdim, 2, layers*alongY))
			}
		}
		return dst
	}
	direction, tag := 1, 0 // the lower sweep goes up in x and y
	if round >= sweep/2 {
		direction, tag = -1, 1
	}
	at := func(step int, op func(peer, tag int, bytes int64) collectives.Op) {
		if to := x + step; to >= 0 && to < l.xdim {
			dst = append(dst, op(rank+step, tag, alongX))
		}
		if to := y + step; to >= 0 && to < l.ydim {
			dst = append(dst, op(rank+step*l.xdim, tag, alongY))
		}
	}
	switch round % 3 {
	case 0:
		at(-direction, collectives.RecvOp)
	case 1:
		dst = append(dst, collectives.Op{Kind: collectives.Compute, Time: l.plane})
	case 2:
		at(direction, collectives.SendOp)
	}
	return dst
}
