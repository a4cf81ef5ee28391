package collectives

func init() {
	registerVector("allgather-recursive-doubling", "allgather: exchange of all that is there at doubling distances; Bruck's where ranks are no power of two", AllgatherRecursiveDoubling)
	registerVector("allgather-neighbor-exchange", "allgather: pairs of blocks to and fro between neighbours, N/2 rounds; the ring where ranks are odd", AllgatherNeighborExchange)
}

// AllgatherRecursiveDoubling (Thakur, Rabenseifner, Gropp, IJHPCA 2005, section 3.1): in round k a rank
// exchanges the 2^k blocks of its group with the rank at distance 2^k. Numbers of ranks that are no power
// of two go by Bruck's algorithm, as in Open MPI.
func AllgatherRecursiveDoubling(n int, bytes int64) Collective {
	rounds := log2Ceil(n)
	if 1<<rounds != n {
		return AllgatherBruck(n, bytes)
	}
	size := func(int) int64 { return bytes }
	return &program{
		ranks:  n,
		rounds: always(rounds),
		round: func(rank, round int, dst []Op) []Op {
			d := 1 << round
			block := func(kind Kind, of int) Op {
				return Op{Kind: kind, Peer: int32(rank ^ d), Tag: int32(round), Bytes: bytes * int64(d), Data: Range(of&^(d-1), d)}
			}
			return append(dst, block(Recv, rank^d), block(Send, rank))
		},
		contract: gathering(n, size, func(slot int) int { return slot }),
	}
}

// AllgatherNeighborExchange (Chen, Zhang, Zhang, Yuan, HPC Asia 2005): ranks exchange their block with one
// neighbour and from then on, in turn with either, the two blocks that came last. Odd numbers of ranks go
// by the ring.
func AllgatherNeighborExchange(n int, bytes int64) Collective {
	if n%2 != 0 {
		return AllgatherRing(n, bytes)
	}
	size := func(int) int64 { return bytes }
	return &program{
		ranks:  n,
		rounds: always(max(1, n/2)),
		round: func(rank, round int, dst []Op) []Op {
			// Even ranks begin with the next rank and move up, odd ones with that before and move down.
			step := 1 - 2*(rank%2)
			first := mod(rank+step, n)
			if round == 0 {
				block := Op{Kind: Recv, Peer: int32(first), Bytes: bytes, Data: Slot(first)}
				send := block
				send.Kind, send.Data = Send, Slot(rank)
				return append(dst, block, send)
			}
			from := func(round int) int { // the first of the two blocks that come in a round
				turn := 1 - 2*(round%2)
				return mod(rank&^1+2*step*turn*((round+1)/2), n)
			}
			peer, last := first, rank&^1
			if round%2 == 1 {
				peer = mod(rank-step, n)
			}
			if round > 1 {
				last = from(round - 1)
			}
			pair := Op{Kind: Recv, Peer: int32(peer), Tag: int32(round), Bytes: 2 * bytes, Data: Range(from(round), 2)}
			send := pair
			send.Kind, send.Data = Send, Range(last, 2)
			return append(dst, pair, send)
		},
		contract: gathering(n, size, func(slot int) int { return slot }),
	}
}
