package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// stage is that of packets which follow the table to their destination, starting in a
// state; none start if it is none. keep are the bits of the state that matter, hops those
// that count.
func (p *hopPaths) stage(start, keep, hops uint32, starts bool) Stage {
	_, sample := numberLeaves(p.graph)
	return Stage{
		Counts: p.counts(hops),
		Goals:  p.leaves,
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

// counts is how hops are counted in these bits of a state. It is nil where classes go by
// turns, which depend on ports, and where there are more of them than virtual channels.
func (p *hopPaths) counts(hops uint32) *Counts {
	if p.turns != nil || p.classes > maxVCs {
		return nil
	}
	return &Counts{hops, func(vcs int, count uint32) (set, after uint32) {
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
	return r, []Stage{r.stage(tableStarted, tableHops|tableStarted, tableHops, true)}
}

// stages are: to the intermediate switch, to the destination; minimal says that packets
// may start in the second.
func (w *legWalk) stages(minimal bool) []Stage {
	if w.ties == tiesHashed || w.leaves < 3 {
		return nil
	}
	const keep = legHops | legSecond | legStarted
	out := w.stage(over(0)&keep, keep, legHops, true)
	out.Head = func(goal int, _ topology.SwitchID, state uint32) (topology.TerminalID, uint32) {
		return 0, state | uint32(goal)<<legVia
	}
	out.Ends = func(goal int, s topology.SwitchID) (ends, goesOn bool) {
		ends = w.leaf[s] == int32(goal)
		return ends, !ends
	}
	back := w.stage(direct(), keep, legHops, minimal)
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
		stage := paths.stage(layerStarted|uint32(number)<<layerNumber, 2*layerStarted-1, layerHops, true)
		stage.Counts = r.counts(layerHops) // over all layers
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
		Head: func(goal int, _ topology.SwitchID, state uint32) (topology.TerminalID, uint32) {
			return sample[goal], state
		},
		Ends: toDestination,
		Came: func(in topology.PortID) uint8 {
			return uint8(u.phase(&fabric.Head{Switch: u.graph.PortSwitch[in], In: in}))
		},
	}}
}
