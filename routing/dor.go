package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// DORConfig holds the settings of routing "dor".
type DORConfig struct {
	Rule string `toml:"vc_rule" doc:"on tori: how the two VC classes of a ring are chosen; none can deadlock" choices:"dateline|by-coordinates|none" deadlocks:"none"`
}

func init() {
	Register("dor", "dimension order on meshes, tori and hypercubes, with datelines on rings", Use{On: Coordinates}, DORConfig{ruleDateline}, newDOR)
}

// dor is dimension-order routing (Sullivan and Bashkow 1977; Dally and Seitz,
// IEEE Transactions on Computers 1987): the lowest dimension first, in rings
// the short way round; ties at half the ring go either way at random.
//
// Deadlock: dimensions are taken in order, so that a cycle could only lie
// within one. A mesh row has none: packets do not reverse, and every virtual
// channel may be used. In a ring the virtual channels are two classes, the
// lower and the upper half of the channels:
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
// Rings of two or three switches need no classes, as minimal paths take one
// hop there. Ejection may use every virtual channel.
type dor struct{ *gridWalk }

func newDOR(config DORConfig, env Env) (fabric.Routing, error) {
	walk, err := newGridWalk("dor", env, config.Rule)
	if err != nil {
		return nil, err
	}
	return &dor{walk}, checkVCs("dor", walk.rings, env)
}

func (r *dor) VCs() int { return r.rings }

func (r *dor) InjectionVCs(vcs int) uint32 { return allVCs(vcs) }

func (r *dor) IgnoresTerminals() bool { return true }

func (r *dor) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	if r.flat {
		port, ok := r.nextFlat(h, r.home[h.Dst])
		if !ok {
			port = r.graph.TerminalPort[h.Dst]
		}
		return fabric.Hop{Port: port, VCs: allVCs(v.VCs())}
	}
	return r.route(h, v.VCs(), v.Random(h.Switch))
}

func (r *dor) route(h *fabric.Head, vcs int, random *sim.Stream) fabric.Hop {
	port, class, ok := r.next(h, r.home[h.Dst], false, random)
	if !ok {
		return fabric.Hop{Port: r.graph.TerminalPort[h.Dst], VCs: allVCs(vcs)}
	}
	return fabric.Hop{Port: port, VCs: r.classVCs(port, class, vcs)}
}

// classVCs is the set of virtual channels for a class of the channel at port:
// all of them where the channel's dimension is no ring.
func (r *dor) classVCs(port topology.PortID, class, vcs int) uint32 {
	if r.rings == 1 || !r.wraps[r.dimension[port]] {
		return allVCs(vcs)
	}
	return classVCs(class, 2, vcs)
}

func (r *dor) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	moved := r.explore(h, r.home[h.Dst], false, func(port topology.PortID, class int, state uint32, weight float64) {
		yield(fabric.Hop{Port: port, VCs: r.classVCs(port, class, vcs)}, state, weight)
	})
	if !moved {
		yield(fabric.Hop{Port: r.graph.TerminalPort[h.Dst], VCs: allVCs(vcs)}, h.State, 1)
	}
}
