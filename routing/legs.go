package routing

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Layout of Head.State for packets that walk by legWalk, above the hops made.
const (
	legVia            = 5       // column of the intermediate switch, 16 bits
	legSecond  uint32 = 1 << 21 // the packet heads for its destination
	legStarted uint32 = 1 << 22
)

// legWalk leads packets on any graph by a table of paths, as routing "table" has it, to an
// intermediate switch and from there to their destination, or to their destination at once
// (Valiant 1982; on low-diameter graphs Besta and Hoefler, SC 2014). The intermediate is
// drawn uniformly from the switches with terminals that are neither the source's nor the
// destination's. A packet that passes its destination's switch on the way out goes on.
//
// Deadlock: hops are numbered over both legs, and the n-th uses VC class n; as many classes
// are needed as the longest detour has hops, twice the diameter on most graphs.
//
// Choices that the papers leave open: packets within a switch, and all packets where fewer than
// three switches have terminals, go directly.
type legWalk struct {
	*hopPaths
	via []topology.SwitchID // by column
}

// newLegWalk makes the tables of routing name, and the classes that its longest detour needs.
func newLegWalk(name string, set PathSettings, env Env) (*legWalk, error) {
	paths, err := newHopPaths(name, set, env, true)
	if err != nil {
		return nil, err
	}
	w := &legWalk{paths, make([]topology.SwitchID, paths.leaves)}
	for s, column := range paths.leaf {
		if column >= 0 {
			w.via[column] = topology.SwitchID(s)
		}
	}
	w.need(max(w.hops, w.longestDetour()))
	w.byTurns(env, 2)
	return w, CheckVCs(name, w.classes, env)
}

// longestDetour is the most hops from a leaf over another to a third; 0 without three.
func (w *legWalk) longestDetour() int {
	most := 0
	if w.leaves < 3 {
		return 0
	}
	for column, via := range w.via {
		// The farthest leaves on the way in and out must differ: the two farthest of each are
		// enough.
		var in, out [2]int
		var from, to [2]int
		for other, s := range w.via {
			if s == via {
				continue
			}
			atMost(&in, &from, int(w.lengthTo(s, int32(column))), other)
			atMost(&out, &to, int(w.lengthTo(via, int32(other))), other)
		}
		if from[0] != to[0] {
			most = max(most, in[0]+out[0])
		} else {
			most = max(most, in[0]+out[1], in[1]+out[0])
		}
	}
	return most
}

// atMost enters a length among the two greatest.
func atMost(greatest, of *[2]int, length, place int) {
	switch {
	case length > greatest[0]:
		greatest[1], of[1] = greatest[0], of[0]
		greatest[0], of[0] = length, place
	case length > greatest[1]:
		greatest[1], of[1] = length, place
	}
}

func (w *legWalk) lengthTo(s topology.SwitchID, column int32) uint8 {
	return w.length[int(s)*w.leaves+int(column)]
}

// direct is the state of a packet that starts towards its destination.
func direct() uint32 { return legStarted | legSecond }

// over is the state of a packet that starts towards an intermediate switch.
func over(column int32) uint32 { return legStarted | fabric.NonMinimal | uint32(column)<<legVia }

// intermediate is the column of a packet's intermediate switch.
func intermediate(state uint32) int32 { return int32(state >> legVia & (1<<16 - 1)) }

func (w *legWalk) direct(h *fabric.Head) (state uint32, alone bool) {
	return direct(), w.leaf[h.Switch] == w.column[h.Dst]
}

// drawDetour implements [detours]: over any leaf but the packet's own and its destination's,
// uniformly.
func (w *legWalk) drawDetour(h *fabric.Head, random *sim.Stream) (state uint32, ok bool) {
	here, there := w.leaf[h.Switch], w.column[h.Dst]
	if here == there || w.leaves < 3 {
		return 0, false
	}
	return over(otherGroup(int32(random.IntN(w.leaves-2)), here, there)), true
}

func (w *legWalk) eachDetour(h *fabric.Head, visit func(state uint32, share float64)) {
	for i := range w.leaves - 2 {
		visit(over(otherGroup(int32(i), w.leaf[h.Switch], w.column[h.Dst])), 1/float64(w.leaves-2))
	}
}

// target is the column of a packet's next leaf. At the intermediate switch it becomes the
// destination's.
func (w *legWalk) target(h *fabric.Head) int32 {
	if h.State&legSecond == 0 {
		if column := intermediate(h.State); w.via[column] != h.Switch {
			return column
		}
		h.State |= legSecond
	}
	return w.column[h.Dst]
}

func (w *legWalk) key(h *fabric.Head) uint32 {
	return uint32(h.Dst)*0x9e3779b1 ^ uint32(intermediate(h.State))*0x85ebca6b
}

func (w *legWalk) onward(v *fabric.View, h *fabric.Head) fabric.Hop {
	ports := w.to(h.Switch, w.target(h))
	if len(ports) == 0 {
		return w.last(h, v.VCs())
	}
	return w.take(h, w.choose(w.ties, v, h, ports, w.key(h)), v.VCs())
}

func (w *legWalk) exploreOnward(vcs int, h fabric.Head, share float64, yield func(fabric.Hop, uint32, float64)) {
	ports := w.to(h.Switch, w.target(&h))
	w.explore(w.ties, h, ports, w.key(&h), share, vcs, w.take, yield)
}

// phaseWalk leads packets on a grid or a HyperX in dimension order to a switch drawn
// uniformly from all of them, and in dimension order from there to the destination (Valiant
// 1982; Dally and Towles 2004, section 9.2).
//
// Deadlock: the two phases have virtual channels of their own, each as many as
// dimension order needs (1 on meshes and HyperX, 2 on tori), and the second phase
// never waits for a channel of the first: 2 virtual channels, 4 on tori.
//
// A packet whose intermediate switch is its source's or its destination's goes minimally, in the
// phase that it is left with. On HyperX a packet that passes its destination's switch in the first
// phase has arrived, as in BookSim2's flattened butterfly, where endsEarly says so.
type phaseWalk struct {
	*inOrder
	endsEarly bool
}

// newPhaseWalk is for routing name; with endsEarly, packets end at their destination's switch on
// the way out.
func newPhaseWalk(name, rule string, endsEarly bool, env Env) (*phaseWalk, error) {
	walk, err := newInOrder(name, env, rule)
	if err != nil {
		return nil, err
	}
	r := &phaseWalk{walk, endsEarly}
	if n := r.graph.Switches(); n > 1<<16 {
		return nil, fmt.Errorf("routing %q handles at most %d switches on grids; this topology has %d", name, 1<<16, n)
	}
	return r, CheckVCs(name, r.VCs(), env)
}

func (r *phaseWalk) Needs() fabric.Needs { return fabric.Needs{} }

func (r *phaseWalk) IdleSettings() []param.IdleSetting { return nil }

func (r *phaseWalk) direct(*fabric.Head) (state uint32, alone bool) {
	return gridStarted | secondPhase, false
}

func (r *phaseWalk) drawDetour(h *fabric.Head, random *sim.Stream) (state uint32, ok bool) {
	return r.over(h, topology.SwitchID(random.IntN(r.graph.Switches()))), true
}

func (r *phaseWalk) eachDetour(h *fabric.Head, visit func(state uint32, share float64)) {
	n := r.graph.Switches()
	for via := range topology.SwitchID(n) {
		visit(r.over(h, via), 1/float64(n))
	}
}

// over is the state of a packet that starts by way of a switch.
func (r *phaseWalk) over(h *fabric.Head, via topology.SwitchID) uint32 {
	if via != h.Switch && via != r.home[h.Dst] {
		return gridStarted | uint32(via) | fabric.NonMinimal
	}
	return gridStarted | uint32(via)
}

func (r *phaseWalk) onward(v *fabric.View, h *fabric.Head) fabric.Hop {
	target, fresh := r.target(h)
	port, class, ok := r.next(h, target, fresh, v.Random(h.Switch))
	return r.hop(port, class, ok, phase(h.State), h.Dst, v.VCs())
}

// target is the switch that the packet now makes for; fresh tells that it changes its target here.
func (r *phaseWalk) target(h *fabric.Head) (s topology.SwitchID, fresh bool) {
	if via := topology.SwitchID(h.State & gridVia); h.State&secondPhase == 0 {
		if via != h.Switch && !(r.endsEarly && r.home[h.Dst] == h.Switch) {
			return via, false
		}
		h.State |= secondPhase
		fresh = true
	}
	return r.home[h.Dst], fresh
}

// phase is 1 for packets that head for their destination.
func phase(state uint32) int { return int(state & secondPhase / secondPhase) }

func (r *phaseWalk) exploreOnward(vcs int, h fabric.Head, share float64, yield func(fabric.Hop, uint32, float64)) {
	target, fresh := r.target(&h)
	r.exploreWalk(r.dimensionWalk, vcs, h, target, fresh, phase(h.State), share, yield)
}

// goals implements [detours]: for each dimension, one stage on the way to the intermediate switch,
// then one on the way from there, with which packets may start, too.
func (r *phaseWalk) goals(bool) (detours, []Stage) {
	reduce := func(state uint32) uint32 { return state &^ (gridVia | fabric.NonMinimal) }
	out := r.axes().stages(gridStarted, r.came, func(_, target topology.SwitchID, state uint32) uint32 {
		return state | uint32(target)
	}, reduce)
	back := r.axes().stages(gridStarted|secondPhase, r.came, func(s, _ topology.SwitchID, state uint32) uint32 {
		return state | uint32(s) // of those that end the first phase here
	}, reduce)
	return r, append(out, back...)
}
