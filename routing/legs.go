package routing

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// Layout of Head.State for packets that walk by legWalk.
const (
	legHops    uint32 = 1<<5 - 1 // hops made, where they are numbered
	legVia            = 5        // column of the intermediate switch, 16 bits
	legSecond  uint32 = 1 << 21  // the packet heads for its destination
	legStarted uint32 = 1 << 22
)

// legWalk leads packets by a table of paths to an intermediate switch and from there
// to their destination, or to their destination at once. Hops are numbered over both
// legs.
type legWalk struct {
	*hopPaths
	via []topology.SwitchID // by column
}

// newLegWalk makes the tables of routing name, and the classes that its longest
// detour needs.
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

// longestDetour is the most hops from a leaf over another to a third one; 0 where
// there are no three.
func (w *legWalk) longestDetour() int {
	most := 0
	if w.leaves < 3 {
		return 0
	}
	for column, via := range w.via {
		// The farthest leaf on the way in and on the way out must differ: the two
		// farthest of each are enough.
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

// lengthTo is the number of hops of the path from switch s to a leaf.
func (w *legWalk) lengthTo(s topology.SwitchID, column int32) uint8 {
	return w.length[int(s)*w.leaves+int(column)]
}

// direct is the state of a packet that starts towards its destination.
func direct() uint32 { return legStarted | legSecond }

// over is the state of a packet that starts towards an intermediate switch.
func over(column int32) uint32 { return legStarted | fabric.NonMinimal | uint32(column)<<legVia }

// intermediate is the column of a packet's intermediate switch.
func intermediate(state uint32) int32 { return int32(state >> legVia & (1<<16 - 1)) }

// drawVia draws an intermediate switch for a packet at its source: any leaf but its
// own and its destination's, all equally likely; ok is false where there are none, or
// where the packet stays at its switch.
func (w *legWalk) drawVia(h *fabric.Head, random *sim.Stream) (column int32, ok bool) {
	here, there := w.leaf[h.Switch], w.column[h.Dst]
	if here == there || w.leaves < 3 {
		return 0, false
	}
	return otherGroup(int32(random.IntN(w.leaves-2)), here, there), true
}

// target is the column of the leaf that a started packet now makes for. At its
// intermediate switch that becomes the destination's.
func (w *legWalk) target(h *fabric.Head) int32 {
	if h.State&legSecond == 0 {
		if column := intermediate(h.State); w.via[column] != h.Switch {
			return column
		}
		h.State |= legSecond
	}
	return w.column[h.Dst]
}

// key is what hashed ties of a packet go by.
func (w *legWalk) key(h *fabric.Head) uint32 {
	return uint32(h.Dst)*0x9e3779b1 ^ uint32(intermediate(h.State))*0x85ebca6b
}

// next moves a started packet on.
func (w *legWalk) next(v *fabric.View, h *fabric.Head) fabric.Hop {
	ports := w.to(h.Switch, w.target(h))
	if len(ports) == 0 {
		return fabric.Hop{Port: w.graph.TerminalPort[h.Dst], VCs: allVCs(v.VCs())}
	}
	return w.take(h, w.choose(v, h, ports, w.key(h)), v.VCs())
}

// take leaves by a port, relative to the switch's first.
func (w *legWalk) take(h *fabric.Head, local uint16, vcs int) fabric.Hop {
	port := w.graph.PortStart[h.Switch] + topology.PortID(local)
	class, after := w.step(h.State&legHops, port)
	if int(class) >= w.classes {
		panic(fmt.Sprintf("routing: class %d of a packet of at most %d", class+1, w.classes))
	}
	h.State = h.State&^legHops | after
	return fabric.Hop{Port: port, VCs: w.sets[vcs][class]}
}

// exploreNext lists what next could do, with probabilities that add up to share.
func (w *legWalk) exploreNext(vcs int, h fabric.Head, share float64, yield func(fabric.Hop, uint32, float64)) {
	ports := w.to(h.Switch, w.target(&h))
	if len(ports) == 0 {
		yield(fabric.Hop{Port: w.graph.TerminalPort[h.Dst], VCs: allVCs(vcs)}, h.State, share)
		return
	}
	w.explore(&h, ports, w.key(&h), func(local uint16, weight float64) {
		head := h
		hop := w.take(&head, local, vcs)
		yield(hop, head.State, weight*share)
	})
}

// exploreDetours lists the first hops of all detours of a packet at its source, with
// probabilities that add up to share; it returns false if there are none.
func (w *legWalk) exploreDetours(vcs int, h fabric.Head, share float64, yield func(fabric.Hop, uint32, float64)) bool {
	here, there := w.leaf[h.Switch], w.column[h.Dst]
	if here == there || w.leaves < 3 {
		return false
	}
	for i := range w.leaves - 2 {
		h.State = over(otherGroup(int32(i), here, there))
		w.exploreNext(vcs, h, share/float64(w.leaves-2), yield)
	}
	return true
}
