package multicast

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// Tree is a multicast tree: some switches of a graph and the cables that join them. It does not say
// which terminals listen; that is up to the groups that use it.
type Tree struct {
	// Switches are the switches of the tree, the root first, parents before children.
	Switches []topology.SwitchID
	// Up is the port of each switch towards its parent (len = switches); NoPort for the root.
	Up []topology.PortID
	// Height is the number of cables from the root to the farthest member: a member terminal is one
	// cable beyond its switch. The tree of a group within one switch has height 1, or 0 for the
	// switch alone.
	Height int
}

// Links is the number of cables between switches.
func (t *Tree) Links() int { return len(t.Switches) - 1 }

// HeightOf is [Tree.Height] for members; those outside the tree do not count.
func (t *Tree) HeightOf(graph *topology.Graph, members *Group) int {
	depth := make(map[topology.SwitchID]int, len(t.Switches))
	for i, s := range t.Switches {
		if depth[s] = 0; i > 0 {
			depth[s] = depth[parentOf(graph, t.Up[i])] + 1
		}
	}
	height := 0
	members.each(graph, func(m member) {
		if d, in := depth[m.sw]; in {
			height = max(height, d+m.extra)
		}
	})
	return height
}

// parentOf is the switch that a tree's port up leads to.
func parentOf(graph *topology.Graph, up topology.PortID) topology.SwitchID {
	return graph.PortSwitch[graph.Peer[up]]
}

// Rows is a switch's multicast forwarding table: for each colour in use, the ports that a packet of
// that MLID leaves by, except the one that it came in by.
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

// Tables computes the tables of all switches from the trees (len = switches). Cost: linear in the
// trees.
func (f *Forest) Tables() []Rows {
	graph := f.env.Graph
	tables := make([]Rows, graph.Switches())
	for s := range tables {
		tables[s].Switch = topology.SwitchID(s)
	}
	for p := range f.byColour {
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
		members := p.members()
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
func (f *Forest) byColour(yield func(*Planted) bool) {
	for _, c := range f.colours {
		for _, p := range c.trees {
			if !yield(p) {
				return
			}
		}
	}
}

// find is the row of packets of colour c that come in by port in (NoPort: management port), or -1.
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
