package multicast

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric/topology"
)

// portPairs says which ports of a switch lie on a tree together. It is the
// channel dependency graph of the trees in short: a pair (p, q) stands for the
// dependency of the channel out of q on the channel into p, and of the one out
// of p on the one into q. A channel is named by the port that it leaves.
type portPairs struct {
	graph *topology.Graph
	width []int32  // len = switches: words of a row
	start []int32  // len = ports: first word of its row
	rows  []uint64 // row of p: bit q for local port q
}

func newPortPairs(g *topology.Graph) *portPairs {
	w := &portPairs{graph: g, width: make([]int32, g.Switches()), start: make([]int32, g.NumPorts())}
	words := int32(0)
	for s := range g.Switches() {
		w.width[s] = int32(g.Degree(topology.SwitchID(s))+63) / 64
		first, end := g.Ports(topology.SwitchID(s))
		for p := first; p < end; p++ {
			w.start[p] = words
			words += w.width[s]
		}
	}
	w.rows = make([]uint64, words)
	return w
}

func (w *portPairs) row(p topology.PortID) []uint64 {
	return w.rows[w.start[p]:][:w.width[w.graph.PortSwitch[p]]]
}

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
	n := 0
	for _, word := range w.rows {
		n += bits.OnesCount64(word)
	}
	return n
}

// next yields the channels that depend on channel p.
func (w *portPairs) next(p topology.PortID, yield func(topology.PortID) bool) {
	if in, ok := w.graph.PeerPort(p); ok {
		w.partners(in, yield)
	}
}

// before yields the channels that channel p depends on.
func (w *portPairs) before(p topology.PortID, yield func(topology.PortID) bool) {
	w.partners(p, func(q topology.PortID) bool { return yield(topology.PortID(w.graph.Peer[q])) })
}

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

// acyclic tells whether the dependencies have no cycle, by sorting the channels
// topologically (Kahn 1962).
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
		for q := range seq(w.next, p) {
			if waits[q]--; waits[q] == 0 {
				ready = append(ready, q)
			}
		}
	}
	return sorted == len(waits)
}

// seq makes an iterator of next or before.
func seq(step func(topology.PortID, func(topology.PortID) bool), p topology.PortID) func(func(topology.PortID) bool) {
	return func(yield func(topology.PortID) bool) { step(p, yield) }
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

// each calls visit with every switch of t and the set of the tree's ports
// there, until it returns false.
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
