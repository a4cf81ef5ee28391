package routing

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// damage is what faults do to a groupWalk. Global channels that are down are no
// gateways. Where none is left between two groups, the minimal path is missing:
// Valiant paths, and adaptive routings, lead through groups that have both of
// their ways. A packet under way whose path is gone is discarded, and so is one
// that would need a second local hop in a group, where its gateway has failed
// after the first: the order of virtual channels has no room for it. Within a
// group a path is one hop, so that all channels between its switches must be up.
type damage struct {
	down    *topology.Down
	missing []bool // len = groups*groups, from*groups+to: no gateway is left
	dead    []bool // len = groups: no switch is left
}

// undamaged is a grouped topology without what is down.
type undamaged struct {
	topology.Grouped
	down *topology.Down
}

// LocalTo implements [topology.Grouped].
func (u undamaged) LocalTo(s, t topology.SwitchID) topology.PortID {
	if p := u.Grouped.LocalTo(s, t); p != topology.NoPort && !u.down.Port(p) {
		return p
	}
	return topology.NoPort
}

// Gateways implements [topology.Grouped]. It makes a list of its own.
func (u undamaged) Gateways(from, to int) []topology.PortID {
	return slices.DeleteFunc(slices.Clone(u.Grouped.Gateways(from, to)), u.down.Port)
}

// suffer prepares the walk for faults and returns the topology that is left.
func (w *groupWalk) suffer(grouped topology.Grouped, down *topology.Down) topology.Grouped {
	if down == nil {
		return grouped
	}
	w.several = append(w.several, way{}) // nowhere
	w.damage = &damage{down, make([]bool, w.groups*w.groups), make([]bool, w.groups)}
	for group := range w.groups {
		w.damage.dead[group] = !slices.ContainsFunc(w.members(group), w.up)
	}
	return undamaged{grouped, down}
}

// up tells whether a switch is.
func (w *groupWalk) up(s topology.SwitchID) bool {
	return w.damage == nil || !w.damage.down.Switch(s)
}

// nowhere is a step that cannot be made: that of several[0] in a walk with
// faults, a way of no choices.
const nowhere int32 = ^0

// lose enters that no gateway is left from one group to another.
func (w *groupWalk) lose(from, to int) {
	w.damage.missing[from*w.groups+to] = true
	for _, s := range w.members(from) {
		w.steps[w.toGroup(s, int32(to))] = nowhere
	}
}

// lost tells whether no minimal path leads from one group to another.
func (w *groupWalk) lost(from, to int32) bool {
	return w.damage != nil && w.damage.missing[int(from)*w.groups+int(to)]
}

// between lists the groups that Valiant paths between two groups can lead
// through.
func (w *groupWalk) between(here, there int32, visit func(group int32)) {
	for group := range int32(w.groups) {
		if group != here && group != there && !w.lost(here, group) && !w.lost(group, there) {
			visit(group)
		}
	}
}

// joins refuses faults that leave two groups without a path: a minimal one, or
// a Valiant one for routings that have them.
func (w *groupWalk) joins(name string, valiant bool) error {
	if w.damage == nil {
		return nil
	}
	for from := range int32(w.groups) {
		for to := range int32(w.groups) {
			if from == to || w.damage.dead[from] || w.damage.dead[to] || !w.lost(from, to) {
				continue
			}
			paths := 0
			if valiant {
				w.between(from, to, func(int32) { paths++ })
			}
			if paths == 0 {
				return fmt.Errorf("routing %q has no path from group %d to group %d around faults%s", name, from, to, w.damage.hint())
			}
		}
	}
	return nil
}

// hint says, in a message, what is down and what to do; nothing without faults.
func (d *damage) hint() string {
	if d == nil {
		return ""
	}
	return fmt.Sprintf(" (%s); routing \"table\" finds every path", d.down.Describe())
}

// working lists the switches of a group that are up.
func (w *groupWalk) working(group int32) []topology.SwitchID {
	members := w.members(int(group))
	if w.damage == nil {
		return members
	}
	return slices.DeleteFunc(slices.Clone(members), w.damage.down.Switch)
}

// drawAround draws one of the groups that between lists: by rejection, which
// seldom takes more than a try, and if that fails from the list.
func (w *groupWalk) drawAround(here, there int32, random *sim.Stream) (group int32, ok bool) {
	for range 8 {
		group := otherGroup(int32(random.IntN(w.groups-2)), here, there)
		if !w.lost(here, group) && !w.lost(group, there) {
			return group, true
		}
	}
	var left []int32
	w.between(here, there, func(group int32) { left = append(left, group) })
	if len(left) == 0 {
		return 0, false
	}
	return left[random.IntN(len(left))], true
}
