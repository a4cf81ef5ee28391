package topology

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/sim/input"
)

// Neighbors is the adjacency of a graph's switches in compressed rows, parallel cables merged,
// without terminals, for searches over large graphs.
type Neighbors struct {
	start []int32    // len = switches+1
	ids   []SwitchID // neighbours of s, ascending: ids[start[s]:start[s+1]]
}

// Neighbors builds the adjacency. Cost: linear in the number of ports, but for sorting each row.
func (g *Graph) Neighbors() *Neighbors { return g.NeighborsWithout(nil) }

// NeighborsWithout is [Graph.Neighbors] without the cables that are down.
func (g *Graph) NeighborsWithout(down *Down) *Neighbors {
	n := &Neighbors{start: make([]int32, 1, g.Switches()+1), ids: make([]SwitchID, 0, 2*g.SwitchLinks())}
	for s := range g.Switches() {
		row := len(n.ids)
		for p, to := range g.Links(SwitchID(s)) {
			if !down.Port(p) {
				n.ids = append(n.ids, to)
			}
		}
		slices.Sort(n.ids[row:])
		n.ids = n.ids[:row+len(slices.Compact(n.ids[row:]))]
		n.start = append(n.start, int32(len(n.ids)))
	}
	return n
}

// Of lists the switches next to s, ascending, each once. The slice must not be changed.
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
// above 32,767 panic; [Graph.CheckReach] refuses them. Cost: linear in the number of links.
func (n *Neighbors) DistancesFrom(s SwitchID, dst []int16) []int16 {
	switches := len(n.start) - 1
	if cap(dst) < switches {
		dst = make([]int16, switches)
	}
	dst = dst[:switches]
	for s := range dst {
		dst[s] = Unreachable
	}
	n.search(dst, append(make([]SwitchID, 0, switches), s))
	return dst
}

// CheckReach refuses networks of files that are not connected, naming the first switch that no path
// leads to, or in which a path may have more cables than distances can count.
func (g *Graph) CheckReach() (lost SwitchID, err error) {
	neighbors := g.Neighbors()
	seen := make([]bool, g.Switches())
	queue, depth := []SwitchID{0}, 0
	seen[0] = true
	for ; len(queue) > 0; depth++ {
		var next []SwitchID
		for _, s := range queue {
			for _, t := range neighbors.Of(s) {
				if !seen[t] {
					seen[t] = true
					next = append(next, t)
				}
			}
		}
		if depth >= math.MaxInt16/2 && len(next) > 0 {
			return next[0], FarError(next[0])
		}
		queue = next
	}
	if lost := SwitchID(slices.Index(seen, false)); lost >= 0 {
		called := func(s SwitchID) string {
			if name := at(g.identities().Switches, s).Name; name != "" {
				return "switch " + input.Quote(name)
			}
			return g.SwitchName(s)
		}
		return lost, fmt.Errorf("no path from %s to %s: the network is not connected", called(0), called(lost))
	}
	return 0, nil
}

// FarError names a switch too far from switch 0 for distances of the network to be counted.
type FarError SwitchID

func (s FarError) Error() string {
	return fmt.Sprintf("switch %d is more than %d cables from switch 0: want a network with shorter paths", SwitchID(s), math.MaxInt16/2)
}

// DistancesFromAny is [Neighbors.DistancesFrom] to the nearest of some switches.
func (n *Neighbors) DistancesFromAny(from []SwitchID) []int16 {
	distance := slices.Repeat([]int16{Unreachable}, len(n.start)-1)
	n.search(distance, slices.Clone(from))
	return distance
}

// search enters the distances of switches without one, from the queue's (which have one or get 0),
// and returns all, nearest first.
func (n *Neighbors) search(distance []int16, queue []SwitchID) []SwitchID {
	for _, s := range queue {
		distance[s] = 0
	}
	for i := 0; i < len(queue); i++ {
		next := distance[queue[i]] + 1
		for _, t := range n.Of(queue[i]) {
			if distance[t] != Unreachable {
				continue
			}
			if next < 0 {
				panic("topology: DistancesFrom: a path of more than 32767 cables")
			}
			distance[t] = next
			queue = append(queue, t)
		}
	}
	return queue
}
