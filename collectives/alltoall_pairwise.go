package collectives

import (
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Registry, "alltoall-pairwise", "alltoall(v): in every round ranks exchange blocks in pairs", None{}, func(_ None, e Env) (Collective, error) {
		if err := e.check(); err != nil {
			return nil, err
		}
		return AlltoallPairwise(e), nil
	})
}

// AlltoallPairwise exchanges blocks in pairs (Thakur, Rabenseifner, Gropp,
// IJHPCA 2005, section 3.3, there for powers of two only: partner rank XOR k).
// For other numbers of ranks the partner in round k is k-rank mod N, which pairs
// all ranks but those with 2 rank = k mod N; they copy their own block. N-1
// rounds for a power of two, N for others.
func AlltoallPairwise(e Env) Collective {
	n := e.Ranks
	return &program{
		ranks:  n,
		rounds: always(n),
		round: func(rank, round int, dst []Op) []Op {
			peer := rank ^ round
			if n&(n-1) != 0 {
				peer = mod(round-rank, n)
			}
			if peer == rank {
				return append(dst, own(e, rank))
			}
			return append(dst, recvBlock(e, rank, peer, round), sendBlock(e, rank, peer, round))
		},
		contract: exchange(e),
	}
}
