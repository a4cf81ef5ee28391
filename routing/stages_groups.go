package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// groupStarts is how the packets of a routing on groups begin: each a virtual channel, -1:
// none do so.
type groupStarts struct{ detour, minimal, local int32 }

// stages are: to the intermediate group, to the destination's group, to the destination.
// They are nil where intermediates are switches, around faults, and where there are fewer
// than three groups.
func (w *groupWalk) stages(starts groupStarts) []Stage {
	if w.viaSwitch || w.damage != nil || w.groups < 3 {
		return nil
	}
	_, sample := numberLeaves(w.graph)
	inGroup := make([]topology.TerminalID, w.groups) // one of each
	for g := range inGroup {
		inGroup[g] = -1
	}
	for _, t := range sample {
		inGroup[w.home[t].group] = t
	}
	ends := func(goal int, s topology.SwitchID) (ends, goesOn bool) {
		ends = int(w.at[s].group) == goal
		return ends, !ends
	}
	begin := func(vc int32, state func(goal int) uint32) func(int, topology.SwitchID) (uint32, bool) {
		return func(goal int, s topology.SwitchID) (uint32, bool) {
			return state(goal), vc >= 0 && int(w.at[s].group) != goal && inGroup[goal] >= 0
		}
	}
	via := Stage{
		Goals: w.groups,
		Start: begin(starts.detour, func(goal int) uint32 { return viaState(uint32(goal), uint32(starts.detour)) }),
		Head: func(_ int, _ topology.SwitchID, state uint32) (topology.TerminalID, uint32) {
			return sample[0], state
		},
		Ends: ends, Reduce: reduceGroups,
	}
	group := Stage{
		Goals: w.groups,
		Start: begin(starts.minimal, func(int) uint32 { return minimalState(uint32(starts.minimal)) }),
		Enters: func(goal int, s topology.SwitchID, _ uint32) bool {
			return int(w.at[s].group) != goal && inGroup[goal] >= 0
		},
		Head: func(goal int, _ topology.SwitchID, state uint32) (topology.TerminalID, uint32) {
			return inGroup[goal], state
		},
		Ends: ends, Reduce: reduceGroups,
	}
	end := Stage{
		Goals:    len(sample),
		Switches: func(goal int) []topology.SwitchID { return w.members(int(w.home[sample[goal]].group)) },
		Start: func(int, topology.SwitchID) (uint32, bool) {
			return minimalState(uint32(starts.local)), starts.local >= 0
		},
		Enters: func(int, topology.SwitchID, uint32) bool { return true },
		Head: func(goal int, _ topology.SwitchID, state uint32) (topology.TerminalID, uint32) {
			return sample[goal], state
		},
		Ends: toDestination, Reduce: reduceGroups,
	}
	if starts.detour < 0 {
		return []Stage{group, end}
	}
	return []Stage{via, group, end}
}

// reduceGroups forgets the intermediate group of a packet that it lies behind.
func reduceGroups(state uint32) uint32 {
	if state&detouring == 0 {
		state &^= viaMask
	}
	return state &^ fabric.NonMinimal
}

// unhashed is w with any gateway for every packet.
func (w *groupWalk) unhashed() *groupWalk {
	wide := *w
	wide.hashed = false
	return &wide
}

// Stages implements [Staged].
func (m *minimal) Stages() (fabric.Routing, []Stage) {
	first := int32(m.first)
	return &minimal{m.unhashed(), m.first}, m.stages(groupStarts{-1, first, first})
}

// Stages implements [Staged].
func (r *groupVal) Stages() (fabric.Routing, []Stage) {
	return &groupVal{r.unhashed()}, r.stages(groupStarts{0, -1, 0})
}

// Stages implements [Staged].
func (u *ugal) Stages() (fabric.Routing, []Stage) {
	wide := *u
	wide.groupWalk = u.unhashed()
	return &wide, u.stages(groupStarts{int32(u.detourVC), int32(u.minimalVC), int32(u.localVC)})
}

// Stages implements [Staged]: packets that may be compared again have no such parts.
func (p progressive) Stages() (fabric.Routing, []Stage) { return p, nil }
