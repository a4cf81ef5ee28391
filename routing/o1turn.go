package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// O1TurnConfig holds the settings of routing "o1turn".
type O1TurnConfig struct {
	Rule string `toml:"vc_rule" doc:"on tori: how the two VC classes of a ring are chosen, as for dor" choices:"dateline|by-coordinates|none" deadlocks:"none"`
}

func init() {
	const doc = "O1TURN: dimension order, for each packet from the first dimension up or from the last one down"
	Register("o1turn", doc, Use{On: Coordinates}, O1TurnConfig{ruleDateline}, newO1Turn)
	Register("o1turn", doc, Use{On: AllToAll}, struct{}{}, func(_ struct{}, env Env) (fabric.Routing, error) {
		return newO1Turn(O1TurnConfig{}, env)
	})
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
	orders [2]dimensionWalk
	home   []topology.SwitchID
	graph  *topology.Graph
	rings  int
}

// Layout of Head.State beside that of the walks.
const (
	o1Descending uint32 = 1 << 20
	o1Started    uint32 = 1 << 21
)

func newO1Turn(config O1TurnConfig, env Env) (fabric.Routing, error) {
	r := &o1Turn{graph: env.Topology.Graph()}
	for i, env := range []Env{env, reversed(env)} {
		walk, err := newDimensionWalk("o1turn", env, config.Rule)
		if err != nil {
			return nil, err
		}
		r.orders[i] = walk
	}
	r.home, r.rings = r.orders[0].homes(), r.orders[0].classes()
	return r, checkVCs("o1turn", r.VCs(), env)
}

func (r *o1Turn) VCs() int { return 2 * r.rings }

func (r *o1Turn) InjectionVCs(vcs int) uint32 { return allVCs(vcs) }

func (r *o1Turn) IgnoresTerminals() bool { return true }

// Graph implements [fabric.GraphRouting].
func (r *o1Turn) Graph() *topology.Graph { return r.graph }

// UnusedSettings implements [param.Skipper].
func (r *o1Turn) UnusedSettings() []string { return r.orders[0].UnusedSettings() }

// order is 1 for packets in descending order.
func order(state uint32) int { return int(state & o1Descending / o1Descending) }

func (r *o1Turn) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	return r.route(h, v.VCs(), v.Random(h.Switch))
}

func (r *o1Turn) route(h *fabric.Head, vcs int, random *sim.Stream) fabric.Hop {
	fresh := h.State == 0
	if fresh {
		h.State = o1Started
		if random.Uint64()>>63 != 0 {
			h.State |= o1Descending
		}
	}
	port, class, ok := r.orders[order(h.State)].next(h, r.home[h.Dst], fresh, random)
	if !ok {
		return fabric.Hop{Port: r.graph.TerminalPort[h.Dst], VCs: allVCs(vcs)}
	}
	return fabric.Hop{Port: port, VCs: r.vcSet(h.State, class, vcs)}
}

// vcSet is the virtual channels of a class of a packet's order.
func (r *o1Turn) vcSet(state uint32, class, vcs int) uint32 {
	if r.rings == 1 {
		class = 0
	}
	return classVCs(order(state)*r.rings+class, 2*r.rings, vcs)
}

func (r *o1Turn) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	states, share, fresh := []uint32{h.State}, 1.0, false
	if h.State == 0 {
		states, share, fresh = []uint32{o1Started, o1Started | o1Descending}, 0.5, true
	}
	for _, state := range states {
		head := h
		head.State = state
		moved := r.orders[order(state)].explore(head, r.home[h.Dst], fresh, func(port topology.PortID, class int, after uint32, weight float64) {
			yield(fabric.Hop{Port: port, VCs: r.vcSet(state, class, vcs)}, after, share*weight)
		})
		if !moved {
			yield(fabric.Hop{Port: r.graph.TerminalPort[h.Dst], VCs: allVCs(vcs)}, state, share)
		}
	}
}
