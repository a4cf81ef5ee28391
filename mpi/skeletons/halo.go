package skeletons

import (
	"fmt"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

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
		return mpi.Iterate(halo(c, e.Ranks), c.times(10)), nil
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
