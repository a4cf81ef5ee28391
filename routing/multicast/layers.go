package multicast

import (
	"cmp"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
)

// Layers divides trees among layers: sets of virtual channels (virtual lanes, chosen by the service
// level that packets carry) of which every layer is free of deadlock by itself.
type Layers struct {
	Of    []int // by tree
	Count int
	// Dependencies is the number of different dependencies between channels, summed over layers.
	Dependencies int
}

// CyclicError says that trees need more layers than there may be.
type CyclicError struct {
	Tree  int // the first that fits on no layer
	Most  int
	Cycle []topology.PortID // on the last layer, with that tree: each channel waits for the next
	graph *topology.Graph
}

// Error names the tree, and the channels of the cycle, a line each.
func (e *CyclicError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "multicast tree %d can deadlock with others on each of %d layers; on the last, %d channels wait for each other:", e.Tree, e.Most, len(e.Cycle))
	for i, p := range e.Cycle {
		next := e.Cycle[(i+1)%len(e.Cycle)]
		fmt.Fprintf(&b, "\n  %s on layer %d waits for %s", e.graph.PortName(p), e.Most-1, e.graph.PortName(next))
	}
	return b.String()
}

// AssignLayers puts each tree, in order, on the first layer that it leaves free of deadlock; most
// bounds the number of layers. Cost: linear in the trees' sizes if one layer is enough, as on fat
// trees; else, for each layer tried, a search for every new pair of ports whose dependencies go
// against the order so far. Memory: a bit for each pair of ports of a switch, and 40 bytes a port,
// for each layer.
//
// A packet of a tree may hold the buffer behind a channel into a switch, until it has left by every
// other channel of the tree out of the switch. So the buffer's channel waits for each of these, and
// a set of trees whose dependencies together have no cycle cannot deadlock (Dally and Seitz 1987,
// for packets that are held until all of their copies have left). Branches of one packet do not
// wait for each other, because a branch begins only where the whole packet fits (cut-through). In a
// wormhole switch a branch that has begun would wait for the flits that a later one holds up, and
// each for the other, so that no tree with a branch had a certificate. A single tree never has a
// cycle. Trees whose packets all climb to a level and then descend have none either; shortest paths
// on tori have.
func AssignLayers(g *topology.Graph, trees []*Tree, most int) (*Layers, error) {
	l := &Layers{Of: make([]int, len(trees)), Count: 1}
	marks := newPortMarks(g)
	all := newPortPairs(g)
	for _, t := range trees {
		marks.each(t, all.join)
	}
	if all.acyclic() {
		l.Dependencies = all.count()
		return l, nil
	}
	var layers []*orderedPairs
	for i, t := range trees {
		l.Of[i] = -1
		var cycle []topology.PortID
		for n := 0; n <= len(layers) && n < most; n++ {
			if n == len(layers) {
				layers = append(layers, newOrderedPairs(g))
			}
			if cycle = layers[n].add(t, marks); cycle == nil {
				l.Of[i] = n
				break
			}
		}
		if l.Of[i] < 0 {
			return nil, &CyclicError{i, most, cycle, g}
		}
	}
	l.Count = len(layers)
	for _, o := range layers {
		l.Dependencies += o.count()
	}
	return l, nil
}

// portPairs says which ports of a switch lie on a tree together. It is the trees' channel
// dependency graph in short: a pair (p, q) says that the channel out of q depends on the channel
// into p, and the channel out of p on the channel into q. A channel is named by the port that it
// leaves.
type portPairs struct {
	graph *topology.Graph
	start []int32  // len = ports+1: first word of its row
	rows  []uint64 // row of p: bit q for local port q
}

func newPortPairs(g *topology.Graph) *portPairs {
	w := &portPairs{graph: g, start: make([]int32, g.NumPorts()+1)}
	for p, s := range g.PortSwitch {
		w.start[p+1] = w.start[p] + int32(g.Degree(s)+63)/64
	}
	w.rows = make([]uint64, w.start[g.NumPorts()])
	return w
}

// row is the set of local ports that p is paired with.
func (w *portPairs) row(p topology.PortID) []uint64 { return w.rows[w.start[p]:w.start[p+1]] }

// join enters all pairs among a set of ports of switch s.
func (w *portPairs) join(s topology.SwitchID, set []uint64) bool {
	first := w.graph.PortStart[s]
	for i, word := range set {
		for ; word != 0; word &= word - 1 {
			local := i<<6 + bits.TrailingZeros64(word)
			row := w.row(first + topology.PortID(local))
			for k, others := range set {
				row[k] |= others
			}
			row[local>>6] &^= 1 << (local & 63)
		}
	}
	return true
}

// flip enters the pair of local ports p and q of switch s, or takes it out.
func (w *portPairs) flip(s topology.SwitchID, p, q int) {
	first := w.graph.PortStart[s]
	w.row(first + topology.PortID(p))[q>>6] ^= 1 << (q & 63)
	w.row(first + topology.PortID(q))[p>>6] ^= 1 << (p & 63)
}

// count is the number of dependencies.
func (w *portPairs) count() int {
	return lists.Sum(w.rows, func(word uint64) int { return bits.OnesCount64(word) })
}

// next yields the channels that depend on channel p.
func (w *portPairs) next(p topology.PortID) iter.Seq[topology.PortID] {
	return func(yield func(topology.PortID) bool) {
		if in, ok := w.graph.PeerPort(p); ok {
			w.partners(in, yield)
		}
	}
}

// before yields the channels that channel p depends on.
func (w *portPairs) before(p topology.PortID) iter.Seq[topology.PortID] {
	return func(yield func(topology.PortID) bool) {
		w.partners(p, func(q topology.PortID) bool { return yield(topology.PortID(w.graph.Peer[q])) })
	}
}

// partners visits the ports that p is paired with, ascending, until yield returns false.
func (w *portPairs) partners(p topology.PortID, yield func(topology.PortID) bool) {
	first := w.graph.PortStart[w.graph.PortSwitch[p]]
	for i, word := range w.row(p) {
		for ; word != 0; word &= word - 1 {
			if !yield(first + topology.PortID(i<<6+bits.TrailingZeros64(word))) {
				return
			}
		}
	}
}

// acyclic tells whether the dependencies have no cycle, by a topological sort (Kahn 1962).
func (w *portPairs) acyclic() bool {
	waits := make([]int32, w.graph.NumPorts()) // channels that the channel depends on
	var ready []topology.PortID
	for p := range waits {
		for _, word := range w.row(topology.PortID(p)) {
			waits[p] += int32(bits.OnesCount64(word))
		}
		if waits[p] == 0 {
			ready = append(ready, topology.PortID(p))
		}
	}
	sorted := 0
	for ; len(ready) > 0; sorted++ {
		p := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for q := range w.next(p) {
			if waits[q]--; waits[q] == 0 {
				ready = append(ready, q)
			}
		}
	}
	return sorted == len(waits)
}

// portMarks finds the ports of a tree, switch by switch.
type portMarks struct {
	graph *topology.Graph
	start []int32  // len = switches: first word of its set
	sets  []uint64 // all empty between calls
}

func newPortMarks(g *topology.Graph) *portMarks {
	m := &portMarks{graph: g, start: make([]int32, g.Switches()+1)}
	for s := range g.Switches() {
		m.start[s+1] = m.start[s] + int32(g.Degree(topology.SwitchID(s))+63)/64
	}
	m.sets = make([]uint64, m.start[g.Switches()])
	return m
}

// each calls visit with every switch of t and the set of t's ports there, until it returns false.
func (m *portMarks) each(t *Tree, visit func(s topology.SwitchID, set []uint64) bool) {
	for _, up := range t.Up[1:] {
		m.mark(up)
		m.mark(topology.PortID(m.graph.Peer[up]))
	}
	going := true
	for _, s := range t.Switches {
		set := m.sets[m.start[s]:m.start[s+1]]
		going = going && visit(s, set)
		clear(set)
	}
}

func (m *portMarks) mark(p topology.PortID) {
	local := m.graph.LocalPort(p)
	m.sets[int(m.start[m.graph.PortSwitch[p]])+local>>6] |= 1 << (local & 63)
}

// orderedPairs is an acyclic dependency graph that grows, with a topological order of its channels:
// a list whose labels rise. A dependency against the order is searched for a cycle from both of its
// ends at once, only between their places in the order; without a cycle, the channels found by the
// side that is done first move behind or before the other end (after Bender, Fineman, Gilbert and
// Tarjan, ACM Transactions on Algorithms 2015, who balance the searches by edges in place of
// channels).
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

// add enters the pairs of a tree, unless they close a cycle: then it returns that, the graph
// unchanged.
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

// addPair enters one pair, also if it is there: searches meet its dependency only at its ends.
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

// order makes the order fit a dependency of wanted on held, or returns the cycle that it closes.
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
			o.move(o.ahead, held)
			return nil
		}
		p := o.ahead[i]
		for q := range o.next(p) {
			switch {
			case o.mark[q] == o.search+1:
				return o.cycle(p, q, held, wanted)
			case o.mark[q] != o.search && o.label[q] < last:
				o.mark[q], o.from[q] = o.search, p
				o.ahead = append(o.ahead, q)
			}
		}
		if i == len(o.behind) {
			o.move(o.behind, o.prev[wanted])
			return nil
		}
		p = o.behind[i]
		for q := range o.before(p) {
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

// move puts channels, in their order, behind one that is none of them.
func (o *orderedPairs) move(list []topology.PortID, at topology.PortID) {
	slices.SortFunc(list, func(a, b topology.PortID) int { return cmp.Compare(o.label[a], o.label[b]) })
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

func (o *orderedPairs) relabel() {
	ends := topology.PortID(len(o.label) - 1)
	next := int64(0)
	for p := o.succ[ends]; p != ends; p = o.succ[p] {
		o.label[p] = next
		next += spacing
	}
}
