package routing

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric/topology"
)

// widely finds shortest paths to all leaves by searches from 64 of them at a time, a bit
// of a word for each (multi-source search: Then et al., PVLDB 8(4), 2014), and enters
// the ports that lead on in tables. A packet may be in one of several phases, which say
// where it may go: each has a table of its own, and the nodes of the search are
// phase*switches + switch. Cost: for each 64 leaves, phases times ports times diameter;
// and one step for each entry of a set.
type widely struct {
	graph  *topology.Graph
	tables []*portSets // by phase
	peers  []int32     // len = phases*ports: node at the other end, -1: not to be taken
	one    bool        // one port of several is left, chosen by a hash
	// byNumber makes that hash go by the leaf's number as a switch, not by its column.
	byNumber bool
	// reached is told of the leaves, bits of fresh from column base on, that are so many
	// hops from a switch in a phase; may be nil.
	reached func(phase int, s topology.SwitchID, base int, fresh uint64, hops int)

	ends            []topology.SwitchID // by column
	seen, now, next []uint64            // len = nodes: leaves that a path is known to, that were reached in the last step, that are in this one
	masks           []byte              // ports by leaf, of one switch; nil: the tables are left alone
}

// newWidely is a search for tables of the same leaves. peers and what follows is to be
// filled in.
func newWidely(tables ...*portSets) *widely {
	x := tables[0]
	w := &widely{graph: x.graph, tables: tables, peers: make([]int32, len(tables)*x.graph.NumPorts()), ends: make([]topology.SwitchID, x.leaves)}
	for s, column := range x.leaf {
		if column >= 0 {
			w.ends[column] = topology.SwitchID(s)
		}
	}
	nodes, most := len(tables)*x.graph.Switches(), 0
	for s := range topology.SwitchID(x.graph.Switches()) {
		most = max(most, x.graph.Degree(s))
	}
	w.seen, w.now, w.next = make([]uint64, nodes), make([]uint64, nodes), make([]uint64, nodes)
	w.masks = make([]byte, 64*((most+7)/8))
	return w
}

// run fills the tables. unreached is asked about each leaf that some node has no path
// to, lowest leaf first, with one such node; an error ends the search.
func (w *widely) run(unreached func(node int, leaf topology.SwitchID) error) error {
	for _, x := range w.tables {
		if w.masks != nil {
			x.begin()
			defer x.end()
		}
	}
	for base := 0; base < len(w.ends); base += 64 {
		batch := w.ends[base:min(base+64, len(w.ends))]
		w.search(base, batch)
		for i, leaf := range batch {
			for node, seen := range w.seen {
				if seen>>i&1 == 0 {
					if err := unreached(node, leaf); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// search finds the paths to some leaves, from column base on.
func (w *widely) search(base int, batch []topology.SwitchID) {
	clear(w.seen)
	clear(w.now)
	n := w.graph.Switches()
	for i, s := range batch {
		for phase := range w.tables {
			w.seen[phase*n+int(s)] |= 1 << i
			w.now[phase*n+int(s)] |= 1 << i
		}
	}
	all := ^uint64(0) >> (64 - len(batch))
	for hops, moves := 1, true; moves; hops++ {
		moves = false
		for node, seen := range w.seen {
			w.next[node] = 0
			if seen == all {
				continue
			}
			fresh := uint64(0)
			peers, _, _ := w.portsOf(node)
			for _, peer := range peers {
				if peer >= 0 {
					fresh |= w.now[peer]
				}
			}
			if fresh &^= seen; fresh != 0 {
				moves = true
				w.next[node] = fresh
				w.reach(node, base, fresh, hops)
			}
		}
		for node, fresh := range w.next {
			w.seen[node] |= fresh
		}
		w.now, w.next = w.next, w.now
	}
}

// along lets packets go by every cable that is not down.
func (w *widely) along(down *topology.Down) {
	for port := range w.graph.NumPorts() {
		w.peers[port] = -1
		if peer, ok := w.graph.PeerPort(topology.PortID(port)); ok && !down.Port(topology.PortID(port)) {
			w.peers[port] = int32(w.graph.PortSwitch[peer])
		}
	}
}

// portsOf is the peers of a node's switch in its phase.
func (w *widely) portsOf(node int) (peers []int32, phase int, s topology.SwitchID) {
	phase, s = node/w.graph.Switches(), topology.SwitchID(node%w.graph.Switches())
	first, end := w.graph.Ports(s)
	before := phase * w.graph.NumPorts()
	return w.peers[before+int(first) : before+int(end)], phase, s
}

// reach enters the ports of a node towards the leaves that it is now known to be so
// many hops from.
func (w *widely) reach(node, base int, fresh uint64, hops int) {
	peers, phase, s := w.portsOf(node)
	if w.reached != nil {
		w.reached(phase, s, base, fresh, hops)
	}
	if w.masks == nil {
		return
	}
	width := (len(peers) + 7) / 8
	for i, peer := range peers {
		if peer < 0 {
			continue
		}
		for hits := w.now[peer] & fresh; hits != 0; hits &= hits - 1 {
			w.masks[bits.TrailingZeros64(hits)*width+i/8] |= 1 << (i % 8)
		}
	}
	for ; fresh != 0; fresh &= fresh - 1 {
		i := bits.TrailingZeros64(fresh)
		mask := w.masks[i*width:][:width]
		if w.one {
			leaf := base + i
			if w.byNumber {
				leaf = int(w.ends[leaf])
			}
			leaveOne(mask, s, leaf)
		}
		w.tables[phase].enter(s, base+i, mask)
		clear(mask)
	}
}
