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

func init() {
	param.Register(Registry, "allgather-ring", "allgather: every rank passes on around a ring what it got last", None{}, func(_ None, e Env) (Collective, error) {
		if err := e.check(); err != nil {
			return nil, err
		}
		return AllgatherRing(e.Ranks, int64(e.Bytes)), nil
	})
}

// ringAllgatherRound is round k of an allgather around a ring of n positions:
// position v sends slot v-k on to v+1 and gets slot v-k-1. Size is that of a
// slot, rank turns positions into ranks.
func ringAllgatherRound(v, k, n int, size func(slot int) int64, rank func(v int) int, dst []Op) []Op {
	out, in := mod(v-k, n), mod(v-k-1, n)
	return append(dst,
		Op{Kind: Recv, Peer: int32(rank(mod(v-1, n))), Tag: int32(k), Bytes: size(in), Data: Slot(in)},
		Op{Kind: Send, Peer: int32(rank((v + 1) % n)), Tag: int32(k), Bytes: size(out), Data: Slot(out)})
}

// AllgatherRing takes N-1 rounds of one block (Thakur, Rabenseifner, Gropp,
// IJHPCA 2005, section 3.1).
func AllgatherRing(n int, bytes int64) Collective {
	size := func(int) int64 { return bytes }
	same := func(v int) int { return v }
	return &program{
		ranks:  n,
		rounds: always(n - 1),
		round: func(rank, round int, dst []Op) []Op {
			return ringAllgatherRound(rank, round, n, size, same, dst)
		},
		contract: gathering(n, size, same),
	}
}

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
