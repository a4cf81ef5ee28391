package collectives

func init() {
	registerVector("allreduce-ring", "allreduce: reduce-scatter, then allgather, both around a ring", AllreduceRing)
	registerVector("allreduce-recursive-doubling", "allreduce: exchange of the whole vector at doubling distances", AllreduceRecursiveDoubling)
	registerVector("allreduce-recursive-halving", "allreduce of long vectors: halves are reduced at doubling distances, and gathered on the way back", AllreduceRecursiveHalving)
	registerVector("allgather-ring", "allgather: every rank passes on around a ring what it got last", AllgatherRing)
	registerVector("allgather-bruck", "allgather: Bruck's, log2 N rounds of doubling blocks", AllgatherBruck)
	register("barrier-dissemination", "barrier: in round k every rank notifies the one 2^k further", func(e Env) Collective { return BarrierDissemination(e.Ranks) })
}

// AllreduceRing (Patarasuk, Yuan, J. Parallel Distrib. Comput. 2009): in round k < N-1 rank r sends
// its partial sum of chunk r-k-1 on and combines chunk r-k-2; it ends up with the whole sum of
// chunk r, and N-1 rounds of a ring allgather follow. 2(N-1)/N of the vector passes each rank.
func AllreduceRing(n int, bytes int64) Collective {
	size := func(i int) int64 { return chunk(bytes, i, n) }
	return even(n, 2*(n-1), reduction(n, n, size, false, nil), func(rank, round int, dst []Op) []Op {
		if round >= n-1 {
			return ringAllgatherRound(rank, round-(n-1), n, size, same, dst)
		}
		out, in := mod(rank-round-1, n), mod(rank-round-2, n)
		return append(dst,
			Op{Kind: Recv, Peer: int32(mod(rank-1, n)), Tag: int32(round), Bytes: size(in), Combine: true, Data: Slot(in)},
			Op{Kind: Send, Peer: int32((rank + 1) % n), Tag: int32(round), Bytes: size(out), Data: Slot(out)})
	})
}

// fold makes 2^k positions of n = 2^k + r ranks: the even ones of the first 2r first give the next
// odd rank their vector, and get the result from it at the end.
type fold struct{ n, rest, doublings int }

func newFold(n int) fold {
	k := log2Ceil(n+1) - 1 // floor of log2 n
	return fold{n, n - 1<<k, k}
}

func (f fold) rank(position int) int {
	if position < f.rest {
		return 2*position + 1
	}
	return position + f.rest
}

// program goes through rounds between the positions; vector has the bytes and slots of a rank's
// all.
func (f fold) program(rounds int, vector Op, contract Contract, round func(position, round int, dst []Op) []Op) Collective {
	whole := func(kind Kind, peer, tag int, combine bool) Op {
		op := vector
		op.Kind, op.Peer, op.Tag, op.Combine = kind, int32(peer), int32(tag), combine
		return op
	}
	return &program{
		ranks: f.n,
		rounds: func(rank int) int {
			switch {
			case rank >= 2*f.rest:
				return rounds
			case rank%2 == 0:
				return 2
			}
			return rounds + 2
		},
		round: func(r, k int, dst []Op) []Op {
			if r < 2*f.rest {
				switch {
				case r%2 == 0 && k == 0:
					return append(dst, whole(Send, r+1, 0, false))
				case r%2 == 0:
					return append(dst, whole(Recv, r+1, rounds+1, false))
				case k == 0:
					return append(dst, whole(Recv, r-1, 0, true))
				case k == rounds+1:
					return append(dst, whole(Send, r-1, rounds+1, false))
				}
				k--
			}
			position := r - f.rest
			if r < 2*f.rest {
				position = r / 2
			}
			return round(position, k, dst)
		},
		contract: contract,
	}
}

// AllreduceRecursiveDoubling (Thakur, Rabenseifner, Gropp, IJHPCA 2005, section
// 3.6): of N = 2^k + r ranks, folded, 2^k exchange the whole vector k times.
func AllreduceRecursiveDoubling(n int, bytes int64) Collective {
	f, vector := newFold(n), Op{Bytes: bytes, Data: Slot(0)}
	contract := reduction(n, 1, func(int) int64 { return bytes }, false, nil)
	return f.program(f.doublings, vector, contract, func(position, round int, dst []Op) []Op {
		message := vector
		message.Peer, message.Tag = int32(f.rank(position^1<<round)), int32(round+1)
		receive := message
		receive.Kind, receive.Combine = Recv, true
		return append(dst, receive, message)
	})
}

// AllreduceRecursiveHalving (Rabenseifner 2004; Thakur, Rabenseifner, Gropp, IJHPCA 2005,
// section 3.6), as MPICH carries it out: of N = 2^k + r ranks, folded, 2^k reduce half of what they
// have with a partner at distance 1, then a quarter at distance 2, and so on, k times, and gather
// all of it at the same distances on the way back.
func AllreduceRecursiveHalving(n int, bytes int64) Collective {
	f := newFold(n)
	steps, chunks := f.doublings, 1<<f.doublings
	// held is the first of the chunks>>step chunks that a position has after so many steps.
	held := func(position, step int) (first int) {
		for s := range step {
			if position>>s&1 != 0 {
				first += chunks >> (s + 1)
			}
		}
		return first
	}
	contract := reduction(n, chunks, func(slot int) int64 { return chunk(bytes, slot, chunks) }, false, nil)
	return f.program(2*steps, Op{Bytes: bytes, Data: Range(0, chunks)}, contract, func(p, round int, dst []Op) []Op {
		back := round >= steps
		step := round
		if back {
			step = 2*steps - 1 - round
		}
		q, count := p^1<<step, chunks>>(step+1)
		message := func(kind Kind, first int) Op {
			size := chunkStart(bytes, first+count, chunks) - chunkStart(bytes, first, chunks)
			return Op{Kind: kind, Peer: int32(f.rank(q)), Tag: int32(round + 1), Bytes: size, Combine: kind == Recv && !back, Data: Range(first, count)}
		}
		in, out := held(p, step+1), held(q, step+1)
		if back {
			in, out = out, in
		}
		return append(dst, message(Recv, in), message(Send, out))
	})
}

// same is the rank that has a slot, where every rank has that of its number.
func same(v int) int { return v }

// ringAllgatherRound is round k of an allgather around a ring of n positions: position v sends slot
// v-k on to v+1 and gets slot v-k-1. size is by slot, rank turns positions into ranks.
func ringAllgatherRound(v, k, n int, size func(slot int) int64, rank func(v int) int, dst []Op) []Op {
	out, in := mod(v-k, n), mod(v-k-1, n)
	return append(dst,
		Op{Kind: Recv, Peer: int32(rank(mod(v-1, n))), Tag: int32(k), Bytes: size(in), Data: Slot(in)},
		Op{Kind: Send, Peer: int32(rank((v + 1) % n)), Tag: int32(k), Bytes: size(out), Data: Slot(out)})
}

// AllgatherRing takes N-1 rounds of a block (Thakur, Rabenseifner, Gropp, IJHPCA 2005, section
// 3.1).
func AllgatherRing(n int, bytes int64) Collective {
	size := func(int) int64 { return bytes }
	return even(n, n-1, gathering(n, size, same), func(rank, round int, dst []Op) []Op {
		return ringAllgatherRound(rank, round, n, size, same, dst)
	})
}

// AllgatherBruck (Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 1997): in round k a rank sends
// the first min(2^k, N-2^k) blocks that it has to the rank 2^k before and appends what it gets from
// the rank 2^k after; at the end block i stands at i-rank and is turned into place. Slots 0..N-1
// are the result, N..2N-1 the scratch buffer.
func AllgatherBruck(n int, bytes int64) Collective {
	rounds := log2Ceil(n)
	size := func(int) int64 { return bytes }
	return even(n, rounds+2, gathering(n, size, same).with(n, size, 0, nil, nil), func(rank, round int, dst []Op) []Op {
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
	})
}

// BarrierDissemination is the dissemination barrier (Hensgen, Finkel, Manber,
// Int. J. Parallel Programming 1988): ceil(log2 N) rounds; after round k a rank
// has heard, directly or not, of 2^(k+1) ranks. Messages are 1 byte.
func BarrierDissemination(n int) Collective {
	return even(n, log2Ceil(n), reduction(n, 1, func(int) int64 { return 1 }, true, nil), func(rank, round int, dst []Op) []Op {
		d := 1 << round
		return append(dst,
			Op{Kind: Recv, Peer: int32(mod(rank-d, n)), Tag: int32(round), Bytes: 1, Combine: true, Data: Slot(0)},
			Op{Kind: Send, Peer: int32((rank + d) % n), Tag: int32(round), Bytes: 1, Data: Slot(0)})
	})
}

// BarrierRecursiveDoubling is Open MPI's: of N = 2^k + r ranks the last r notify the first r at the
// start, and are told at the end; 2^k ranks notify each other at doubling distances. Messages are 1
// byte.
func BarrierRecursiveDoubling(n int) Collective {
	f := newFold(n)
	first := n - f.rest // of the last
	return &program{
		ranks: n,
		rounds: func(rank int) int {
			switch {
			case rank >= first:
				return 1
			case rank < f.rest:
				return f.doublings + 2
			}
			return f.doublings
		},
		round: func(rank, round int, dst []Op) []Op {
			note := func(kind Kind, peer, tag int) Op {
				return Op{Kind: kind, Peer: int32(peer), Tag: int32(tag), Bytes: 1, Combine: kind == Recv, Data: Slot(0)}
			}
			switch {
			case rank >= first:
				return append(dst, note(Recv, rank-first, f.doublings+1), note(Send, rank-first, 0))
			case rank < f.rest && round == 0:
				return append(dst, note(Recv, rank+first, 0))
			case rank < f.rest && round == f.doublings+1:
				return append(dst, note(Send, rank+first, round))
			case rank < f.rest:
				round--
			}
			return append(dst, note(Recv, rank^1<<round, round+1), note(Send, rank^1<<round, round+1))
		},
		contract: reduction(n, 1, func(int) int64 { return 1 }, true, nil),
	}
}
