package routing

import (
	"fmt"

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
	for i, t := range wide.ties {
		if t == tiesHashed {
			wide.ties[i] = tiesRandom
		}
	}
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
		Head:   headsFor(sample),
		Ends:   toDestination,
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

// anyWay is a routing that leaves at every switch by any port, on the virtual channels of the hop's
// number, for as many hops as there are classes. Its dependencies include those of every routing
// that numbers hops alike, so it stands for adaptive routings whose walks have no goals. It is
// walked, not run.
type anyWay struct {
	plain
	graph   *topology.Graph
	classes int
	set     func(class, vcs int) uint32
}

// numberedStages are the stages of a routing whose hops are numbered from 0 on and use the
// virtual channels of set for their numbers: one, which ends nowhere.
func numberedStages(g *topology.Graph, classes int, set func(class, vcs int) uint32) (fabric.Routing, []Stage) {
	r := &anyWay{graph: g, classes: classes, set: set}
	return r, []Stage{{
		Goals: 1,
		Start: func(int, topology.SwitchID) (uint32, bool) { return 0, true },
		Head:  func(_ int, _ topology.SwitchID, state uint32) (topology.TerminalID, uint32) { return 0, state },
		Ends:  toDestination,
		Counts: &Counts{31, func(vcs int, count uint32) (uint32, uint32) {
			if int(count) >= classes {
				return 0, 0
			}
			return set(int(count), vcs), count + 1
		}},
	}}
}

func (r *anyWay) VCs() int { return r.classes }

func (r *anyWay) Route(_ *fabric.View, h *fabric.Head) fabric.Hop {
	panic(fmt.Sprintf("routing: %T leads nowhere", r))
}

func (r *anyWay) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	if int(h.State) >= r.classes {
		return
	}
	for p := range r.graph.Links(h.Switch) {
		yield(fabric.Hop{Port: p, VCs: r.set(int(h.State), vcs)}, h.State+1, 0)
	}
}

func (r *polarized) Stages() (fabric.Routing, []Stage) { return r.hopPaths.numberedStages(r) }

func (u *ugalPF) Stages() (fabric.Routing, []Stage) { return u.hopPaths.numberedStages(u) }

// numberedStages are the stages of routing r, whose hops go by the numbers of p.
func (p *hopPaths) numberedStages(r fabric.Routing) (fabric.Routing, []Stage) {
	if p.counted == 0 || p.turns != nil {
		return r, nil
	}
	return numberedStages(p.graph, p.classes, func(class, vcs int) uint32 { return p.sets[vcs][class] })
}

func (q *qAdaptive) Stages() (fabric.Routing, []Stage) {
	return numberedStages(q.graph, qClasses, func(class, vcs int) uint32 { return q.vcSet(uint32(class), vcs) })
}

// stage is for packets that follow the table to their destination. They begin in state start, if
// starts is true. keep are the bits of the state that matter.
func (p *hopPaths) stage(start, keep uint32, starts bool) Stage {
	_, sample := numberLeaves(p.graph)
	return Stage{
		Counts: p.counts(),
		Goals:  p.leaves,
		Start: func(goal int, s topology.SwitchID) (uint32, bool) {
			return start, starts && p.leaf[s] != int32(goal)
		},
		Head:   headsFor(sample),
		Ends:   toDestination,
		Reduce: func(state uint32) uint32 { return state & keep },
	}
}

// counts is how hops are counted; nil where classes go by turns, which depend on ports, or
// outnumber the virtual channels.
func (p *hopPaths) counts() *Counts {
	if p.turns != nil || p.classes > maxVCs {
		return nil
	}
	return &Counts{hopCount, func(vcs int, count uint32) (set, after uint32) {
		if int(count) >= p.classes {
			return 0, 0
		}
		return p.sets[vcs][count], count + p.counted
	}}
}

// Stages implements [Staged]: one, to the destination.
func (r *table) Stages() (fabric.Routing, []Stage) {
	if r.down != nil || r.ties == tiesHashed {
		return r, nil
	}
	return r, []Stage{r.stage(tableStarted, hopCount|tableStarted, true)}
}

// goals implements [detours]: to the intermediate switch, then to the destination, where minimal
// packets may start.
func (w *legWalk) goals(minimal bool) (detours, []Stage) {
	if w.ties == tiesHashed || w.leaves < 3 {
		return w, nil
	}
	const keep = hopCount | legSecond | legStarted
	out := w.stage(over(0)&keep, keep, true)
	out.Head = func(goal int, _ topology.SwitchID, state uint32) (topology.TerminalID, uint32) {
		return 0, state | uint32(goal)<<legVia
	}
	out.Ends = func(goal int, s topology.SwitchID) (ends, goesOn bool) {
		ends = w.leaf[s] == int32(goal)
		return ends, !ends
	}
	back := w.stage(direct(), keep, minimal)
	head := back.Head
	back.Head = func(goal int, s topology.SwitchID, state uint32) (topology.TerminalID, uint32) {
		dst, state := head(goal, s, state)
		if state&legSecond == 0 {
			state |= uint32(w.leaf[s]) << legVia
		}
		return dst, state
	}
	back.Enters = func(goal int, s topology.SwitchID, state uint32) bool {
		hops := w.lengthTo(s, int32(goal))
		// The longest detour has as many hops as there are classes; a longer way has no source
		// left.
		return hops > 0 && (w.counted == 0 || w.turns != nil || int(state&hopCount)+int(hops) <= w.classes)
	}
	return w, []Stage{out, back}
}

// Stages implements [Staged]: one for each layer.
func (r *fatPaths) Stages() (fabric.Routing, []Stage) {
	if !r.hopPaths.IgnoresTerminals() {
		return r, nil
	}
	var stages []Stage
	for number, paths := range r.layers {
		stage := paths.stage(layerStarted|uint32(number)<<layerNumber, 2*layerStarted-1, true)
		stage.Counts = r.counts() // over all layers
		stages = append(stages, stage)
	}
	return r, stages
}

// Stages implements [Staged]: one, to the destination, on the way up or down.
func (u *upDownStar) Stages() (fabric.Routing, []Stage) {
	_, sample := numberLeaves(u.graph)
	return u, []Stage{{
		Goals: len(sample),
		Start: func(goal int, s topology.SwitchID) (uint32, bool) { return 0, u.leaf[s] != int32(goal) },
		Head:  headsFor(sample),
		Ends:  toDestination,
		Came: func(in topology.PortID) uint8 {
			return uint8(u.phase(&fabric.Head{Switch: u.graph.PortSwitch[in], In: in}))
		},
	}}
}
