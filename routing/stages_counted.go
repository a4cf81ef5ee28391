package routing

import (
	"math/bits"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric/topology"
)

// Counts says of a [Stage] that the lowest bits of its states are a count, mostly that of
// the hops made, which decides on the virtual channels of a hop and on nothing else. A walk
// then comes to each switch once, with the set of counts that packets can have there, and
// not once for each of them.
type Counts struct {
	Bits uint32 // those of the count
	// Step is for a packet with a count below 32: its virtual channels, none if it is
	// discarded, and its count after that.
	Step func(vcs int, count uint32) (set, after uint32)
}

// countedPairs gathers which channel comes after which, for all goals and counts.
type countedPairs struct {
	graph  *topology.Graph
	vcs    int
	known  [32]countedHop // by count
	lowest []int32        // len = switches: the first port that leads to a switch
	start  []int          // len = ports+1: a port's first in sets
	sets   []uint32       // for each port behind it, from its switch's lowest on: counts on leaving by the first
}

// countedHop is what a count decides on.
type countedHop struct{ vcs, after uint32 }

func newCountedPairs(g *topology.Graph, counts *Counts, vcs int) *countedPairs {
	c := &countedPairs{graph: g, vcs: vcs, lowest: make([]int32, g.Switches()), start: make([]int, g.NumPorts()+1)}
	for count := range c.known {
		hop := &c.known[count]
		if hop.vcs, hop.after = counts.Step(vcs, uint32(count)); hop.after > 31 {
			hop.vcs, hop.after = 0, 0 // nobody has so many classes
		}
	}
	length := make([]int, g.Switches())
	for s := range length {
		first, end := g.Ports(topology.SwitchID(s))
		c.lowest[s] = int32(end)
		for p := first; p < end; p++ {
			if _, ok := g.PeerPort(p); ok {
				c.lowest[s] = min(c.lowest[s], int32(p))
				length[s] = int(p) + 1 - int(c.lowest[s])
			}
		}
	}
	for p := range topology.PortID(g.NumPorts()) {
		c.start[p+1] = c.start[p]
		if peer, ok := g.PeerPort(p); ok {
			c.start[p+1] += length[g.PortSwitch[peer]]
		}
	}
	c.sets = make([]uint32, c.start[g.NumPorts()])
	return c
}

// add enters that packets which leave by a port with some counts may leave the next
// switch, s, by another.
func (c *countedPairs) add(p topology.PortID, s topology.SwitchID, next topology.PortID, counts uint32) {
	if set := &c.sets[c.start[p]+int(next)-int(c.lowest[s])]; counts&^atomic.LoadUint32(set) != 0 { // mostly all are there
		atomic.OrUint32(set, counts)
	}
}

// yieldAll yields the dependencies.
func (c *countedPairs) yieldAll(yield Dependent) {
	var rows [32][]uint64
	for p := range topology.PortID(c.graph.NumPorts()) {
		peer, ok := c.graph.PeerPort(p)
		if !ok {
			continue
		}
		s, all := c.graph.PortSwitch[peer], uint32(0)
		width := (c.graph.Degree(s)*c.vcs + 63) / 64
		for i, set := range c.sets[c.start[p]:c.start[p+1]] {
			local := int(c.lowest[s]) - int(c.graph.PortStart[s]) + i
			for ; set != 0; set &= set - 1 {
				count := bits.TrailingZeros32(set)
				if all>>count&1 == 0 {
					all |= 1 << count
					rows[count] = append(rows[count][:0], make([]uint64, width)...)
				}
				for vcs := c.known[c.known[count].after].vcs; vcs != 0; vcs &= vcs - 1 {
					bit := local*c.vcs + bits.TrailingZeros32(vcs)
					rows[count][bit/64] |= 1 << (bit % 64)
				}
			}
		}
		for ; all != 0; all &= all - 1 {
			count := bits.TrailingZeros32(all)
			for vcs := c.known[count].vcs; vcs != 0; vcs &= vcs - 1 {
				yield(topology.Channel{Port: p, VC: uint8(bits.TrailingZeros32(vcs))}, rows[count])
			}
		}
	}
}

// after are the counts behind a hop of packets that leave with those of a set.
func (c *countedPairs) after(set uint32) (all uint32) {
	for ; set != 0; set &= set - 1 {
		if hop := &c.known[bits.TrailingZeros32(set)]; hop.vcs != 0 {
			all |= 1 << hop.after
		}
	}
	return all
}
