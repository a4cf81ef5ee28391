package collectives

import (
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Registry, "allreduce-ring", "allreduce: reduce-scatter, then allgather, both around a ring", None{}, func(_ None, e Env) (Collective, error) {
		if err := e.check(); err != nil {
			return nil, err
		}
		return AllreduceRing(e.Ranks, int64(e.Bytes)), nil
	})
}

// AllreduceRing (Patarasuk, Yuan, J. Parallel Distrib. Comput. 2009): in round
// k < N-1 rank r sends its partial sum of chunk r-k-1 on and combines chunk
// r-k-2; it ends up with the whole sum of chunk r, and N-1 rounds of a ring
// allgather follow. 2(N-1)/N of the vector passes each rank.
func AllreduceRing(n int, bytes int64) Collective {
	size := func(i int) int64 { return chunk(bytes, i, n) }
	return &program{
		ranks:  n,
		rounds: always(2 * (n - 1)),
		round: func(rank, round int, dst []Op) []Op {
			if round >= n-1 {
				return ringAllgatherRound(rank, round-(n-1), n, size, func(v int) int { return v }, dst)
			}
			out, in := mod(rank-round-1, n), mod(rank-round-2, n)
			return append(dst,
				Op{Kind: Recv, Peer: int32(mod(rank-1, n)), Tag: int32(round), Bytes: size(in), Combine: true, Data: Slot(in)},
				Op{Kind: Send, Peer: int32((rank + 1) % n), Tag: int32(round), Bytes: size(out), Data: Slot(out)})
		},
		contract: reduction(n, n, size, false, nil),
	}
}
