package collectives

import (
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Registry, "allgather-bruck", "allgather: Bruck's, log2 N rounds of doubling blocks", None{}, func(_ None, e Env) (Collective, error) {
		if err := e.check(); err != nil {
			return nil, err
		}
		return AllgatherBruck(e.Ranks, int64(e.Bytes)), nil
	})
}

// AllgatherBruck (Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 1997): in round
// k a rank sends the first min(2^k, N-2^k) blocks that it has to the rank 2^k
// before and appends what it gets from the rank 2^k after; at the end block i
// stands at i-rank and is turned into place. Slots 0..N-1 are the result,
// N..2N-1 the scratch buffer.
func AllgatherBruck(n int, bytes int64) Collective {
	rounds := log2Ceil(n)
	return &program{
		ranks:  n,
		rounds: always(rounds + 2),
		round: func(rank, round int, dst []Op) []Op {
			switch round {
			case 0:
				return append(dst, Op{Kind: Copy, Bytes: bytes, Data: Slot(rank), Into: Slot(n)})
			case rounds + 1:
				return append(dst,
					Op{Kind: Copy, Bytes: bytes * int64(n-rank), Data: Range(n, n-rank), Into: Range(rank, n-rank)},
					Op{Kind: Copy, Bytes: bytes * int64(rank), Data: Range(2*n-rank, rank), Into: Range(0, rank)})
			}
			d := 1 << (round - 1)
			count := min(d, n-d)
			return append(dst,
				Op{Kind: Recv, Peer: int32((rank + d) % n), Tag: int32(round), Bytes: bytes * int64(count), Data: Range(n+d, count)},
				Op{Kind: Send, Peer: int32(mod(rank-d, n)), Tag: int32(round), Bytes: bytes * int64(count), Data: Range(n, count)})
		},
		contract: Contract{
			Slots:   2 * n,
			Bytes:   func(int, int) int64 { return bytes },
			Initial: func(rank, slot int) (Token, bool) { return Token(slot), slot == rank },
			Final: func(_, slot int, dst []Token) []Token {
				if slot >= n {
					return dst
				}
				return append(dst, Token(slot))
			},
		},
	}
}
