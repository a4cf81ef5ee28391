package collectives

import (
	"github.com/weft-sim/weft/sim/param"
)

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
