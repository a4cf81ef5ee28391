package collectives

import (
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Registry, "barrier-dissemination", "barrier: in round k every rank notifies the one 2^k further", None{}, func(_ None, e Env) (Collective, error) {
		if err := e.check(); err != nil {
			return nil, err
		}
		return BarrierDissemination(e.Ranks), nil
	})
}

// BarrierDissemination is the dissemination barrier (Hensgen, Finkel, Manber,
// Int. J. Parallel Programming 1988): ceil(log2 N) rounds; after round k a rank
// has heard, directly or not, of 2^(k+1) ranks. Messages are 1 byte.
func BarrierDissemination(n int) Collective {
	return &program{
		ranks:  n,
		rounds: always(log2Ceil(n)),
		round: func(rank, round int, dst []Op) []Op {
			d := 1 << round
			return append(dst,
				Op{Kind: Recv, Peer: int32(mod(rank-d, n)), Tag: int32(round), Bytes: 1, Combine: true, Data: Slot(0)},
				Op{Kind: Send, Peer: int32((rank + d) % n), Tag: int32(round), Bytes: 1, Data: Slot(0)})
		},
		contract: reduction(n, 1, func(int) int64 { return 1 }, true, nil),
	}
}
