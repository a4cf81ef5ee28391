package routing

import (
	"fmt"
	"math/bits"

	"github.com/weft-sim/weft/fabric/topology"
)

// shortest fills the table with the ports that lead nearer to each leaf: searches from
// 64 leaves at a time, a bit of a word for each (multi-source search: Then et al.,
// PVLDB 8(4), 2014). sample is a terminal of each leaf. Cost: for each 64 leaves, ports times
// diameter; and one step for each entry of a set.
func (p *hopPaths) shortest(name string, sample []topology.TerminalID, lengths bool) error {
	w := &widely{hopPaths: p, peers: make([]int32, p.graph.NumPorts()), ends: make([]topology.SwitchID, len(sample))}
	for port := range w.peers {
		w.peers[port] = -1
		if peer, ok := p.graph.PeerPort(topology.PortID(port)); ok && !p.down.Port(topology.PortID(port)) {
			w.peers[port] = int32(p.graph.PortSwitch[peer])
		}
	}
	for column, t := range sample {
		w.ends[column] = p.home[t]
	}
	n, most := p.graph.Switches(), 0
	for s := range topology.SwitchID(n) {
		most = max(most, p.graph.Degree(s))
	}
	w.seen, w.now, w.next = make([]uint64, n), make([]uint64, n), make([]uint64, n)
	w.masks = make([]byte, 64*((most+7)/8))
	if lengths {
		p.length = make([]uint8, n*p.leaves)
	}
	p.begin()
	for base := 0; base < p.leaves; base += 64 {
		if err := w.search(name, base); err != nil {
			return err
		}
	}
	p.end()
	return nil
}

// widely is a search from many leaves.
type widely struct {
	*hopPaths
	peers           []int32             // len = ports: switch at the other end, -1 for none
	ends            []topology.SwitchID // by column
	seen, now, next []uint64            // len = switches: leaves that a path is known to, that were reached in the last step, that are in this one
	masks           []byte              // ports by leaf, of one switch
}

// search finds the paths to up to 64 leaves from column base on.
func (w *widely) search(name string, base int) error {
	clear(w.seen)
	clear(w.now)
	batch := w.ends[base:min(base+64, len(w.ends))]
	for i, s := range batch {
		w.seen[s] |= 1 << i
		w.now[s] |= 1 << i
	}
	all := ^uint64(0) >> (64 - len(batch))
	for depth, moves := 1, true; moves; depth++ {
		moves = false
		for s, seen := range w.seen {
			w.next[s] = 0
			if seen == all {
				continue
			}
			fresh := uint64(0)
			first, end := w.graph.Ports(topology.SwitchID(s))
			for _, peer := range w.peers[first:end] {
				if peer >= 0 {
					fresh |= w.now[peer]
				}
			}
			if fresh &^= seen; fresh != 0 {
				moves = true
				w.next[s] = fresh
				w.reach(topology.SwitchID(s), base, fresh, depth)
			}
		}
		for s, fresh := range w.next {
			w.seen[s] |= fresh
		}
		w.now, w.next = w.next, w.now
		if depth > maxLength && w.length != nil && moves {
			return fmt.Errorf("routing %q handles paths of at most %d hops; this topology has one of %d", name, maxLength, depth)
		}
	}
	if w.down == nil {
		for i, end := range batch {
			for s, seen := range w.seen {
				if w.leaf[s] >= 0 && seen>>i&1 == 0 {
					return unconnected(name, w.graph, topology.SwitchID(s), end)
				}
			}
		}
	}
	return nil
}

// reach enters the ports of switch s towards the leaves that it is now known to be so
// far from.
func (w *widely) reach(s topology.SwitchID, base int, fresh uint64, depth int) {
	first, end := w.graph.Ports(s)
	width := (int(end-first) + 7) / 8
	for i, peer := range w.peers[first:end] {
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
		if w.ties == tiesOne {
			leaveOne(mask, s, base+i)
		}
		w.enter(s, base+i, mask)
		clear(mask)
		if w.length != nil {
			w.length[int(s)*w.leaves+base+i] = uint8(depth)
		}
	}
	if w.leaf[s] >= 0 {
		w.hops = max(w.hops, depth)
	}
}
