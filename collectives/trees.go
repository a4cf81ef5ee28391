package collectives

import (
	"cmp"
	"math/bits"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
)

// TreeSettings are the settings of a broadcast down a tree, in segments.
type TreeSettings struct {
	Rooted
	Fanout  int       `toml:"fanout" doc:"children of a rank; of a chain, chains that leave the root" min:"1"`
	Segment sim.Bytes `toml:"segment" doc:"what goes down the tree at a time; 0B: the whole vector" min:"0B"`
}

func init() {
	registerTree := func(name, doc string, fanout int, children func(v, n, fanout int) []int) {
		registerSet(name, doc, TreeSettings{Fanout: fanout}, func(c TreeSettings, e Env) (Collective, error) {
			return broadcastTree(c, e.Ranks, int64(e.Bytes), func(v int) []int { return children(v, e.Ranks, c.Fanout) }), nil
		})
	}
	registerTree("broadcast-chain", "broadcast down chains of ranks, segment by segment (a pipeline, with one chain)", 1, chainChildren)
	registerTree("broadcast-tree", "broadcast down a complete tree, binary by default, segment by segment", 2, func(v, n, fanout int) (below []int) {
		for c := fanout*v + 1; c <= fanout*(v+1) && c < n; c++ {
			below = append(below, c)
		}
		return below
	})
	registerTree("broadcast-knomial", "broadcast down a k-nomial tree, of radix fanout, segment by segment", 4, knomialChildren)
	registerTree("broadcast-doubling", "broadcast down the binomial tree of Open MPI, radix fanout: ranks send at growing distances, to all their children at once, segment by segment", 2, doublingChildren)
	registerSet("broadcast-split-binary", "broadcast of halves down the two sides of a binary tree, segment by segment, which pairs exchange at the end", TreeSettings{Fanout: 2, Segment: 1024}, func(c TreeSettings, e Env) (Collective, error) {
		return BroadcastSplitBinary(c, e.Ranks, int64(e.Bytes)), nil
	})
	registerRooted("broadcast-linear", "broadcast from the root to each rank, all at once", func(n, root int, bytes int64) Collective {
		return broadcastTree(TreeSettings{Rooted: Rooted{root}}, n, bytes, func(v int) []int { return chainChildren(v, n, n-1) })
	})
	register("allreduce-reduce-broadcast", "allreduce: reduce up a binomial tree, then broadcast down it", func(e Env) Collective {
		return AllreduceReduceBroadcast(int64(e.Bytes), BroadcastBinomial(e.Ranks, 0, int64(e.Bytes)))
	})
	register("barrier-recursive-doubling", "barrier: notes between pairs at doubling distances", func(e Env) Collective { return BarrierRecursiveDoubling(e.Ranks) })
	register("barrier-tree", "barrier: notes up a binomial tree and down again", func(e Env) Collective { return AllreduceReduceBroadcast(1, BroadcastBinomial(e.Ranks, 0, 1)) })
	registerRooted("broadcast-binomial", "broadcast down a binomial tree, largest subtree first", BroadcastBinomial)
	registerRooted("broadcast-scatter-allgather", "broadcast: binomial scatter, then a ring allgather", BroadcastScatterAllgather)
	registerRooted("reduce-binomial", "reduce up a binomial tree", ReduceBinomial)
}

// chainChildren divides the ranks but the root into chains of equal length, the first longer by
// one.
func chainChildren(v, n, chains int) []int {
	if n == 1 {
		return nil
	}
	chains = min(chains, n-1)
	length, longer := (n-1)/chains, (n-1)%chains
	start := func(i int) int { return 1 + i*length + min(i, longer) }
	if v == 0 {
		return lists.Make(chains, start)
	}
	for i := 1; i <= chains; i++ {
		if v+1 == start(i) {
			return nil // the last of its chain
		}
	}
	return []int{v + 1}
}

// knomialChildren are v's in the tree in which v's parent is v without its lowest digit, in base
// radix, that is not 0; largest subtree first.
func knomialChildren(v, n, radix int) (below []int) {
	radix = max(2, radix)
	var digits []int // weights below the lowest digit of v
	for weight := 1; weight < n && v/weight%radix == 0; weight *= radix {
		digits = append(digits, weight)
	}
	for i := len(digits) - 1; i >= 0; i-- {
		for d := 1; d < radix; d++ {
			if c := v + d*digits[i]; c < n {
				below = append(below, c)
			}
		}
	}
	return below
}

// doublingChildren are v's in the tree in which v's parent is v without its highest digit, in base
// radix; nearest first.
func doublingChildren(v, n, radix int) (below []int) {
	radix = max(2, radix)
	for weight := 1; weight < n; weight *= radix {
		for c := v + weight; weight > v && c < min(n, v+radix*weight); c += weight {
			below = append(below, c)
		}
	}
	return below
}

// broadcastTree sends a vector down a tree of relative ranks: in round k a rank receives segment k
// and passes segment k-1 to all its children.
func broadcastTree(c TreeSettings, n int, bytes int64, children func(v int) []int) Collective {
	segment := cmp.Or(int64(c.Segment), max(1, bytes))
	segments := max(1, int((bytes+segment-1)/segment))
	parents, below := make([]int, n), make([][]int, n)
	for v := range n {
		below[v] = children(v)
		for _, child := range below[v] {
			parents[child] = v
		}
	}
	size := func(i int) int64 { return min(segment, bytes-int64(i)*segment) }
	return even(n, segments+1, gathering(segments, size, func(int) int { return c.Root }), func(rank, round int, dst []Op) []Op {
		v := c.relative(rank, n)
		part := func(kind Kind, peer, i int) Op {
			return Op{Kind: kind, Peer: int32(c.absolute(peer, n)), Tag: int32(i), Bytes: size(i), Data: Slot(i)}
		}
		if v > 0 && round < segments {
			dst = append(dst, part(Recv, parents[v], round))
		}
		for _, child := range below[v] {
			if round > 0 {
				dst = append(dst, part(Send, child, round-1))
			}
		}
		return dst
	})
}

// BroadcastSplitBinary sends one half of a vector down the left side of a complete binary tree and the
// other down its right side, in segments; then ranks of the same place on either side exchange their halves
// (Pjesivac-Grbovic et al., Cluster Computing 2007). Who has no partner gets the other half from the root.
// Half i is of the slots from i*segments on.
func BroadcastSplitBinary(c TreeSettings, n int, bytes int64) Collective {
	half := func(i int) int64 { return chunk(bytes, i, 2) }
	segments := 1
	if s := int64(c.Segment); s > 0 {
		segments = max(1, int((half(1)+s-1)/s))
	}
	size := func(slot int) int64 { return chunk(half(slot/segments), slot%segments, segments) }
	// place is the half that relative rank v > 0 gets first, and its partner, perhaps n or more.
	place := func(v int) (side, pair int) {
		width := 1 << (log2Ceil(v+2) - 2) // of a side at the depth of v
		if v < 3*width-1 {
			return 0, v + width
		}
		return 1, v - width
	}
	return even(n, segments+2, gathering(2*segments, size, func(int) int { return c.Root }), func(rank, round int, dst []Op) []Op {
		v := c.relative(rank, n)
		message := func(kind Kind, peer, first, count int) Op {
			op := Op{Kind: kind, Peer: int32(c.absolute(peer, n)), Tag: int32(first), Data: Range(first, count)}
			for i := range count {
				op.Bytes += size(first + i)
			}
			return op
		}
		side, pair := 0, 0
		if v > 0 {
			side, pair = place(v)
		}
		if round <= segments {
			if v > 0 && round < segments {
				dst = append(dst, message(Recv, (v-1)/2, side*segments+round, 1))
			}
			for child := 2*v + 1; child <= 2*v+2 && child < n && round > 0; child++ {
				of := side
				if v == 0 {
					of = child - 1
				}
				dst = append(dst, message(Send, child, of*segments+round-1, 1))
			}
			return dst
		}
		switch {
		case v == 0:
			for lone := 1; lone < n; lone++ {
				if side, pair := place(lone); side == 0 && pair >= n {
					dst = append(dst, message(Send, lone, segments, segments))
				}
			}
			return dst
		case pair >= n:
			return append(dst, message(Recv, 0, segments, segments))
		}
		return append(dst, message(Recv, pair, (1-side)*segments, segments), message(Send, pair, side*segments, segments))
	})
}

// AllreduceReduceBroadcast reduces at rank 0 by a binomial tree, then broadcasts by down (Open
// MPI's "nonoverlapping", with its rules' broadcast).
func AllreduceReduceBroadcast(bytes int64, down Collective) Collective {
	n := down.Ranks()
	both := Sequence(ReduceBinomial(n, 0, bytes), down)
	return &program{
		ranks: n, rounds: both.Rounds, round: both.Round,
		contract: reduction(n, 1, func(int) int64 { return bytes }, false, nil),
	}
}

// children is the number of subtrees of relative rank v in the binomial tree of n ranks, where v's
// parent is v without its lowest set bit: v + 2^k below that bit.
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

// tree is the binomial tree of so many ranks.
type tree struct {
	Rooted
	ranks int
}

// rounds are the rounds of a rank: a message with its parent, and with each child.
func (t tree) rounds(rank int) int {
	v := t.relative(rank, t.ranks)
	return min(v, 1) + children(v, t.ranks)
}

// down is a round of messages down the tree, the largest subtree first; part is for relative rank
// v.
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

// BroadcastBinomial sends a vector down the binomial tree, one blocking send after another (Thakur,
// Rabenseifner, Gropp, IJHPCA 2005, section 3.2).
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

// BroadcastScatterAllgather scatters the vector's chunks down the binomial tree and gathers them
// around a ring (van de Geijn; Thakur, Rabenseifner, Gropp, IJHPCA 2005, section 3.2): each rank
// moves about twice the vector, whatever the number of ranks. Chunk i belongs to relative rank i.
func BroadcastScatterAllgather(n, root int, bytes int64) Collective {
	t := tree{Rooted{root}, n}
	size := func(i int) int64 { return chunk(bytes, i, n) }
	below := func(v int) (int64, Slots) {
		count := n // ranks in the subtree of relative rank v: v, v+1, ...
		if v > 0 {
			count = min(v&-v, n-v)
		}
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
