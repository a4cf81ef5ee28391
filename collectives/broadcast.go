package collectives

import "math/bits"

func init() {
	registerRooted("broadcast-binomial", "broadcast down a binomial tree, largest subtree first", BroadcastBinomial)
	registerRooted("broadcast-scatter-allgather", "broadcast: binomial scatter, then a ring allgather", BroadcastScatterAllgather)
	registerRooted("reduce-binomial", "reduce up a binomial tree", ReduceBinomial)
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

// tree is the binomial tree of so many ranks.
type tree struct {
	Rooted
	ranks int
}

// rounds are those of a rank: a message with its parent, and with each child.
func (t tree) rounds(rank int) int {
	v := t.relative(rank, t.ranks)
	return min(v, 1) + children(v, t.ranks)
}

// down is a round in which messages go down the tree, the largest subtree first; part is what goes to
// relative rank v.
func (t tree) down(rank, round int, part func(v int) (bytes int64, data Slots), dst []Op) []Op {
	v := t.relative(rank, t.ranks)
	kind, peer, to := Recv, v&(v-1), v
	if v == 0 || round > 0 {
		to = v + 1<<(children(v, t.ranks)-1-(round-min(v, 1)))
		kind, peer = Send, to
	}
	bytes, data := part(to)
	return append(dst, Op{Kind: kind, Peer: int32(t.absolute(peer, t.ranks)), Bytes: bytes, Data: data})
}

// BroadcastBinomial sends a whole vector down the binomial tree, one blocking
// send after another (Thakur, Rabenseifner, Gropp, IJHPCA 2005, section 3.2).
func BroadcastBinomial(n, root int, bytes int64) Collective {
	t := tree{Rooted{root}, n}
	whole := func(int) (int64, Slots) { return bytes, Slot(0) }
	return &program{
		ranks:    n,
		rounds:   t.rounds,
		round:    func(rank, round int, dst []Op) []Op { return t.down(rank, round, whole, dst) },
		contract: gathering(1, func(int) int64 { return bytes }, func(int) int { return root }),
	}
}

// BroadcastScatterAllgather scatters the vector's chunks down the binomial
// tree and gathers them around a ring (van de Geijn; Thakur, Rabenseifner,
// Gropp, IJHPCA 2005, section 3.2): each rank moves about twice the vector,
// whatever the number of ranks. Chunk i belongs to relative rank i.
func BroadcastScatterAllgather(n, root int, bytes int64) Collective {
	t := tree{Rooted{root}, n}
	size := func(i int) int64 { return chunk(bytes, i, n) }
	below := func(v int) (int64, Slots) {
		count := subtree(v, n)
		return chunkStart(bytes, v+count, n) - chunkStart(bytes, v, n), Range(v, count)
	}
	return &program{
		ranks:  n,
		rounds: func(rank int) int { return t.rounds(rank) + n - 1 },
		round: func(rank, round int, dst []Op) []Op {
			if s := t.rounds(rank); round >= s {
				return ringAllgatherRound(t.relative(rank, n), round-s, n, size, func(v int) int { return t.absolute(v, n) }, dst)
			}
			return t.down(rank, round, below, dst)
		},
		contract: gathering(n, size, func(int) int { return root }),
	}
}

// ReduceBinomial combines the vectors of all ranks at the root: in round k the
// relative ranks whose lowest set bit is k send what they have to the rank
// without that bit (Thakur, Rabenseifner, Gropp, IJHPCA 2005, section 3.5).
func ReduceBinomial(n, root int, bytes int64) Collective {
	t := tree{Rooted{root}, n}
	return &program{
		ranks:  n,
		rounds: t.rounds,
		round: func(rank, round int, dst []Op) []Op {
			v := t.relative(rank, n)
			if round == children(v, n) {
				return append(dst, Op{Kind: Send, Peer: int32(t.absolute(v&(v-1), n)), Tag: int32(bits.TrailingZeros(uint(v))), Bytes: bytes, Data: Slot(0)})
			}
			return append(dst, Op{Kind: Recv, Peer: int32(t.absolute(v+1<<round, n)), Tag: int32(round), Bytes: bytes, Combine: true, Data: Slot(0)})
		},
		contract: reduction(n, 1, func(int) int64 { return bytes }, false, func(rank int) bool { return rank == root }),
	}
}
