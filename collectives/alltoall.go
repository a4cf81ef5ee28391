package collectives

func init() {
	register("alltoall-linear", "alltoall: all receives and sends at once", AlltoallLinear)
	register("alltoall-pairwise", "alltoall: in every round ranks exchange blocks in pairs", AlltoallPairwise)
	register("alltoall-ring", "alltoall: in round k to rank+k, from rank-k (virtual ring)", AlltoallRing)
	register("alltoall-ring-rendezvous", "alltoall: the ring, every block by rendezvous (RTS, CTS, RDMA write, FIN)", func(e Env) Collective {
		return ringBy(e, Rendezvous)
	})
	register("alltoall-direct-eager", "alltoall: the ring; receivers announce their addresses, senders write and tell (2 small messages a block)", AlltoallDirectEager)
	register("alltoall-bruck", "alltoall: Bruck's, log2 N rounds of half the blocks", AlltoallBruck)
}

// own copies a rank's block for itself.
func own(e Env, rank int) Op {
	return Op{Kind: Copy, Bytes: int64(e.Bytes), Data: Slot(rank), Into: Slot(e.Ranks + rank)}
}

// sendBlock and recvBlock move the blocks between rank and peer.
func sendBlock(e Env, rank, peer, tag int) Op {
	return Op{Kind: Send, Peer: int32(peer), Tag: int32(tag), Bytes: int64(e.Bytes), Data: Slot(peer)}
}

func recvBlock(e Env, rank, peer, tag int) Op {
	return Op{Kind: Recv, Peer: int32(peer), Tag: int32(tag), Bytes: int64(e.Bytes), Data: Slot(e.Ranks + peer)}
}

// AlltoallLinear posts N-1 receives and N-1 sends at once, neighbours first, and waits for all
// (Open MPI's "basic linear").
func AlltoallLinear(e Env) Collective {
	n := e.Ranks
	return even(n, 1, exchange(e), func(rank, _ int, dst []Op) []Op {
		for d := 1; d < n; d++ {
			dst = append(dst, recvBlock(e, rank, mod(rank-d, n), 0))
		}
		for d := 1; d < n; d++ {
			dst = append(dst, sendBlock(e, rank, (rank+d)%n, 0))
		}
		return append(dst, own(e, rank))
	})
}

// AlltoallPairwise exchanges blocks in pairs (Thakur, Rabenseifner, Gropp, IJHPCA 2005, section 3.3,
// there for powers of two only: partner rank XOR k). For other numbers of ranks the partner in round k
// is k-rank mod N, which pairs all ranks but those with 2 rank = k mod N; they copy their own block.
// N-1 rounds for a power of two, N for others.
func AlltoallPairwise(e Env) Collective {
	n := e.Ranks
	return stepwise(e, Auto, func(rank, round int) (to, from int) {
		peer := rank ^ round
		if n&(n-1) != 0 {
			peer = mod(round-rank, n)
		}
		return peer, peer
	})
}

// AlltoallRing is the virtual ring: in round k = 1..N-1 a rank sends to the rank k after it and
// receives from the rank k before it.
func AlltoallRing(e Env) Collective { return ringBy(e, Auto) }

// ringBy is AlltoallRing by a protocol. By rendezvous a rank sends three small messages a step:
// RTS, CTS, FIN.
func ringBy(e Env, protocol Protocol) Collective {
	n := e.Ranks
	return stepwise(e, protocol, func(rank, round int) (to, from int) { return (rank + round) % n, mod(rank-round, n) })
}

// stepwise sends and receives a block in each of N rounds; a rank that is its own peer copies its
// own.
func stepwise(e Env, protocol Protocol, peers func(rank, round int) (to, from int)) Collective {
	return even(e.Ranks, e.Ranks, exchange(e), func(rank, round int, dst []Op) []Op {
		to, from := peers(rank, round)
		if to == rank {
			return append(dst, own(e, rank))
		}
		send := sendBlock(e, rank, to, round)
		send.Protocol = protocol
		return append(dst, recvBlock(e, rank, from, round), send)
	})
}

// controlBytes is the size of a message that only synchronises.
const controlBytes = 64

// AlltoallDirectEager is the ring with two synchronisation messages a block in place of three (the
// Direct Eager method that Li et al. 2013, section 5, compare with; its source is not at hand, and
// this is the reading that has 2N of them): the receiver announces the address of its buffer, the
// sender writes there and sends a completion notice behind. Slot 2N+i holds the address of rank i's
// buffer, slot 3N a notice to send, 3N+1 one received.
func AlltoallDirectEager(e Env) Collective {
	n := e.Ranks
	contract := exchange(e).with(n+2, func(int) int64 { return controlBytes }, Token(n*n),
		func(rank, slot int) bool { return slot == 2*n+rank || slot == 3*n },
		func(_, slot int) int {
			if slot >= 3*n {
				return -1
			}
			return slot - 2*n
		})
	control := func(kind Kind, peer, tag, slot int) Op {
		return Op{Kind: kind, Protocol: Eager, Control: true, Peer: int32(peer), Tag: int32(tag), Bytes: controlBytes, Data: Slot(slot)}
	}
	return even(n, 2*n-1, contract, func(rank, round int, dst []Op) []Op {
		if round == 0 {
			return append(dst, own(e, rank))
		}
		k := (round + 1) / 2
		to, from := (rank+k)%n, mod(rank-k, n)
		if round%2 == 1 {
			return append(dst, control(Recv, to, 3*k, 2*n+to), control(Send, from, 3*k, 2*n+rank))
		}
		send := sendBlock(e, rank, to, 3*k+1)
		send.Protocol = Direct
		return append(dst,
			recvBlock(e, rank, from, 3*k+1), control(Recv, from, 3*k+2, 3*n+1),
			send, control(Send, to, 3*k+2, 3*n))
	})
}

// AlltoallBruck (Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 1997): turn the blocks so that block
// j is for rank+j; in round k pack those whose distance j has bit k, send them to rank+2^k, and unpack
// what comes from rank-2^k into their places; turn back. Slots 0..N-1 hold the blocks to send, N..2N-1
// the result, 2N..3N-1 the turned blocks, 3N.. what a round receives, 4N.. what it sends.
func AlltoallBruck(e Env) Collective {
	n, bytes := e.Ranks, int64(e.Bytes)
	rounds := log2Ceil(n)
	// Turn, then per step pack, exchange and unpack, then turn back.
	return even(n, 3*rounds+2, exchange(e).with(3*n, func(int) int64 { return bytes }, 0, nil, nil), func(rank, round int, dst []Op) []Op {
		move := func(from, to, count int) {
			dst = append(dst, Op{Kind: Copy, Bytes: bytes * int64(count), Data: Range(from, count), Into: Range(to, count)})
		}
		switch {
		case round == 0:
			move(rank, 2*n, n-rank)
			move(0, 3*n-rank, rank)
			return dst
		case round == 3*rounds+1:
			// The block at distance j came from rank-j.
			for j := range n {
				move(2*n+j, n+mod(rank-j, n), 1)
			}
			return dst
		}
		k := (round - 1) / 3
		d := 1 << k // there are the blocks whose distance has this bit
		there := Slots{First: int32(d), Run: int32(d), Step: int32(2 * d), Count: int32(n/(2*d)*d + max(0, n%(2*d)-d))}
		size := bytes * int64(there.Count)
		in, out := Range(3*n, int(there.Count)), Range(4*n, int(there.Count))
		there.First += int32(2 * n)
		switch round % 3 {
		case 1:
			return append(dst, Op{Kind: Copy, Bytes: size, Data: there, Into: out})
		case 2:
			return append(dst,
				Op{Kind: Recv, Peer: int32(mod(rank-d, n)), Tag: int32(k), Bytes: size, Data: in},
				Op{Kind: Send, Peer: int32((rank + d) % n), Tag: int32(k), Bytes: size, Data: out})
		}
		return append(dst, Op{Kind: Copy, Bytes: size, Data: in, Into: there})
	})
}
