package multicast

import (
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// orderedPairs is an acyclic dependency graph that grows, with a topological
// order of its channels: a list whose labels rise. A dependency against the
// order is searched for a cycle from both of its ends at once, between their
// places in the order only; if there is none, what the side that is done first
// has found moves behind or before the other end (after Bender, Fineman,
// Gilbert and Tarjan, ACM Transactions on Algorithms 2015, who balance the
// searches by edges in place of channels).
type orderedPairs struct {
	*portPairs
	label      []int64           // len = ports + 1
	prev, succ []topology.PortID // len = ports + 1: a ring; the last stands for its ends

	// Of the search under way: who met a channel, and from where.
	search   int32
	mark     []int32 // search<<1, +1 from behind
	from     []topology.PortID
	ahead    []topology.PortID // channels met from the wanted end on
	behind   []topology.PortID // channels met from the held end back
	switches []topology.SwitchID
	added    [][2]int // local ports, of switches
}

const (
	spacing  = 1 << 32 // of labels that have been dealt out anew
	farthest = 1 << 60 // from 0 that labels may get
)

func newOrderedPairs(g *topology.Graph) *orderedPairs {
	n := g.NumPorts()
	o := &orderedPairs{
		portPairs: newPortPairs(g), label: make([]int64, n+1), prev: make([]topology.PortID, n+1), succ: make([]topology.PortID, n+1),
		mark: make([]int32, n), from: make([]topology.PortID, n),
	}
	for p := range topology.PortID(n + 1) {
		o.prev[p], o.succ[p] = p-1, p+1
	}
	o.prev[0], o.succ[n] = topology.PortID(n), 0
	o.relabel()
	return o
}

// add enters the pairs of a tree unless that would close a cycle, which it
// returns; then the graph is as it was.
func (o *orderedPairs) add(t *Tree, marks *portMarks) (cycle []topology.PortID) {
	o.switches, o.added = o.switches[:0], o.added[:0]
	marks.each(t, func(s topology.SwitchID, set []uint64) bool {
		cycle = o.addAt(s, set)
		return cycle == nil
	})
	if cycle != nil {
		for i, s := range o.switches {
			o.flip(s, o.added[i][0], o.added[i][1])
		}
	}
	return cycle
}

// addAt enters the pairs among a set of ports of switch s.
func (o *orderedPairs) addAt(s topology.SwitchID, set []uint64) (cycle []topology.PortID) {
	first := o.graph.PortStart[s]
	for i, word := range set {
		for ; word != 0; word &= word - 1 {
			p := i<<6 + bits.TrailingZeros64(word)
			row := o.row(first + topology.PortID(p))
			for k, others := range set {
				fresh := others &^ row[k]
				for ; fresh != 0; fresh &= fresh - 1 {
					q := k<<6 + bits.TrailingZeros64(fresh)
					if q <= p {
						continue
					}
					if cycle = o.addPair(s, p, q); cycle != nil {
						return cycle
					}
				}
			}
		}
	}
	return nil
}

// addPair enters one pair. Searches meet the dependency that they are for only
// at its ends, so that it may be there already.
func (o *orderedPairs) addPair(s topology.SwitchID, p, q int) (cycle []topology.PortID) {
	first := o.graph.PortStart[s]
	a, b := first+topology.PortID(p), first+topology.PortID(q)
	if cycle = o.order(topology.PortID(o.graph.Peer[a]), b); cycle != nil {
		return cycle
	}
	o.flip(s, p, q)
	o.switches, o.added = append(o.switches, s), append(o.added, [2]int{p, q})
	return o.order(topology.PortID(o.graph.Peer[b]), a)
}

// order makes the order good for a dependency of wanted on held, or returns the
// cycle that it closes.
func (o *orderedPairs) order(held, wanted topology.PortID) (cycle []topology.PortID) {
	first, last := o.label[wanted], o.label[held]
	if last < first {
		return nil
	}
	o.search += 2
	o.ahead, o.behind = append(o.ahead[:0], wanted), append(o.behind[:0], held)
	o.mark[wanted], o.mark[held] = o.search, o.search+1
	for i := 0; ; i++ {
		if i == len(o.ahead) {
			o.moveBehind(held)
			return nil
		}
		p := o.ahead[i]
		for q := range seq(o.next, p) {
			switch {
			case o.mark[q] == o.search+1:
				return o.cycle(p, q, held, wanted)
			case o.mark[q] != o.search && o.label[q] < last:
				o.mark[q], o.from[q] = o.search, p
				o.ahead = append(o.ahead, q)
			}
		}
		if i == len(o.behind) {
			o.moveBefore(wanted)
			return nil
		}
		p = o.behind[i]
		for q := range seq(o.before, p) {
			switch {
			case o.mark[q] == o.search:
				return o.cycle(q, p, held, wanted)
			case o.mark[q] != o.search+1 && o.label[q] > first:
				o.mark[q], o.from[q] = o.search+1, p
				o.behind = append(o.behind, q)
			}
		}
	}
}

// cycle is the one that runs from wanted to p, on to q, and from there to held.
func (o *orderedPairs) cycle(p, q, held, wanted topology.PortID) []topology.PortID {
	var cycle []topology.PortID
	for ; p != wanted; p = o.from[p] {
		cycle = append(cycle, p)
	}
	cycle = append(cycle, wanted)
	slices.Reverse(cycle)
	for ; q != held; q = o.from[q] {
		cycle = append(cycle, q)
	}
	return append(cycle, held)
}

func (o *orderedPairs) byLabel(a, b topology.PortID) int {
	if o.label[a] < o.label[b] {
		return -1
	}
	return 1
}

// moveBehind moves the channels ahead, in their order, behind a channel.
func (o *orderedPairs) moveBehind(at topology.PortID) {
	slices.SortFunc(o.ahead, o.byLabel)
	o.move(o.ahead, at)
}

// moveBefore moves the channels behind, in their order, before a channel.
func (o *orderedPairs) moveBefore(at topology.PortID) {
	slices.SortFunc(o.behind, o.byLabel)
	o.move(o.behind, o.prev[at])
}

// move puts channels, in the order given, behind one that is none of them.
func (o *orderedPairs) move(list []topology.PortID, at topology.PortID) {
	for _, p := range list {
		o.succ[o.prev[p]], o.prev[o.succ[p]] = o.succ[p], o.prev[p]
	}
	end, parts := o.succ[at], int64(len(list)+1)
	low, high := o.label[at], o.label[end]
	switch ends := topology.PortID(len(o.label) - 1); {
	case at == ends:
		low = high - parts*spacing
	case end == ends:
		high = low + parts*spacing
	}
	step := (high - low) / parts
	for i, p := range list {
		o.succ[at], o.prev[p] = p, at
		o.label[p] = low + int64(i+1)*step
		at = p
	}
	o.succ[at], o.prev[end] = end, at
	if step == 0 || low < -farthest || high > farthest {
		o.relabel()
	}
}

// relabel deals all labels out anew.
func (o *orderedPairs) relabel() {
	ends := topology.PortID(len(o.label) - 1)
	next := int64(0)
	for p := o.succ[ends]; p != ends; p = o.succ[p] {
		o.label[p] = next
		next += spacing
	}
}
