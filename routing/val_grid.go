package routing

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// GridValConfig holds the settings of routing "val" on grids.
type GridValConfig struct {
	Rule string `toml:"vc_rule" doc:"on tori: how the two VC classes of a ring are chosen, as for dor" choices:"dateline|by-coordinates|none" deadlocks:"none"`
}

// HyperXValConfig holds the settings of routing "val" on HyperX.
type HyperXValConfig struct {
	EndsEarly bool `toml:"ends_early" doc:"a packet that passes its destination's switch on the way to the intermediate one has arrived"`
}

func init() {
	const doc = "Valiant: in dimension order to a random switch, then to the destination"
	Register("val", doc, Use{On: Coordinates}, GridValConfig{ruleDateline}, func(c GridValConfig, env Env) (fabric.Routing, error) {
		return newGridVal("val", c.Rule, false, env)
	})
	Register("val", doc, Use{On: AllToAll}, HyperXValConfig{true}, func(c HyperXValConfig, env Env) (fabric.Routing, error) {
		return newGridVal("val", "", c.EndsEarly, env)
	})
}

// gridVal is VAL on a grid or a HyperX (Valiant 1982; Dally and Towles 2004, section
// 9.2): in dimension order to a switch drawn uniformly from all of them, in
// dimension order from there to the destination.
//
// Deadlock: the two phases have virtual channels of their own, each as many as
// dimension order needs (1 on meshes and HyperX, 2 on tori), and the second phase
// never waits for a channel of the first: 2 virtual channels, 4 on tori.
//
// A packet whose intermediate switch is its source's or its destination's goes
// minimally, in the phase that it is left with. On HyperX a packet that passes its
// destination's switch in the first phase has arrived, as in BookSim2's flattened
// butterfly, unless ends_early = false.
type gridVal struct {
	dimensionWalk
	graph     *topology.Graph
	home      []topology.SwitchID // len = terminals
	rings     int
	endsEarly bool
}

func newGridVal(name, rule string, endsEarly bool, env Env) (*gridVal, error) {
	walk, err := newDimensionWalk(name, env, rule)
	if err != nil {
		return nil, err
	}
	r := &gridVal{walk, walk.Graph(), walk.homes(), walk.classes(), endsEarly}
	if n := r.graph.Switches(); n > 1<<16 {
		return nil, fmt.Errorf("routing %q handles at most %d switches on grids; this topology has %d", name, 1<<16, n)
	}
	return r, checkVCs(name, r.VCs(), env)
}

func (r *gridVal) VCs() int { return 2 * r.rings }

func (r *gridVal) InjectionVCs(vcs int) uint32 { return allVCs(vcs) }

func (r *gridVal) IgnoresTerminals() bool { return true }

func (r *gridVal) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	return r.route(h, v.VCs(), v.Random(h.Switch))
}

func (r *gridVal) route(h *fabric.Head, vcs int, random *sim.Stream) fabric.Hop {
	if h.State == 0 {
		r.start(h, uint32(random.IntN(r.graph.Switches())))
	}
	target, fresh := r.target(h)
	port, class, ok := r.next(h, target, fresh, random)
	return r.hop(port, class, ok, h.State, h.Dst, vcs)
}

// start sends a packet at its source by way of switch via.
func (r *gridVal) start(h *fabric.Head, via uint32) {
	h.State = gridStarted | via
	if s := topology.SwitchID(via); s != h.Switch && s != r.home[h.Dst] {
		h.State |= fabric.NonMinimal
	}
}

// target is the switch that the packet now makes for; fresh tells that it
// changes its target here.
func (r *gridVal) target(h *fabric.Head) (s topology.SwitchID, fresh bool) {
	if via := topology.SwitchID(h.State & gridVia); h.State&secondPhase == 0 {
		if via != h.Switch && !(r.endsEarly && r.home[h.Dst] == h.Switch) {
			return via, false
		}
		h.State |= secondPhase
		fresh = true
	}
	return r.home[h.Dst], fresh
}

// hop completes a step of the walk: virtual channels of its phase, or the
// terminal's port at the end.
func (r *gridVal) hop(port topology.PortID, class int, ok bool, state uint32, dst topology.TerminalID, vcs int) fabric.Hop {
	if !ok {
		return fabric.Hop{Port: r.graph.TerminalPort[dst], VCs: allVCs(vcs)}
	}
	if r.rings == 1 {
		class = 0
	}
	if state&secondPhase != 0 {
		class += r.rings
	}
	return fabric.Hop{Port: port, VCs: classVCs(class, 2*r.rings, vcs)}
}

func (r *gridVal) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	if h.State != 0 {
		r.step(vcs, h, 1, yield)
		return
	}
	n := r.graph.Switches()
	for via := range n {
		head := h
		r.start(&head, uint32(via))
		r.step(vcs, head, 1/float64(n), yield)
	}
}

// step lists what can happen to a started packet, with probabilities that add
// up to share.
func (r *gridVal) step(vcs int, h fabric.Head, share float64, yield func(fabric.Hop, uint32, float64)) {
	target, fresh := r.target(&h)
	moved := r.explore(h, target, fresh, func(port topology.PortID, class int, state uint32, weight float64) {
		yield(r.hop(port, class, true, state, h.Dst, vcs), state, weight*share)
	})
	if !moved {
		yield(r.hop(topology.NoPort, 0, false, h.State, h.Dst, vcs), h.State, share)
	}
}
