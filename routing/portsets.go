package routing

import (
	"fmt"
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// portSets is a table of the ports by which each switch sends packets on to
// each leaf, a switch with terminals. It is kept as a number into the list of
// different port sets of the switch: 2 bytes for each (switch, leaf), and 2 for
// each member of each different set.
type portSets struct {
	graph  *topology.Graph
	home   []topology.SwitchID // len = terminals
	leaf   []int32             // len = switches: column of a leaf, else -1
	column []int32             // len = terminals: column of its switch
	leaves int
	set    []uint16 // len = switches*leaves: number of the port set
	first  []int32  // len = switches: first set of the switch in start
	start  []int32  // sets are local[start[i]:start[i+1]]
	local  []uint16 // ports, relative to the switch's first
}

// maxTableLeaves bounds the tables: set numbers are 16 bits, and their size
// grows with the product of switches and leaves.
const maxTableLeaves = 1 << 14

// newPortSets numbers the leaves of g for routing name; sample is a terminal of
// each. The sets are to be filled.
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

// fill makes the port sets of all switches. mark sets the bits of the ports of
// switch s that serve each leaf in masks, width bytes for each. Cost: switches *
// leaves * ports of a switch.
func (x *portSets) fill(mark func(s topology.SwitchID, masks []byte, width int)) {
	x.set = make([]uint16, x.graph.Switches()*x.leaves)
	x.start = []int32{0}
	var masks []byte
	for s := range x.graph.Switches() {
		x.first = append(x.first, int32(len(x.start)-1))
		width := (x.graph.Degree(topology.SwitchID(s)) + 7) / 8
		masks = append(masks[:0], make([]byte, x.leaves*width)...)
		mark(topology.SwitchID(s), masks, width)
		x.number(masks, width, x.set[s*x.leaves:][:x.leaves])
	}
}

// number enters a switch's port sets, each different one once, and their
// numbers by leaf.
func (x *portSets) number(masks []byte, width int, set []uint16) {
	numbers := map[string]uint16{}
	for leaf := range set {
		mask := masks[leaf*width:][:width]
		number, known := numbers[string(mask)]
		if !known {
			number = uint16(len(numbers))
			numbers[string(mask)] = number
			for i, b := range mask {
				for ; b != 0; b &= b - 1 {
					x.local = append(x.local, uint16(8*i+bits.TrailingZeros8(b)))
				}
			}
			x.start = append(x.start, int32(len(x.local)))
		}
		set[leaf] = number
	}
}

// leaveOne clears all bits of each leaf's mask but one, chosen by a hash of switch
// and leaf.
func (x *portSets) leaveOne(masks []byte, width int, s topology.SwitchID) {
	for leaf := range x.leaves {
		mask := masks[leaf*width:][:width]
		n := 0
		for _, b := range mask {
			n += bits.OnesCount8(b)
		}
		if n < 2 {
			continue
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
}

// to lists the ports of switch s, relative to its first, that serve a leaf; none
// at the leaf itself.
func (x *portSets) to(s topology.SwitchID, column int32) []uint16 {
	i := x.first[s] + int32(x.set[int(s)*x.leaves+int(column)])
	return x.local[x.start[i]:x.start[i+1]]
}

// last is the decision where no port serves a packet: delivery at the
// destination's switch, or else the end.
func (x *portSets) last(h *fabric.Head, vcs int, down *topology.Down) fabric.Hop {
	if x.home[h.Dst] != h.Switch || down.Switch(h.Switch) {
		return fabric.Discard
	}
	return fabric.Hop{Port: x.graph.TerminalPort[h.Dst], VCs: allVCs(vcs)}
}

// Graph implements [fabric.GraphRouting].
func (x *portSets) Graph() *topology.Graph { return x.graph }
