package collectives

import (
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Registry, "alltoall-ring", "alltoall(v): in round k to rank+k, from rank-k (virtual ring)", None{}, func(_ None, e Env) (Collective, error) {
		if err := e.check(); err != nil {
			return nil, err
		}
		return AlltoallRing(e), nil
	})
}

// AlltoallRing is the virtual ring: N-1 rounds; in round k = 1.. a rank sends
// to the rank k after it and receives from the rank k before it.
func AlltoallRing(e Env) Collective {
	n := e.Ranks
	return &program{
		ranks:  n,
		rounds: always(n),
		round: func(rank, round int, dst []Op) []Op {
			if round == 0 {
				return append(dst, own(e, rank))
			}
			return append(dst, recvBlock(e, rank, mod(rank-round, n), round), sendBlock(e, rank, (rank+round)%n, round))
		},
		contract: exchange(e),
	}
}
