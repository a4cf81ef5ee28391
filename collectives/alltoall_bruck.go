package collectives

import (
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Registry, "alltoall-bruck", "alltoall: Bruck's, log2 N rounds of half the blocks", None{}, func(_ None, e Env) (Collective, error) {
		if err := e.check(); err != nil {
			return nil, err
		}
		if err := e.uniform("alltoall-bruck"); err != nil {
			return nil, err
		}
		return AlltoallBruck(e), nil
	})
}

// AlltoallBruck (Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 1997): turn
// the blocks so that block j is for rank+j; in round k pack those whose distance j
// has bit k, send them to rank+2^k, and unpack what comes from rank-2^k into their
// places; turn back. Slots 0..N-1 hold the blocks to send, N..2N-1 the result,
// 2N..3N-1 the turned blocks, 3N.. what a round receives, 4N.. what it sends.
func AlltoallBruck(e Env) Collective {
	n, bytes := e.Ranks, int64(e.Bytes)
	rounds := log2Ceil(n)
	contract := exchange(e)
	contract.Slots = 5 * n
	contract.Bytes = func(int, int) int64 { return bytes }
	return &program{
		ranks: n,
		// Turn, then per step pack, exchange and unpack, then turn back.
		rounds: always(3*rounds + 2),
		round: func(rank, round int, dst []Op) []Op {
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
			there := withBit(k, n)
			size := bytes * int64(there.Count)
			in, out := Range(3*n, int(there.Count)), Range(4*n, int(there.Count))
			there.First += int32(2 * n)
			switch d := 1 << k; round % 3 {
			case 1:
				return append(dst, Op{Kind: Copy, Bytes: size, Data: there, Into: out})
			case 2:
				return append(dst,
					Op{Kind: Recv, Peer: int32(mod(rank-d, n)), Tag: int32(k), Bytes: size, Data: in},
					Op{Kind: Send, Peer: int32((rank + d) % n), Tag: int32(k), Bytes: size, Data: out})
			}
			return append(dst, Op{Kind: Copy, Bytes: size, Data: in, Into: there})
		},
		contract: contract,
	}
}

// withBit is the set of numbers below n that have bit k.
func withBit(k, n int) Slots {
	d := 1 << k
	count := n / (2 * d) * d
	count += max(0, n%(2*d)-d)
	return Slots{First: int32(d), Run: int32(d), Step: int32(2 * d), Count: int32(count)}
}
