package collectives

import (
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Registry, "allreduce-recursive-halving", "allreduce of long vectors: halves are reduced at doubling distances, and gathered on the way back", None{}, func(_ None, e Env) (Collective, error) {
		if err := e.check(); err != nil {
			return nil, err
		}
		return AllreduceRecursiveHalving(e.Ranks, int64(e.Bytes)), nil
	})
}

// AllreduceRecursiveHalving (Rabenseifner 2004; Thakur, Rabenseifner, Gropp, IJHPCA 2005,
// section 3.6), as MPICH carries it out: with N = 2^k + r, the even ones of the first 2r ranks
// give their vector to the next odd rank and get the result from it at the end. The others
// reduce half of what they have with a partner at distance 1, then a quarter at distance 2,
// and so on, k times, and gather all of it at the same distances on the way back.
func AllreduceRecursiveHalving(n int, bytes int64) Collective {
	steps, rest, position, rank := folded(n)
	chunks := 1 << steps
	// held is the first of the chunks>>step chunks that a position has after so many steps.
	held := func(position, step int) (first int) {
		for s := range step {
			if position>>s&1 != 0 {
				first += chunks >> (s + 1)
			}
		}
		return first
	}
	message := func(kind Kind, peer, tag, first, count int, combine bool) Op {
		size := chunkStart(bytes, first+count, chunks) - chunkStart(bytes, first, chunks)
		return Op{Kind: kind, Peer: int32(peer), Tag: int32(tag), Bytes: size, Combine: combine, Data: Range(first, count)}
	}
	last := 2*steps + 1 // tag of the result for those that do not take part
	return &program{
		ranks: n,
		rounds: func(rank int) int {
			switch {
			case rank >= 2*rest:
				return 2 * steps
			case rank%2 == 0:
				return 2
			}
			return 2*steps + 2
		},
		round: func(r, round int, dst []Op) []Op {
			if r < 2*rest {
				switch {
				case r%2 == 0 && round == 0:
					return append(dst, message(Send, r+1, 0, 0, chunks, false))
				case r%2 == 0:
					return append(dst, message(Recv, r+1, last, 0, chunks, false))
				case round == 0:
					return append(dst, message(Recv, r-1, 0, 0, chunks, true))
				case round == 2*steps+1:
					return append(dst, message(Send, r-1, last, 0, chunks, false))
				}
				round--
			}
			p, step := position(r), round
			if round >= steps {
				step = 2*steps - 1 - round
			}
			q := p ^ 1<<step
			own, other, count := held(p, step+1), held(q, step+1), chunks>>(step+1)
			if round < steps {
				return append(dst, message(Recv, rank(q), round+1, own, count, true), message(Send, rank(q), round+1, other, count, false))
			}
			return append(dst, message(Recv, rank(q), round+1, other, count, false), message(Send, rank(q), round+1, own, count, false))
		},
		contract: reduction(n, chunks, func(slot int) int64 { return chunk(bytes, slot, chunks) }, false, nil),
	}
}
