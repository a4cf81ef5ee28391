package multicast

import (
	"fmt"

	"github.com/weft-sim/weft/fabric/topology"
)

// Tree is a multicast tree: some switches of a graph and the cables that join
// them. It does not say which terminals listen; that is up to the groups that
// use it.
type Tree struct {
	// Switches are the switches of the tree, the root first, parents before
	// children.
	Switches []topology.SwitchID
	// Up is the port of each switch towards its parent (len = switches);
	// NoPort for the root.
	Up []topology.PortID
	// Height is the number of cables from the root to the farthest member: a
	// member terminal is one cable beyond its switch. The tree of a group
	// within one switch has height 1, or 0 if that switch is the only member.
	Height int
}

// Root is the switch that the tree was grown from.
func (t *Tree) Root() topology.SwitchID { return t.Switches[0] }

// Links is the number of cables between switches.
func (t *Tree) Links() int { return len(t.Switches) - 1 }

// NewTree makes the tree in which each listed switch climbs by its port up
// (NoPort for exactly one, the root), in any order. It is for engines that
// find branches in another order than parents first. members gives the height.
// It returns an error if the ports do not form one tree. Cost: linear with a
// map over the switches.
func NewTree(graph *topology.Graph, switches []topology.SwitchID, up []topology.PortID, members *Group) (*Tree, error) {
	index := make(map[topology.SwitchID]int, len(switches))
	root := -1
	for i, s := range switches {
		if _, twice := index[s]; twice {
			return nil, fmt.Errorf("%s is in the tree twice", graph.SwitchName(s))
		}
		index[s] = i
		if up[i] == topology.NoPort {
			if root >= 0 {
				return nil, fmt.Errorf("two roots: %s and %s", graph.SwitchName(switches[root]), graph.SwitchName(s))
			}
			root = i
		}
	}
	if root < 0 {
		return nil, fmt.Errorf("a tree of %d switches has no root", len(switches))
	}
	children := make([][]int, len(switches))
	for i, p := range up {
		if i == root {
			continue
		}
		peer, ok := graph.PeerPort(p)
		if !ok || graph.PortSwitch[p] != switches[i] {
			return nil, fmt.Errorf("%s does not lead from %s to a switch", graph.PortName(p), graph.SwitchName(switches[i]))
		}
		parent, in := index[graph.PortSwitch[peer]]
		if !in {
			return nil, fmt.Errorf("the parent of %s is not in the tree", graph.SwitchName(switches[i]))
		}
		children[parent] = append(children[parent], i)
	}
	t := &Tree{}
	queue := append(make([]int, 0, len(switches)), root)
	for head := 0; head < len(queue); head++ {
		i := queue[head]
		t.Switches = append(t.Switches, switches[i])
		t.Up = append(t.Up, up[i])
		queue = append(queue, children[i]...)
	}
	if len(t.Switches) != len(switches) {
		return nil, fmt.Errorf("%d of %d switches do not lead to the root", len(switches)-len(t.Switches), len(switches))
	}
	t.Height = heightOf(graph, t, members)
	return t, nil
}

// heightOf computes [Tree.Height] for members; members outside the tree do not
// count.
func heightOf(graph *topology.Graph, t *Tree, members *Group) int {
	depth := make(map[topology.SwitchID]int, len(t.Switches))
	for i, s := range t.Switches {
		if i == 0 {
			depth[s] = 0
			continue
		}
		peer, _ := graph.PeerPort(t.Up[i])
		depth[s] = depth[graph.PortSwitch[peer]] + 1
	}
	return heightAt(graph, depth, members)
}

// heightAt is the largest hop count to a member, given the depths of the
// tree's switches.
func heightAt(graph *topology.Graph, depth map[topology.SwitchID]int, members *Group) int {
	height := 0
	for _, m := range members.Terminals {
		if d, in := depth[graph.TerminalSwitch(m)]; in {
			height = max(height, d+1)
		}
	}
	for _, s := range members.Switches {
		height = max(height, depth[s])
	}
	return height
}
