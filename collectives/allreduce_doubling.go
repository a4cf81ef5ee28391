package collectives

import (
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Registry, "allreduce-recursive-doubling", "allreduce: exchange of the whole vector at doubling distances", None{}, func(_ None, e Env) (Collective, error) {
		if err := e.check(); err != nil {
			return nil, err
		}
		return AllreduceRecursiveDoubling(e.Ranks, int64(e.Bytes)), nil
	})
}

// AllreduceRecursiveDoubling (Thakur, Rabenseifner, Gropp, IJHPCA 2005, section
// 3.6). With N = 2^k + r, the even ones of the first 2r ranks first give their
// vector to the next odd rank and get the result from it at the end; the others
// exchange the whole vector k times.
func AllreduceRecursiveDoubling(n int, bytes int64) Collective {
	doublings, rest, position, rank := folded(n)
	return &program{
		ranks: n,
		rounds: func(rank int) int {
			switch {
			case rank >= 2*rest:
				return doublings
			case rank%2 == 0:
				return 2
			}
			return doublings + 2
		},
		round: func(r, round int, dst []Op) []Op {
			message := func(kind Kind, peer int, tag int, combine bool) Op {
				return Op{Kind: kind, Peer: int32(peer), Tag: int32(tag), Bytes: bytes, Combine: combine, Data: Slot(0)}
			}
			if r < 2*rest {
				switch {
				case r%2 == 0 && round == 0:
					return append(dst, message(Send, r+1, 0, false))
				case r%2 == 0:
					return append(dst, message(Recv, r+1, doublings+1, false))
				case round == 0:
					return append(dst, message(Recv, r-1, 0, true))
				case round == doublings+1:
					return append(dst, message(Send, r-1, doublings+1, false))
				}
				round--
			}
			peer := rank(position(r) ^ 1<<round)
			return append(dst, message(Recv, peer, round+1, true), message(Send, peer, round+1, false))
		},
		contract: reduction(n, 1, func(int) int64 { return bytes }, false, nil),
	}
}

// folded makes 2^doublings of n ranks: of the first 2*rest the even ones leave what they have to
// the next odd one. The others have positions from 0 on.
func folded(n int) (doublings, rest int, position, rank func(int) int) {
	doublings = log2Ceil(n+1) - 1 // floor of log2 n
	rest = n - 1<<doublings
	position = func(rank int) int {
		if rank < 2*rest {
			return rank / 2
		}
		return rank - rest
	}
	rank = func(position int) int {
		if position < rest {
			return 2*position + 1
		}
		return position + rest
	}
	return doublings, rest, position, rank
}
