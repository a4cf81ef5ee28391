package topology

import "slices"

// Neighbors is the adjacency of the switches of a graph in compressed rows,
// parallel cables merged: what searches over large graphs walk. Terminals do
// not appear.
type Neighbors struct {
	start []int32    // len = switches+1
	ids   []SwitchID // neighbours of s, ascending: ids[start[s]:start[s+1]]
}

// Neighbors builds the adjacency. Cost: linear in the number of ports, but for
// sorting each row.
func (g *Graph) Neighbors() *Neighbors { return g.NeighborsWithout(nil) }

// NeighborsWithout is [Graph.Neighbors] without the cables that are down.
func (g *Graph) NeighborsWithout(down *Down) *Neighbors {
	n := &Neighbors{start: make([]int32, 1, g.Switches()+1), ids: make([]SwitchID, 0, 2*g.SwitchLinks())}
	for s := range g.Switches() {
		row := len(n.ids)
		first, end := g.Ports(SwitchID(s))
		for p := first; p < end; p++ {
			if peer, ok := g.PeerPort(p); ok && !down.Port(p) {
				n.ids = append(n.ids, g.PortSwitch[peer])
			}
		}
		slices.Sort(n.ids[row:])
		n.ids = n.ids[:row+len(slices.Compact(n.ids[row:]))]
		n.start = append(n.start, int32(len(n.ids)))
	}
	return n
}

// Of lists the switches that s has cables to, in ascending order, each once.
// The slice must not be changed.
func (n *Neighbors) Of(s SwitchID) []SwitchID { return n.ids[n.start[s]:n.start[s+1]] }

// Unreachable is the distance to a switch that no path leads to.
const Unreachable int16 = -1

// DistancesFrom is [Neighbors.DistancesFrom] for a single use.
func (g *Graph) DistancesFrom(s SwitchID, dst []int16) []int16 {
	return g.Neighbors().DistancesFrom(s, dst)
}

// DistancesFrom returns the number of switch-switch cables on a shortest path
// from switch s to every switch (len = switches), or [Unreachable], by
// breadth-first search. dst is used if it is large enough. Graphs of diameter
// above 32,767 panic. Cost: linear in the number of links.
func (n *Neighbors) DistancesFrom(s SwitchID, dst []int16) []int16 {
	switches := len(n.start) - 1
	if cap(dst) < switches {
		dst = make([]int16, switches)
	}
	dst = dst[:switches]
	for i := range dst {
		dst[i] = Unreachable
	}
	queue := make([]SwitchID, 1, switches)
	queue[0] = s
	dst[s] = 0
	for i := 0; i < len(queue); i++ {
		next := dst[queue[i]] + 1
		for _, t := range n.Of(queue[i]) {
			if dst[t] != Unreachable {
				continue
			}
			if next < 0 {
				panic("topology: DistancesFrom: a path of more than 32767 cables")
			}
			dst[t] = next
			queue = append(queue, t)
		}
	}
	return dst
}
