package routing

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// portSets is a table of the ports by which each switch sends packets on to each leaf, a switch
// with terminals. Ports are relative to the switch's first, so that switches share sets. The table
// holds numbers of sets: 2 bytes for each (switch, leaf), 4 with more than 65,536 sets.
type portSets struct {
	graph  *topology.Graph
	home   []topology.SwitchID // len = terminals
	leaf   []int32             // len = switches: column of a leaf, else -1
	column []int32             // len = terminals: column of its switch
	leaves int
	few    []uint16 // len = switches*leaves: number of the port set; nil if there are too many
	many   []uint32 // the same then
	start  []uint32 // sets are local[start[i]:start[i+1]], the empty set the first
	local  []uint16 // ports, relative to the switch's first
	known  *knownSets
	down   *topology.Down // what packets keep off; nil: nothing
}

// knownSets numbers sets while a table is made, by their bits; a word for switches of up to 64
// ports.
type knownSets struct {
	short map[uint64]uint32
	long  map[string]uint32
}

// maxTableLeaves bounds the tables, whose size grows with the product of switches and leaves.
const maxTableLeaves = 1 << 14

// newPortSets numbers the leaves of g for routing name; sample is a terminal of each. Sets are
// empty.
func newPortSets(name string, g *topology.Graph) (x *portSets, sample []topology.TerminalID, err error) {
	x = &portSets{graph: g, home: homes(g)}
	x.leaf, sample = numberLeaves(g)
	if x.leaves = len(sample); x.leaves > maxTableLeaves {
		return nil, nil, fmt.Errorf("routing %q handles at most %d switches with terminals; this topology has %d", name, maxTableLeaves, x.leaves)
	}
	for _, s := range x.home {
		x.column = append(x.column, x.leaf[s])
	}
	return x, sample, nil
}

// connected reports for routing name that no path joins some leaves.
func (x *portSets) connected(name string) error {
	first := topology.SwitchID(-1)
	var row []int16
	for s, column := range x.leaf {
		switch {
		case column < 0:
		case first < 0:
			first = topology.SwitchID(s)
			row = x.graph.DistancesFrom(first, nil)
		case row[s] == topology.Unreachable:
			return unconnected(name, x.graph, topology.SwitchID(s), first)
		}
	}
	return nil
}

// unconnected is the error of routing name that no path joins two switches.
func unconnected(name string, g *topology.Graph, s, t topology.SwitchID) error {
	return fmt.Errorf("routing %q needs a connected network; no path joins %s and %s", name, g.SwitchName(s), g.SwitchName(t))
}

func (x *portSets) begin() {
	x.few, x.many = make([]uint16, x.graph.Switches()*x.leaves), nil
	x.start, x.local = []uint32{0, 0}, nil
	x.known = &knownSets{map[uint64]uint32{0: 0}, map[string]uint32{}}
}

// end forgets what only [portSets.enter] needs.
func (x *portSets) end() {
	x.known = nil
	x.start, x.local = slices.Clip(x.start), slices.Clip(x.local)
}

// fill makes the port sets of all switches. mark sets the bits of the ports of switch s that serve
// each leaf in masks, width bytes for each. Cost: switches * leaves * ports.
func (x *portSets) fill(mark func(s topology.SwitchID, masks []byte, width int)) {
	x.begin()
	var masks []byte
	for s := range x.graph.Switches() {
		width := (x.graph.Degree(topology.SwitchID(s)) + 7) / 8
		masks = append(masks[:0], make([]byte, x.leaves*width)...)
		mark(topology.SwitchID(s), masks, width)
		for leaf := range x.leaves {
			x.enter(topology.SwitchID(s), leaf, masks[leaf*width:][:width])
		}
	}
	x.end()
}

// enter sets the ports of switch s that serve a leaf, by their bits.
func (x *portSets) enter(s topology.SwitchID, leaf int, mask []byte) {
	number, place := x.number(mask), int(s)*x.leaves+leaf
	if x.few != nil && number < 1<<16 {
		x.few[place] = uint16(number)
		return
	}
	if x.few != nil {
		x.many = make([]uint32, len(x.few))
		for i, n := range x.few {
			x.many[i] = uint32(n)
		}
		x.few = nil
	}
	x.many[place] = number
}

// number is the number of a set, a new one if need be.
func (x *portSets) number(mask []byte) uint32 {
	next := uint32(len(x.start) - 1)
	if len(mask) <= 8 {
		key := uint64(0)
		for i, b := range mask {
			key |= uint64(b) << (8 * i)
		}
		if number, ok := x.known.short[key]; ok {
			return number
		}
		x.known.short[key] = next
	} else {
		if number, ok := x.known.long[string(mask)]; ok {
			return number
		}
		x.known.long[string(mask)] = next
	}
	for i, b := range mask {
		for ; b != 0; b &= b - 1 {
			x.local = append(x.local, uint16(8*i+bits.TrailingZeros8(b)))
		}
	}
	x.start = append(x.start, uint32(len(x.local)))
	return next
}

// leaveOne clears all bits of the mask of a leaf at switch s but one, chosen by a hash of the two.
func leaveOne(mask []byte, s topology.SwitchID, leaf int) {
	n := 0
	for _, b := range mask {
		n += bits.OnesCount8(b)
	}
	if n < 2 {
		return
	}
	chosen := spread(uint32(s)*0x9e3779b1+uint32(leaf), n)
	for i, b := range mask {
		mask[i] = 0
		for ; b != 0; b &= b - 1 {
			if chosen == 0 {
				mask[i] = b & -b
			}
			chosen--
		}
	}
}

// to lists the local ports of switch s that serve a leaf; none at the leaf itself.
func (x *portSets) to(s topology.SwitchID, column int32) []uint16 {
	i := uint32(0)
	if place := int(s)*x.leaves + int(column); x.few != nil {
		i = uint32(x.few[place])
	} else {
		i = x.many[place]
	}
	return x.local[x.start[i]:x.start[i+1]]
}

// last is the hop where no port serves a packet: delivery at its destination's switch, else the
// end.
func (x *portSets) last(h *fabric.Head, vcs int) fabric.Hop {
	if x.home[h.Dst] != h.Switch || x.down.Switch(h.Switch) {
		return fabric.Discard
	}
	return fabric.Hop{Port: x.graph.TerminalPort[h.Dst], VCs: allVCs(vcs)}
}

// anyVC is the hop by a port on any virtual channel.
func anyVC(_ *fabric.Head, port topology.PortID, vcs int) fabric.Hop {
	return fabric.Hop{Port: port, VCs: allVCs(vcs)}
}

// ties is the rule by which a packet takes one of several ports that serve it equally.
type ties uint8

const (
	tiesOne ties = iota
	tiesHashed
	tiesRandom
	tiesLeastOccupied // fewest credits outstanding, of several one at random
	tiesLeastLoaded   // fewest flits that wait or are on their way, the first from a random one on
)

var tiesByName = map[string]ties{
	"one": tiesOne, "hashed": tiesHashed, "random": tiesRandom, "least-occupied": tiesLeastOccupied, "least-loaded": tiesLeastLoaded,
}

// adaptive tells whether the choice depends on the state of the network.
func (t ties) adaptive() bool { return t >= tiesLeastOccupied }

// hash chooses one of n by a packet's key and the switch.
func hash(h *fabric.Head, key uint32, n int) int { return spread(key+uint32(h.Switch)*0x9e3779b1, n) }

// choose is one of several local ports of h.Switch; key is what hashed choices go by.
func (x *portSets) choose(t ties, v *fabric.View, h *fabric.Head, ports []uint16, key uint32) topology.PortID {
	first := x.graph.PortStart[h.Switch]
	chosen := ports[0] // parallel cables of "one"
	if len(ports) > 1 {
		switch t {
		case tiesHashed:
			chosen = ports[hash(h, key, len(ports))]
		case tiesRandom:
			chosen = ports[v.Random(h.Switch).IntN(len(ports))]
		case tiesLeastOccupied:
			chosen = leastOccupied(v, first, ports, v.Random(h.Switch))
		case tiesLeastLoaded:
			start, least := v.Random(h.Switch).IntN(len(ports)), math.MaxInt
			for i := range ports {
				local := ports[(start+i)%len(ports)]
				if load := v.LoadAll(first + topology.PortID(local)); load < least {
					chosen, least = local, load
				}
			}
		}
	}
	return first + topology.PortID(chosen)
}

// leastOccupied is the port, relative to first, with the fewest credits outstanding over all
// virtual channels, ties at random.
func leastOccupied(v *fabric.View, first topology.PortID, ports []uint16, random *sim.Stream) uint16 {
	best, least, equal := ports[0], v.OutstandingAll(first+topology.PortID(ports[0])), 1
	for _, local := range ports[1:] {
		switch n := v.OutstandingAll(first + topology.PortID(local)); {
		case n < least:
			best, least, equal = local, n, 1
		case n == least:
			if equal++; random.IntN(equal) == 0 {
				best = local
			}
		}
	}
	return best
}

// explore lists the hops that choose could return, with probabilities that add up to share, or 0
// where the choice depends on the network; without a port, the last decision. take makes the hop,
// and changes the packet's state.
func (x *portSets) explore(t ties, h fabric.Head, ports []uint16, key uint32, share float64, vcs int,
	take func(h *fabric.Head, port topology.PortID, vcs int) fabric.Hop, yield func(fabric.Hop, uint32, float64)) {
	if len(ports) == 0 {
		if hop := x.last(&h, vcs); hop != fabric.Discard {
			yield(hop, h.State, share)
		}
		return
	}
	switch t {
	case tiesHashed:
		n := hash(&h, key, len(ports))
		ports = ports[n : n+1]
	case tiesOne:
		ports = ports[:1]
	}
	weight := share / float64(len(ports))
	if t.adaptive() {
		weight = 0
	}
	for _, local := range ports {
		head := h
		if hop := take(&head, x.graph.PortStart[h.Switch]+topology.PortID(local), vcs); hop != fabric.Discard {
			yield(hop, head.State, weight)
		}
	}
}

func (x *portSets) Graph() *topology.Graph { return x.graph }

// widely finds shortest paths to all leaves by searches from 64 of them at a time, a bit of a word
// for each (multi-source search: Then et al., PVLDB 8(4), 2014), and enters the ports that lead on
// in tables. A packet may be in one of several phases, which say where it may go: each has a table
// of its own, and the nodes of the search are phase*switches + switch. Cost: for each 64 leaves,
// phases times ports times diameter; and one step for each entry of a set.
type widely struct {
	graph  *topology.Graph
	tables []*portSets // by phase
	peers  []int32     // len = phases*ports: node at the other end, -1: not to be taken
	one    bool        // one port of several is left, chosen by a hash
	// byNumber makes that hash go by the leaf's number as a switch, not by its column.
	byNumber bool
	// reached is told of leaves (bits of fresh, from column base on) at distance hops from a switch
	// in a phase; may be nil.
	reached func(phase int, s topology.SwitchID, base int, fresh uint64, hops int)

	ends            []topology.SwitchID // by column
	seen, now, next []uint64            // len = nodes: leaves that a path is known to, that were reached in the last step, that are in this one
	masks           []byte              // ports by leaf, of one switch; nil: the tables are left alone
}

// newWidely is a search for tables of the same leaves. peers and what follows is to be filled in.
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

// run fills the tables. unreached is asked about each leaf that some node has no path to, lowest
// first, with one such node; its error ends the search.
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

// reach enters the ports of a node towards the leaves that it is now known to be so many hops from.
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
