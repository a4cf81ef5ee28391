package mcast

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/multicast"
)

// memberSwitch is a switch that a group has members at.
type memberSwitch struct {
	sw topology.SwitchID
	// cost is 1 if a packet has one more hop to go from the switch, 0 if its
	// own management port is a member: then OpenSM does not look at its hosts.
	cost uint8
	// hosts is 1 if hosts of the switch are members.
	hosts uint8
}

// osmMembers lists the switches of a group's members, ascending, into dst.
func osmMembers(graph *topology.Graph, g *multicast.Group, dst []memberSwitch) []memberSwitch {
	dst = dst[:0]
	for _, t := range g.Terminals {
		if s := graph.TerminalSwitch(t); len(dst) == 0 || dst[len(dst)-1].sw != s {
			dst = append(dst, memberSwitch{s, 1, 1})
		}
	}
	for _, s := range g.Switches {
		dst = append(dst, memberSwitch{s, 0, 0})
	}
	slices.SortFunc(dst, func(a, b memberSwitch) int { return cmp.Compare(a.sw, b.sw) })
	kept := 0
	for _, m := range dst {
		if kept > 0 && dst[kept-1].sw == m.sw {
			dst[kept-1].cost &= m.cost
			dst[kept-1].hosts |= m.hosts
			continue
		}
		dst[kept] = m
		kept++
	}
	return dst[:kept]
}

// hopRows says how many hops OpenSM believes to lie between two switches:
// the smallest entry of the min-hop row.
type hopRows interface {
	// rowTo lists the hops from every switch to w (len = switches).
	rowTo(w topology.SwitchID) []uint8
	// symmetric tells that hops from a to b are hops from b to a and obey the
	// triangle inequality, as shortest paths do.
	symmetric() bool
}

// osmMaxCost is above every cost that OpenSM accepts for a root: no path is
// 255, and one hop to the host.
const osmMaxCost = 256

// osmRoot is the switch that OpenSM makes the root: the first in order whose
// largest hop count to a member switch (plus one where hosts are members) is
// strictly the smallest. The comments in OpenSM say average; the code takes the
// maximum. Unreachable counts as 255 hops, as in OpenSM.
//
// Switches are asked about the members that are farthest apart first, and given
// up once they cannot win any more; with symmetric hops the search ends at the
// first switch as near as half of the largest distance between members allows.
// Cost: switches times member switches at worst, about switches as a rule.
func osmRoot(order []topology.SwitchID, hops hopRows, members []memberSwitch) (root topology.SwitchID, cost int) {
	bound := int(members[0].cost)
	if hops.symmetric() && len(members) > 1 {
		bound = max(bound, spreadMembers(hops, members))
	}
	rows := make([][]uint8, len(members))
	for i, m := range members {
		rows[i] = hops.rowTo(m.sw)
	}
	best, root := osmMaxCost+1, topology.SwitchID(-1)
	for _, s := range order {
		cost := 0
		for i, m := range members {
			if c := int(rows[i][s]) + int(m.cost); c > cost {
				if cost = c; cost >= best {
					break
				}
			}
		}
		if cost < best {
			best, root = cost, s
			if best <= bound {
				break
			}
		}
	}
	return root, best
}

// spreadMembers moves two members that are far apart to the front and returns
// what no root can be better than: a root as far from both as half their
// distance, hosts included.
func spreadMembers(hops hopRows, members []memberSwitch) int {
	farthest := func(from memberSwitch) (at, distance int) {
		row := hops.rowTo(from.sw)
		for i, m := range members {
			if d := int(row[m.sw]) + int(m.cost) + int(from.cost); m.sw != from.sw && d > distance {
				at, distance = i, d
			}
		}
		return at, distance
	}
	a, _ := farthest(members[0])
	members[0], members[a] = members[a], members[0]
	b, distance := farthest(members[0])
	if b != 0 {
		members[1], members[b] = members[b], members[1]
	}
	return (distance + 1) / 2
}

// unreachedError says that OpenSM's tables lead nowhere.
func unreachedError(graph *topology.Graph, from, to topology.SwitchID) error {
	return fmt.Errorf("%s has no path to %s in the subnet manager's tables", graph.SwitchName(from), graph.SwitchName(to))
}
