package multicast

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// Rows is a switch's multicast forwarding table: for each colour in use, the
// ports that a packet of that MLID leaves by, except the one that it came in
// by.
type Rows struct {
	// Switch is where the table stands.
	Switch topology.SwitchID
	// Colours are ascending; with a table per port a colour may occur more
	// than once, with disjoint ports: the row that has the arrival port holds.
	Colours []Colour
	// Ports are the ascending ports of each row (len = colours).
	Ports [][]topology.PortID
	// Local says that the switch itself is a member (len = colours).
	Local []bool
}

// Tables computes the forwarding tables of all switches from the trees (len =
// switches). Cost: linear in the trees.
func (f *Forest) Tables() []Rows {
	graph := f.env.Graph
	tables := make([]Rows, graph.Switches())
	for s := range tables {
		tables[s].Switch = topology.SwitchID(s)
	}
	for p := range f.byColour() {
		row := make(map[topology.SwitchID]int, len(p.Switches))
		for _, s := range p.Switches {
			t := &tables[s]
			row[s] = len(t.Colours)
			t.Colours = append(t.Colours, p.Colour)
			t.Ports = append(t.Ports, nil)
			t.Local = append(t.Local, false)
		}
		add := func(port topology.PortID) {
			s := graph.PortSwitch[port]
			tables[s].Ports[row[s]] = append(tables[s].Ports[row[s]], port)
		}
		for _, up := range p.Up[1:] {
			add(up)
			add(topology.PortID(graph.Peer[up]))
		}
		members := virtualGroup([]*Planted{p}, &Group{})
		for _, t := range members.Terminals {
			add(graph.TerminalPort[t])
		}
		for _, s := range members.Switches {
			tables[s].Local[row[s]] = true
		}
		for _, s := range p.Switches {
			slices.Sort(tables[s].Ports[row[s]])
		}
	}
	return tables
}

// byColour yields the trees by ascending colour.
func (f *Forest) byColour() func(yield func(*Planted) bool) {
	return func(yield func(*Planted) bool) {
		for _, c := range f.colours {
			for _, p := range c.trees {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// find is the index of the row for packets of colour c that come in by port in
// (NoPort: from the management port), or -1.
func (r *Rows) find(c Colour, in topology.PortID, perPort bool) int {
	i, ok := slices.BinarySearch(r.Colours, c)
	if !ok {
		return -1
	}
	for ; perPort && i < len(r.Colours) && r.Colours[i] == c; i++ {
		if in == topology.NoPort && r.Local[i] {
			return i
		}
		if _, has := slices.BinarySearch(r.Ports[i], in); has {
			return i
		}
	}
	if perPort {
		return -1
	}
	return i
}
