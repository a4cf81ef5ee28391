package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// Stages implements [Staged]: up, from any switch on the way down to a leaf.
func (r *nca) Stages() (fabric.Routing, []Stage) {
	_, sample := numberLeaves(r.graph)
	if len(sample) < 2 {
		return r, nil
	}
	wide := *r
	wide.byHash = [2]bool{}
	reaches := func(s topology.SwitchID, leaf int) bool {
		n := &r.nodes[s]
		return n.leaf == int32(leaf) || n.row >= 0 && r.down[int(n.row)+leaf].count > 0
	}
	climbs := make([]topology.TerminalID, r.graph.Switches()) // for each switch: one that is not below it, -1: none
	for s := range climbs {
		climbs[s] = -1
		for leaf, t := range sample {
			if !reaches(topology.SwitchID(s), leaf) {
				climbs[s] = t
				break
			}
		}
	}
	up := Stage{
		Goals: 1,
		Start: func(_ int, s topology.SwitchID) (uint32, bool) { return 0, climbs[s] >= 0 },
		Head: func(_ int, s topology.SwitchID, state uint32) (topology.TerminalID, uint32) {
			return climbs[s], state
		},
		Ends: func(_ int, s topology.SwitchID) (ends, goesOn bool) { return true, climbs[s] >= 0 },
	}
	below := r.below(sample)
	down := Stage{
		Goals:    len(sample),
		Switches: func(goal int) []topology.SwitchID { return below[goal] },
		Start: func(goal int, s topology.SwitchID) (uint32, bool) {
			return 0, reaches(s, goal) && r.nodes[s].leaf != int32(goal)
		},
		Enters: func(goal int, s topology.SwitchID, _ uint32) bool { return r.nodes[s].leaf != int32(goal) },
		Head: func(goal int, _ topology.SwitchID, state uint32) (topology.TerminalID, uint32) {
			return sample[goal], state
		},
		Ends: toDestination,
	}
	return &wide, []Stage{up, down}
}

// below lists, for each leaf, the switches that have it below them.
func (r *nca) below(sample []topology.TerminalID) [][]topology.SwitchID {
	above := make([][]topology.SwitchID, len(sample))
	for s, n := range r.nodes {
		if n.row < 0 {
			continue
		}
		for leaf, d := range r.down[n.row:][:len(sample)] {
			if d.count > 0 {
				above[leaf] = append(above[leaf], topology.SwitchID(s))
			}
		}
	}
	return above
}
