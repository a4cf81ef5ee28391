package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// DORConfig holds the settings of routing "dor".
type DORConfig struct {
	Rule string `toml:"vc_rule" doc:"on tori: how the two VC classes of a ring are chosen; none can deadlock" choices:"dateline|by-coordinates|none" deadlocks:"none"`
}

func init() {
	Register("dor", "dimension order on meshes, tori and hypercubes, with datelines on rings", Use{On: Coordinates}, DORConfig{ruleDateline}, newDOR)
	Register("dor", "dimension order on HyperX: one hop in each dimension that differs", Use{On: AllToAll}, struct{}{}, func(_ struct{}, env Env) (fabric.Routing, error) {
		return newDOR(DORConfig{}, env)
	})
	const doc = "O1TURN: dimension order, for each packet from the first dimension up or from the last one down"
	Register("o1turn", doc, Use{On: Coordinates}, O1TurnConfig{ruleDateline}, newO1Turn)
	Register("o1turn", doc, Use{On: AllToAll}, struct{}{}, func(_ struct{}, env Env) (fabric.Routing, error) {
		return newO1Turn(O1TurnConfig{}, env)
	})
}

// dor is dimension-order routing (Sullivan and Bashkow 1977; Dally and Seitz,
// IEEE Transactions on Computers 1987): the lowest dimension first, in rings
// the short way round; ties at half the ring go either way at random.
//
// Deadlock: dimensions are taken in order, so that a cycle could only lie within one. A mesh row
// has none: packets do not reverse, and every virtual channel may be used. In a ring the virtual
// channels are two classes, the lower and the upper half of the channels:
//   - vc_rule = "dateline" (Dally and Seitz): a packet enters a ring in class
//     0, and from the channel across the edge (from k-1 to 0 or back) on is in
//     class 1. Class 0 has no channel across the edge, and class 1 ends before
//     it comes to the edge again, so that both are chains, and they are
//     joined one way only.
//   - vc_rule = "by-coordinates", the rule of BookSim2: the class is fixed on
//     entering a ring, 1 if the destination's coordinate is the lower one. Up
//     the ring, class 1 holds the packets that cross the edge and class 0
//     those that do not; down the ring it is the other way round. Packets that
//     do not cross the edge use no channel across it, and those that cross it
//     cannot use the channel at the opposite side of the ring (no minimal
//     path is longer than half of it), so that no class closes the ring.
//   - vc_rule = "none": all virtual channels everywhere, which can deadlock in
//     rings of four switches and more. For demonstrations.
//
// Rings of two or three switches need no classes, and have them by coordinates alone: minimal paths take one hop
// there. Ejection may use all.
//
// On HyperX (Ahn et al., SC 2009) a dimension takes one hop, by one of parallel cables at
// random, so that a channel is only ever followed by one of a higher dimension: one virtual
// channel suffices, and all may be used everywhere.
type dor struct {
	*inOrder
	flat *gridWalk // the walk where it is a grid without rings, else nil
}

func newDOR(config DORConfig, env Env) (fabric.Routing, error) {
	walk, err := newInOrder("dor", env, config.Rule)
	if err != nil {
		return nil, err
	}
	r := &dor{inOrder: walk}
	if grid, ok := walk.dimensionWalk.(*gridWalk); ok && grid.flat {
		r.flat = grid
	}
	return r, CheckVCs("dor", r.VCs(), env)
}

func (r *dor) VCs() int { return r.rings }

func (r *dor) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	if r.flat != nil {
		port, ok := r.flat.nextFlat(h, r.home[h.Dst])
		if !ok {
			port = r.graph.TerminalPort[h.Dst]
		}
		return fabric.Hop{Port: port, VCs: allVCs(v.VCs())}
	}
	port, class, ok := r.next(h, r.home[h.Dst], false, v.Random(h.Switch))
	if !ok {
		return fabric.Hop{Port: r.graph.TerminalPort[h.Dst], VCs: allVCs(v.VCs())}
	}
	return fabric.Hop{Port: port, VCs: r.classVCs(port, class, v.VCs())}
}

func (r *dor) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	moved := r.explore(h, r.home[h.Dst], false, func(port topology.PortID, class int, state uint32, weight float64) {
		yield(fabric.Hop{Port: port, VCs: r.classVCs(port, class, vcs)}, state, weight)
	})
	if !moved {
		yield(fabric.Hop{Port: r.graph.TerminalPort[h.Dst], VCs: allVCs(vcs)}, h.State, 1)
	}
}

func (r *dor) Stages() (fabric.Routing, []Stage) { return r, r.axes().stages(0, r.came, asIs, nil) }

// O1TurnConfig holds the settings of routing "o1turn".
type O1TurnConfig struct {
	Rule string `toml:"vc_rule" doc:"on tori: how the two VC classes of a ring are chosen, as for dor" choices:"dateline|by-coordinates|none" deadlocks:"none"`
}

// o1Turn is O1TURN (Seo, Ali, Lim, Rafique and Thottethodi, ISCA 2005): of the two
// orders of dimensions, ascending and descending, each packet takes one at random at
// its source. In two dimensions these are XY and YX, all orders there are, and
// throughput in the worst case is nearly the best of any minimal routing; in more
// dimensions it is BookSim2's "xyyx" of the flattened butterfly.
//
// Deadlock: the orders have virtual channels of their own, each as many as dimension
// order needs: 2 on meshes and HyperX, 4 on tori.
type o1Turn struct {
	*inOrder
	orders [2]dimensionWalk
}

// Layout of Head.State, beside the bits that the walks use.
const (
	o1Descending uint32 = 1 << 20
	o1Started    uint32 = 1 << 21
)

func newO1Turn(config O1TurnConfig, env Env) (fabric.Routing, error) {
	walk, err := newInOrder("o1turn", env, config.Rule)
	if err != nil {
		return nil, err
	}
	r := &o1Turn{walk, [2]dimensionWalk{walk.dimensionWalk, walk.downwards()}}
	return r, CheckVCs("o1turn", r.VCs(), env)
}

func order(state uint32) int { return int(state & o1Descending / o1Descending) }

func (r *o1Turn) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	random := v.Random(h.Switch)
	fresh := h.State == 0
	if fresh {
		h.State = o1Started
		if random.Uint64()>>63 != 0 {
			h.State |= o1Descending
		}
	}
	port, class, ok := r.orders[order(h.State)].next(h, r.home[h.Dst], fresh, random)
	return r.hop(port, class, ok, order(h.State), h.Dst, v.VCs())
}

func (r *o1Turn) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	states, share, fresh := []uint32{h.State}, 1.0, false
	if h.State == 0 {
		states, share, fresh = []uint32{o1Started, o1Started | o1Descending}, 0.5, true
	}
	for _, state := range states {
		head := h
		head.State = state
		r.exploreWalk(r.orders[order(state)], vcs, head, r.home[h.Dst], fresh, order(state), share, yield)
	}
}
