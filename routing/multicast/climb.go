package multicast

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// climber builds trees of shortest paths bottom-up along the min-hop tables
// (Chen et al. 2021, algorithm 2).
type climber struct {
	f        *Forest
	visited  []uint32 // len = switches: the last climb that came by
	climb    uint32
	switches []topology.SwitchID
	up       []topology.PortID
}

func newClimber(f *Forest) *climber {
	return &climber{f: f, visited: make([]uint32, f.env.Graph.Switches())}
}

// build climbs from each member switch of g (terminals in ascending order,
// then member switches) to root, at each switch by the port on a shortest path
// whose cable carries the fewest groups, the lowest port among equals, until it
// meets an earlier climb. The tree's slices are valid until the next build.
// Cost: ports of the switches of the tree.
func (c *climber) build(root topology.SwitchID, g *Group) Tree {
	c.climb++
	c.switches = append(c.switches[:0], root)
	c.up = append(c.up[:0], topology.NoPort)
	c.visited[root] = c.climb
	row := c.f.env.Hops.Row(root)
	graph := c.f.env.Graph
	for _, t := range g.Terminals {
		c.from(graph.TerminalSwitch(t), row)
	}
	for _, s := range g.Switches {
		c.from(s, row)
	}
	return Tree{Switches: c.switches, Up: c.up}
}

func (c *climber) from(s topology.SwitchID, row []uint8) {
	hops, efi := c.f.env.Hops, c.f.efi
	start := len(c.switches)
	for c.visited[s] != c.climb {
		c.visited[s] = c.climb
		nearer := row[s] - 1
		peers, ports := hops.neighbours(s), hops.linkPorts(s)
		best, least := -1, int32(0)
		for i, v := range peers {
			if row[v] == nearer {
				if load := efi[ports[i]]; best < 0 || load < least {
					best, least = i, load
					if load == 0 {
						break
					}
				}
			}
		}
		c.switches = append(c.switches, s)
		c.up = append(c.up, ports[best])
		s = peers[best]
	}
	slices.Reverse(c.switches[start:]) // parents first
	slices.Reverse(c.up[start:])
}

// keep copies a tree out of scratch memory.
func (t Tree) keep() *Tree {
	return &Tree{
		Switches: append(make([]topology.SwitchID, 0, len(t.Switches)), t.Switches...),
		Up:       append(make([]topology.PortID, 0, len(t.Up)), t.Up...),
		Height:   t.Height,
	}
}
