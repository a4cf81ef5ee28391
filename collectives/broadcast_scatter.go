package collectives

import (
	"github.com/weft-sim/weft/sim/param"
)

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
