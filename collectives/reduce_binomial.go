package collectives

import (
	"math/bits"

	"github.com/weft-sim/weft/sim/param"
)

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
