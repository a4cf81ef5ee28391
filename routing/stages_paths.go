package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// stage is that of packets which follow the table to their destination, starting in a
// state; none start if it is none. keep are the bits of the state that matter.
func (p *hopPaths) stage(start, keep uint32, starts bool) Stage {
	_, sample := numberLeaves(p.graph)
	return Stage{
		Goals: p.leaves,
		Start: func(goal int, s topology.SwitchID) (uint32, bool) {
			return start, starts && p.leaf[s] != int32(goal)
		},
		Head: func(goal int, _ topology.SwitchID, state uint32) (topology.TerminalID, uint32) {
			return sample[goal], state
		},
		Ends:   toDestination,
		Reduce: func(state uint32) uint32 { return state & keep },
	}
}

// Stages implements [Staged]: one, to the destination.
func (r *table) Stages() (fabric.Routing, []Stage) {
	if r.down != nil || r.ties == tiesHashed {
		return r, nil
	}
	return r, []Stage{r.stage(tableStarted, tableHops|tableStarted, true)}
}

// stages are: to the intermediate switch, to the destination; minimal says that packets
// may start in the second.
func (w *legWalk) stages(minimal bool) []Stage {
	if w.ties == tiesHashed || w.leaves < 3 {
		return nil
	}
	const keep = legHops | legSecond | legStarted
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
		// The longest detour has as many hops as there are classes. Where no source
		// is left for this destination, the way may be longer.
		return hops > 0 && (w.counted == 0 || w.turns != nil || int(state&legHops)+int(hops) <= w.classes)
	}
	return []Stage{out, back}
}

// Stages implements [Staged].
func (r *anyVal) Stages() (fabric.Routing, []Stage) { return r, r.stages(false) }

// Stages implements [Staged].
func (u *anyUGAL) Stages() (fabric.Routing, []Stage) { return u, u.stages(true) }

// Stages implements [Staged]: one for each layer.
func (r *fatPaths) Stages() (fabric.Routing, []Stage) {
	if !r.hopPaths.IgnoresTerminals() {
		return r, nil
	}
	var stages []Stage
	for number, paths := range r.layers {
		stages = append(stages, paths.stage(layerStarted|uint32(number)<<layerNumber, 2*layerStarted-1, true))
	}
	return r, stages
}

// Stages implements [Staged]: one, to the destination, on the way up or down.
func (u *upDownStar) Stages() (fabric.Routing, []Stage) {
	_, sample := numberLeaves(u.graph)
	return u, []Stage{{
		Goals: len(sample),
		Start: func(goal int, s topology.SwitchID) (uint32, bool) { return 0, u.leaf[s] != int32(goal) },
		Head: func(goal int, _ topology.SwitchID, state uint32) (topology.TerminalID, uint32) {
			return sample[goal], state
		},
		Ends: toDestination,
		Came: func(in topology.PortID) uint8 {
			return uint8(u.phase(&fabric.Head{Switch: u.graph.PortSwitch[in], In: in}))
		},
	}}
}
