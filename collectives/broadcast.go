package collectives

import (
	"math/bits"

	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Registry, "broadcast-binomial", "broadcast down a binomial tree, largest subtree first", Rooted{}, func(c Rooted, e Env) (Collective, error) {
		if err := c.check(e); err != nil {
			return nil, err
		}
		return BroadcastBinomial(e.Ranks, c.Root, int64(e.Bytes)), nil
	})
}

// children is the number of subtrees of relative rank v in the binomial tree
// of n ranks in which v's parent is v without its lowest set bit: v + 2^k for
// all 2^k below that bit.
func children(v, n int) int {
	k := log2Ceil(n)
	if v != 0 {
		k = bits.TrailingZeros(uint(v))
	}
	for k > 0 && v+1<<(k-1) >= n {
		k--
	}
	return k
}

// subtree is the number of ranks in the subtree of relative rank v, which are
// v, v+1, ...
func subtree(v, n int) int {
	if v == 0 {
		return n
	}
	return min(v&-v, n-v)
}

// BroadcastBinomial sends a whole vector down the binomial tree, one blocking
// send after another (Thakur, Rabenseifner, Gropp, IJHPCA 2005, section 3.2).
func BroadcastBinomial(n, root int, bytes int64) Collective {
	c := Rooted{root}
	return &program{
		ranks: n,
		rounds: func(rank int) int {
			v := c.relative(rank, n)
			return min(v, 1) + children(v, n)
		},
		round: func(rank, round int, dst []Op) []Op {
			v := c.relative(rank, n)
			if v != 0 && round == 0 {
				return append(dst, Op{Kind: Recv, Peer: int32(c.absolute(v&(v-1), n)), Bytes: bytes, Data: Slot(0)})
			}
			k := children(v, n) - 1 - (round - min(v, 1))
			return append(dst, Op{Kind: Send, Peer: int32(c.absolute(v+1<<k, n)), Bytes: bytes, Data: Slot(0)})
		},
		contract: gathering(1, func(int) int64 { return bytes }, func(int) int { return root }),
	}
}

func init() {
	param.Register(Registry, "broadcast-scatter-allgather", "broadcast: binomial scatter, then a ring allgather", Rooted{}, func(c Rooted, e Env) (Collective, error) {
		if err := c.check(e); err != nil {
			return nil, err
		}
		return BroadcastScatterAllgather(e.Ranks, c.Root, int64(e.Bytes)), nil
	})
}

// BroadcastScatterAllgather scatters the vector's chunks down the binomial
// tree and gathers them around a ring (van de Geijn; Thakur, Rabenseifner,
// Gropp, IJHPCA 2005, section 3.2): each rank moves about twice the vector,
// whatever the number of ranks. Chunk i belongs to relative rank i.
func BroadcastScatterAllgather(n, root int, bytes int64) Collective {
	c := Rooted{root}
	size := func(i int) int64 { return chunk(bytes, i, n) }
	span := func(v, count int) int64 { return chunkStart(bytes, v+count, n) - chunkStart(bytes, v, n) }
	scatter := func(rank int) int {
		v := c.relative(rank, n)
		return min(v, 1) + children(v, n)
	}
	return &program{
		ranks:  n,
		rounds: func(rank int) int { return scatter(rank) + n - 1 },
		round: func(rank, round int, dst []Op) []Op {
			v := c.relative(rank, n)
			if s := scatter(rank); round >= s {
				return ringAllgatherRound(v, round-s, n, size, func(v int) int { return c.absolute(v, n) }, dst)
			}
			if v != 0 && round == 0 {
				count := subtree(v, n)
				return append(dst, Op{Kind: Recv, Peer: int32(c.absolute(v&(v-1), n)), Bytes: span(v, count), Data: Range(v, count)})
			}
			k := children(v, n) - 1 - (round - min(v, 1))
			child := v + 1<<k
			count := subtree(child, n)
			return append(dst, Op{Kind: Send, Peer: int32(c.absolute(child, n)), Bytes: span(child, count), Data: Range(child, count)})
		},
		contract: gathering(n, size, func(int) int { return root }),
	}
}

func init() {
	param.Register(Registry, "reduce-binomial", "reduce up a binomial tree", Rooted{}, func(c Rooted, e Env) (Collective, error) {
		if err := c.check(e); err != nil {
			return nil, err
		}
		return ReduceBinomial(e.Ranks, c.Root, int64(e.Bytes)), nil
	})
}

// ReduceBinomial combines the vectors of all ranks at the root: in round k the
// relative ranks whose lowest set bit is k send what they have to the rank
// without that bit (Thakur, Rabenseifner, Gropp, IJHPCA 2005, section 3.5).
func ReduceBinomial(n, root int, bytes int64) Collective {
	c := Rooted{root}
	return &program{
		ranks: n,
		rounds: func(rank int) int {
			v := c.relative(rank, n)
			return children(v, n) + min(v, 1)
		},
		round: func(rank, round int, dst []Op) []Op {
			v := c.relative(rank, n)
			if round == children(v, n) {
				return append(dst, Op{Kind: Send, Peer: int32(c.absolute(v&(v-1), n)), Tag: int32(bits.TrailingZeros(uint(v))), Bytes: bytes, Data: Slot(0)})
			}
			return append(dst, Op{Kind: Recv, Peer: int32(c.absolute(v+1<<round, n)), Tag: int32(round), Bytes: bytes, Combine: true, Data: Slot(0)})
		},
		contract: reduction(n, 1, func(int) int64 { return bytes }, false, func(rank int) bool { return rank == root }),
	}
}
