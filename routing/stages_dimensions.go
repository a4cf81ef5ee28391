package routing

import (
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// axes are the coordinates of a grid or a HyperX, and its switches by coordinates.
type axes struct {
	*coordinates
	strides []int                 // of places: the coordinates as digits, the first the lowest
	numbers []topology.SwitchID   // by place
	sample  []topology.TerminalID // a terminal of each switch; nil where one has none
}

// axes numbers the switches by their coordinates, for [Staged] routings.
func (x *coordinates) axes() *axes {
	n := x.graph.Switches()
	a := &axes{coordinates: x, numbers: make([]topology.SwitchID, n)}
	if leaf, sample := numberLeaves(x.graph); len(sample) == n {
		for _, column := range leaf {
			a.sample = append(a.sample, sample[column])
		}
	}
	stride := 1
	for _, size := range x.sizes {
		a.strides = append(a.strides, stride)
		stride *= int(size)
	}
	for s := range topology.SwitchID(n) {
		place := 0
		for d, c := range x.place(s) {
			place += int(c) * a.strides[d]
		}
		a.numbers[place] = s
	}
	return a
}

// beside is the switch with another coordinate in a dimension.
func (x *axes) beside(s topology.SwitchID, d, coordinate int) topology.SwitchID {
	place := 0
	for i, c := range x.place(s) {
		if i == d {
			c = int32(coordinate)
		}
		place += int(c) * x.strides[i]
	}
	return x.numbers[place]
}

// stages are the ways along the dimensions, the lowest first, each to a coordinate; none where a
// switch has no terminal. whole completes a state for the switch with that coordinate as target.
func (x *axes) stages(start uint32, came func(topology.PortID) uint8, whole func(s, target topology.SwitchID, state uint32) uint32, reduce func(uint32) uint32) (all []Stage) {
	for d, size := range x.sizes {
		if x.sample == nil {
			return nil
		}
		off := func(goal int, s topology.SwitchID) bool { return int(x.place(s)[d]) != goal }
		all = append(all, Stage{
			Goals:  int(size),
			Start:  func(goal int, s topology.SwitchID) (uint32, bool) { return start, off(goal, s) },
			Enters: func(goal int, s topology.SwitchID, _ uint32) bool { return off(goal, s) },
			Head: func(goal int, s topology.SwitchID, state uint32) (topology.TerminalID, uint32) {
				target := x.beside(s, d, goal)
				return x.sample[target], whole(s, target, state)
			},
			Ends: func(goal int, s topology.SwitchID) (ends, goesOn bool) {
				ends = !off(goal, s)
				return ends, !ends
			},
			Reduce: reduce,
			Came:   came,
		})
	}
	return all
}

// asIs completes states that say nothing of targets.
func asIs(_, _ topology.SwitchID, state uint32) uint32 { return state }

// came is the dimension that a packet has come along.
func (w *gridWalk) came(in topology.PortID) uint8 { return w.along[in] }

// came is of no interest on HyperX, where a dimension takes one hop.
func (w *hammingWalk) came(topology.PortID) uint8 { return 0 }

// Stages implements [Staged]: one for each dimension of each order.
func (r *o1Turn) Stages() (fabric.Routing, []Stage) {
	var both []Stage
	for i, start := range []uint32{o1Started, o1Started | o1Descending} {
		stages := r.axes().stages(start, r.orders[i].came, asIs, nil)
		if i == 1 {
			slices.Reverse(stages)
		}
		for _, stage := range stages {
			enters := stage.Enters
			stage.Enters = func(goal int, s topology.SwitchID, state uint32) bool {
				return order(state) == i && enters(goal, s, state)
			}
			both = append(both, stage)
		}
	}
	return r, both
}

// Stages implements [Staged]: of DimWAR one for each dimension; the others number hops.
func (r *deroutes) Stages() (fabric.Routing, []Stage) {
	if r.rule != ruleDimWAR {
		return numberedStages(r.graph, r.classes, func(class, vcs int) uint32 { return r.sets[vcs][class] })
	}
	return r, r.axes().stages(derouteStart, func(in topology.PortID) uint8 { return r.along[in] }, asIs,
		func(state uint32) uint32 { return state &^ fabric.NonMinimal })
}

// stages are: to the intermediate group, to the destination's group, to the destination;
// packets begin with a detour, minimally, or within their group. They are nil where intermediates are switches, around faults, and where there are fewer
// than three groups.
func (w *groupWalk) stages(detour, minimal bool) []Stage {
	if w.viaSwitch || w.damage != nil || w.groups < 3 {
		return nil
	}
	_, sample := numberLeaves(w.graph)
	inGroup := slices.Repeat([]topology.TerminalID{-1}, w.groups) // one of each
	for _, t := range sample {
		inGroup[w.home[t].group] = t
	}
	ends := func(goal int, s topology.SwitchID) (ends, goesOn bool) {
		ends = int(w.at[s].group) == goal
		return ends, !ends
	}
	begin := func(state func(goal int) uint32) func(int, topology.SwitchID) (uint32, bool) {
		return func(goal int, s topology.SwitchID) (uint32, bool) {
			return state(goal), int(w.at[s].group) != goal && inGroup[goal] >= 0
		}
	}
	via := Stage{
		Goals: w.groups,
		Start: begin(func(goal int) uint32 { return viaState(uint32(goal), w.detourVC) }),
		Head: func(_ int, _ topology.SwitchID, state uint32) (topology.TerminalID, uint32) {
			return sample[0], state
		},
		Ends: ends, Reduce: reduceGroups,
	}
	group := Stage{
		Goals: w.groups,
		Enters: func(goal int, s topology.SwitchID, _ uint32) bool {
			return int(w.at[s].group) != goal && inGroup[goal] >= 0
		},
		Head: headsFor(inGroup),
		Ends: ends, Reduce: reduceGroups,
	}
	if minimal {
		group.Start = begin(func(int) uint32 { return minimalState(w.minimalVC) })
	}
	end := Stage{
		Goals:    len(sample),
		Switches: func(goal int) []topology.SwitchID { return w.members(int(w.home[sample[goal]].group)) },
		Start:    func(int, topology.SwitchID) (uint32, bool) { return minimalState(w.localVC), true },
		Enters:   func(int, topology.SwitchID, uint32) bool { return true },
		Head:     headsFor(sample),
		Ends:     toDestination, Reduce: reduceGroups,
	}
	if !detour {
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

func (w *groupWalk) goals(minimal bool) (detours, []Stage) {
	return w.unhashed(), w.stages(true, minimal)
}

func (m *minimal) Stages() (fabric.Routing, []Stage) {
	return &minimal{m.unhashed()}, m.stages(false, true)
}

func (u *ugal) Stages() (fabric.Routing, []Stage) {
	wide := *u
	wide.groupWalk = u.unhashed()
	return &wide, u.stages(true, true)
}

// Stages implements [Staged]: packets that may be compared again have no such parts.
func (p progressive) Stages() (fabric.Routing, []Stage) { return p, nil }
