package routing

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/check"
)

// groupSteps are the ports by which each switch reaches the other groups, and the other switches of
// its own group, in one of two forms that give the same steps:
//   - whole: a step of every switch to every group. Memory: 4 bytes a (switch, group) and
//     a (switch, switch of its group); where several channels join two groups, also 12 a
//     (switch, group) and 4 a (switch, global channel of its group). A dragonfly of
//     131,072 terminals takes 50 MB, and every look at them is a cache miss.
//   - shared, where the whole form would leave the second-level cache: the global channels
//     from each group to each, and the local steps. What a switch does follows from
//     whether a channel is its own. Memory: 4 bytes a (group, group) and a (switch, switch
//     of its group), 8 a global channel; 2.3 MB in that dragonfly.
type groupSteps struct {
	steps   []int32           // len = switches*(groups+width), or switches*width: to each group, to each member of the own; see packStep
	several []way             // those with a choice
	exits   []topology.PortID // their ports
	choices bool              // several channels join some groups
	gates   []gate            // of the shared form: by group and the group that they lead to; nil in the whole one
	pairs   []int32           // len = groups*groups + 1: where they begin in gates
}

// gate is a global channel: its port, and which member of its group has it.
type gate struct {
	port   topology.PortID
	member int32
}

// way is the choices of a switch for packets to another group: its own global channels first, then
// local hops to switches that have one. They are exits[first:first+count], or in the shared form
// gates[first:first+count] in the same order.
type way struct {
	first int32
	count int32
	own   int32
}

// packStep is the entry in groupSteps.steps of a step without choice: its port and kind. A step
// with a choice is the complement of its number in several or pairs.
func packStep(port topology.PortID, kind int32) int32 { return int32(port)<<stepBits | kind }

const (
	within     int32 = 0 // to the destination, or a switch in its group
	toGateway  int32 = 2 // by a local channel, to a switch that has a global one
	leaveGroup int32 = 3 // by a global channel
	arrived    int32 = 4 // the switch is the destination's; the port is the terminal's
	stepBits         = 3
)

// wholeSteps bounds the whole form to 1 MiB, half of a usual second-level cache; tests change it.
var wholeSteps = 1 << 18

// mostGates bounds the search for a switch's own channels among those between two groups.
const mostGates = 16

// findSteps fills the tables for routing name.
func (w *groupWalk) findSteps(name string, grouped topology.Grouped) error {
	shared := w.damage == nil && len(w.at)*(w.groups+w.width) > wholeSteps
	for from := 0; from < w.groups && shared; from++ {
		for to := range w.groups {
			shared = shared && len(grouped.Gateways(from, to)) <= mostGates
		}
	}
	row := w.groups + w.width
	if shared {
		w.pairs = make([]int32, 1, w.groups*w.groups+1)
		row = w.width
	}
	w.steps = make([]int32, len(w.at)*row)
	for s := range w.at {
		w.at[s].row = int32(s * row)
	}
	if err := w.findLocal(name, grouped); err != nil {
		return err
	}
	return w.findWays(name, grouped)
}

func (w *groupWalk) toGroup(s topology.SwitchID, group int32) int { return int(w.at[s].row + group) }

func (w *groupWalk) toMember(s topology.SwitchID, member int32) int {
	if w.pairs != nil {
		return int(w.at[s].row + member)
	}
	return int(w.at[s].row + int32(w.groups) + member)
}

func (w *groupWalk) local(s topology.SwitchID, member int32) int32 {
	return w.steps[w.toMember(s, member)]
}

// findLocal fills in the steps within groups. Error: two switches of a group have no channel.
func (w *groupWalk) findLocal(name string, grouped topology.Grouped) error {
	for s := range w.at {
		from := topology.SwitchID(s)
		for i, to := range w.members(int(w.at[s].group)) {
			if !w.up(from) || !w.up(to) {
				w.steps[w.toMember(from, int32(i))] = nowhere
				continue
			}
			if to == from {
				w.steps[w.toMember(from, int32(i))] = arrived
				continue
			}
			p := grouped.LocalTo(from, to)
			if p == topology.NoPort {
				return fmt.Errorf("routing %q needs a channel between any two switches of a group; %s and %s have none%s", name, w.graph.SwitchName(from), w.graph.SwitchName(to), w.damage.hint())
			}
			w.steps[w.toMember(from, int32(i))] = packStep(p, within)
		}
	}
	return nil
}

// findWays fills in the steps from each switch to other groups. Error: two groups have no channel.
func (w *groupWalk) findWays(name string, grouped topology.Grouped) error {
	for from := range w.groups {
		for to := range w.groups {
			if from == to {
				w.closePair()
				continue
			}
			gateways := grouped.Gateways(from, to)
			if len(gateways) == 0 && w.damage != nil {
				w.damage.missing[from*w.groups+to] = true
				for _, s := range w.members(from) {
					w.steps[w.toGroup(s, int32(to))] = nowhere
				}
				continue
			}
			if len(gateways) == 0 {
				return fmt.Errorf("routing %q needs a channel between any two groups; groups %d and %d have none", name, from, to)
			}
			w.choices = w.choices || len(gateways) > 1
			if w.pairs != nil {
				for _, p := range gateways {
					w.gates = append(w.gates, gate{p, w.at[w.graph.PortSwitch[p]].member})
				}
				w.closePair()
				continue
			}
			for _, s := range w.members(from) {
				if !w.up(s) {
					w.steps[w.toGroup(s, int32(to))] = nowhere
					continue
				}
				w.steps[w.toGroup(s, int32(to))] = w.wayFrom(s, gateways)
			}
		}
	}
	return nil
}

func (w *groupWalk) closePair() {
	if w.pairs != nil {
		w.pairs = append(w.pairs, int32(len(w.gates)))
	}
}

// wayFrom enters how switch s reaches the given global ports of its group.
func (w *groupWalk) wayFrom(s topology.SwitchID, gateways []topology.PortID) int32 {
	out := way{first: int32(len(w.exits)), count: int32(len(gateways))}
	for _, p := range gateways {
		if w.graph.PortSwitch[p] == s {
			w.exits = append(w.exits, p)
			out.own++
		}
	}
	for _, p := range gateways {
		if owner := w.at[w.graph.PortSwitch[p]]; owner.sw != s {
			w.exits = append(w.exits, topology.PortID(w.local(s, owner.member)>>stepBits))
		}
	}
	if out.count == 1 && w.damage == nil {
		only := w.exits[out.first]
		w.exits = w.exits[:out.first]
		if out.own == 1 {
			return packStep(only, leaveGroup)
		}
		return packStep(only, toGateway)
	}
	w.several = append(w.several, out)
	return ^int32(len(w.several) - 1)
}

// step is the step of a packet at s to a switch or group; if negative, the number of a way.
func (w *groupWalk) step(s topology.SwitchID, target *place, group int32) int32 {
	if w.pairs != nil {
		return w.sharedStep(&w.at[s], target, group)
	}
	return w.wholeStep(&w.at[s], target, group)
}

func (w *groupWalk) wholeStep(at *seat, target *place, group int32) int32 {
	// No branch: nothing predicts whether the group is the switch's own. In that
	// case, and only then, one less than their difference is negative.
	own := int32(uint32(group^at.group)-1) >> 31
	return *check.At(w.steps, uint32(at.row+group+own&(target.member+int32(w.groups)-group)))
}

func (w *groupWalk) sharedStep(at *seat, target *place, group int32) int32 {
	if group == at.group {
		return w.steps[at.row+target.member]
	}
	return w.leaving(at, group)
}

// leaving is the step from a switch towards another group; if negative, the number of a way.
func (w *groupWalk) leaving(at *seat, group int32) int32 {
	if w.pairs == nil {
		return w.steps[at.row+group]
	}
	pair := at.group*int32(w.groups) + group
	first := w.pairs[pair]
	if w.pairs[pair+1] != first+1 {
		return ^pair
	}
	return w.through(at, &w.gates[first])
}

// through is the step of a switch towards a global channel of its group.
func (w *groupWalk) through(at *seat, g *gate) int32 {
	if g.member == at.member {
		return packStep(g.port, leaveGroup)
	}
	return w.steps[at.row+g.member] | toGateway
}

func (w *groupWalk) way(s topology.SwitchID, step int32) way {
	if w.pairs == nil {
		return w.several[^step]
	}
	out := way{first: w.pairs[^step]}
	out.count = w.pairs[^step+1] - out.first
	for i := range w.gates[out.first:][:out.count] {
		if w.gates[int(out.first)+i].member == w.at[s].member {
			out.own++
		}
	}
	return out
}

// open is the number of choices that a way leaves a packet. After a local hop to a switch with a
// channel of its own, only that switch's channels are left. Choices stay uniform over gateways: the
// switch is chosen in proportion to its number of channels.
func (out *way) open(state uint32) int {
	if state&localDone != 0 {
		return int(out.own)
	}
	return int(out.count)
}

// choose is one choice of a way of switch s that has several.
func (w *groupWalk) choose(s topology.SwitchID, out way, choice int) int32 {
	if w.pairs != nil {
		at, own := &w.at[s], choice < int(out.own)
		if !own {
			choice -= int(out.own)
		}
		for i := out.first; ; i++ { // a panic where there are not so many
			if g := &w.gates[i]; (g.member == at.member) == own {
				if choice == 0 {
					return w.through(at, g)
				}
				choice--
			}
		}
	}
	if choice < int(out.own) {
		return packStep(w.exits[int(out.first)+choice], leaveGroup)
	}
	return packStep(w.exits[int(out.first)+choice], toGateway)
}

// damage is what faults do to a groupWalk. Global channels that are down are no gateways. Two
// groups without a gateway have no minimal path: Valiant and adaptive routings go through groups
// that have both ways. A packet whose path fails under way is discarded, also if its gateway fails
// after a local hop: the virtual channels' order has no room for a second local hop. Within a group
// a path is one hop, so that all channels between its switches must be up.
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

func (u undamaged) LocalTo(s, t topology.SwitchID) topology.PortID {
	if p := u.Grouped.LocalTo(s, t); p != topology.NoPort && !u.down.Port(p) {
		return p
	}
	return topology.NoPort
}

// Gateways implements [topology.Grouped]; the list is new.
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

func (w *groupWalk) up(s topology.SwitchID) bool { return w.damage == nil || !w.damage.down.Switch(s) }

// nowhere is a step that cannot be made: with faults it stands for several[0], a way of no choices.
const nowhere int32 = ^0

// lost tells whether no minimal path leads from one group to another.
func (w *groupWalk) lost(from, to int32) bool {
	return w.damage != nil && w.damage.missing[int(from)*w.groups+int(to)]
}

// between lists the groups that Valiant paths between two groups can lead through.
func (w *groupWalk) between(here, there int32, visit func(group int32)) {
	for group := range int32(w.groups) {
		if group != here && group != there && !w.lost(here, group) && !w.lost(group, there) {
			visit(group)
		}
	}
}

// joins refuses faults that leave two groups without a minimal path, or a Valiant one if allowed.
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

func (w *groupWalk) working(group int32) []topology.SwitchID {
	members := w.members(int(group))
	if w.damage == nil {
		return members
	}
	return slices.DeleteFunc(slices.Clone(members), w.damage.down.Switch)
}

// drawAround draws one of the groups that between lists: by rejection, and if that fails from the
// list.
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
