package routing

import (
	"errors"
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// ValConfig holds the settings of routing "val" on groups.
type ValConfig struct {
	Intermediate string `toml:"intermediate" doc:"what is drawn at random: a group or a router" choices:"group|router"`
	GroupSettings
}

func init() {
	Register("val", "Valiant: minimal to a random intermediate group or router, then minimal to the destination", Use{On: Groups, Faults: true},
		ValConfig{"group", defaultGroups()}, newGroupVal)
}

// groupVal is VAL on a dragonfly (Valiant 1982; Kim, Dally, Scott, Abts, ISCA
// 2008, section 4.1): minimally to an intermediate group, minimally from there
// to the destination. The intermediate group is drawn uniformly, for each
// packet, from those that are neither the source's nor the destination's.
//
// Deadlock, with L and G for local and global channels: a path is part of
// L0 G1 L1 G2 L2 (global_vc = "next") or L0 G0 L1 G1 L2 ("same"), and never
// waits for a channel to the left of one it holds: 3 virtual channels. With
// intermediate = "router" there can be two local hops in the intermediate
// group; a router reached raises the virtual channel: L0 G1 L1 L2 G3 L3 or
// L0 G0 L1 L2 G2 L3, 4 virtual channels.
//
// Choices that the paper leaves open: packets within a group, and all packets
// where there are fewer than three groups, go minimally.
type groupVal struct{ *groupWalk }

func newGroupVal(config ValConfig, env Env) (fabric.Routing, error) {
	walk, err := newGroupWalk("val", env, config.GroupSettings)
	if err != nil {
		return nil, err
	}
	walk.viaSwitch = config.Intermediate == "router"
	if walk.viaSwitch && len(walk.at) > 1<<16 {
		return nil, fmt.Errorf("routing \"val\" handles at most %d switches with intermediate = \"router\"; this topology has %d", 1<<16, len(walk.at))
	}
	walk.classes = 3
	if walk.viaSwitch {
		walk.classes = 4
	}
	v := &groupVal{walk}
	return v, errors.Join(CheckVCs("val", v.VCs(), env), walk.joins("val", true))
}

func (r *groupVal) VCs() int { return r.classes }

func (r *groupVal) InjectionVCs(vcs int) uint32 { return allVCs(vcs) }

func (r *groupVal) IgnoresTerminals() bool { return !r.hashed }

func (r *groupVal) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	return r.route(h, v.VCs(), v.Random(h.Switch))
}

func (r *groupVal) route(h *fabric.Head, vcs int, random *sim.Stream) fabric.Hop {
	if h.State == 0 {
		if via, ok := r.drawVia(h, random); ok {
			launchVia(h, via, 0)
		} else {
			launchMinimal(h, 0)
		}
	}
	return r.next(h, vcs, random)
}

// drawVia draws the intermediate group or switch of a Valiant path for a
// packet at its source; ok is false if there is nothing to draw from.
func (w *groupWalk) drawVia(h *fabric.Head, random *sim.Stream) (via uint32, ok bool) {
	here, there := w.sourceGroups(h)
	if here == there || w.groups < 3 {
		return 0, false
	}
	if w.damage != nil {
		return w.drawViaAround(here, there, random)
	}
	group := otherGroup(int32(random.IntN(w.groups-2)), here, there)
	if !w.viaSwitch {
		return uint32(group), true
	}
	return uint32(w.switches[int(group)*w.width+random.IntN(int(w.size[group]))]), true
}

// otherGroup is the i-th group that is neither a nor b.
func otherGroup(i, a, b int32) int32 {
	if i >= min(a, b) {
		i++
	}
	if i >= max(a, b) {
		i++
	}
	return i
}

func (r *groupVal) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	here, there := r.sourceGroups(&h)
	switch {
	case h.State != 0:
		r.explore(vcs, h, 1, yield)
	case here == there || r.groups < 3:
		launchMinimal(&h, 0)
		r.explore(vcs, h, 1, yield)
	default:
		vias := 1
		if r.damage != nil {
			vias = 0
			r.detours(here, there, func(int32) { vias++ })
		}
		if vias == 0 {
			launchMinimal(&h, 0)
			r.explore(vcs, h, 1, yield)
			return
		}
		r.exploreVias(vcs, h, 1, yield)
	}
}

// exploreVias lists the first hops of all Valiant paths of a packet at its
// source, in another group than its destination, with probabilities that add
// up to weight.
func (w *groupWalk) exploreVias(vcs int, h fabric.Head, weight float64, yield func(fabric.Hop, uint32, float64)) {
	if w.damage != nil {
		w.eachVia(&h, func(via uint32, share float64) {
			launchVia(&h, via, 0)
			w.explore(vcs, h, weight*share, yield)
		})
		return
	}
	here, there := w.sourceGroups(&h)
	weight /= float64(w.groups - 2)
	for i := range w.groups - 2 {
		group := otherGroup(int32(i), here, there)
		if !w.viaSwitch {
			launchVia(&h, uint32(group), 0)
			w.explore(vcs, h, weight, yield)
			continue
		}
		for _, s := range w.members(int(group)) {
			launchVia(&h, uint32(s), 0)
			w.explore(vcs, h, weight/float64(w.size[group]), yield)
		}
	}
}

// AnyValConfig holds the settings of routing "val" on graphs without groups or
// coordinates.
type AnyValConfig struct{ PathSettings }

func init() {
	Register("val", "Valiant: by a table of paths to a random switch, then to the destination; the virtual channel rises at every hop", Use{},
		AnyValConfig{defaultPaths("random", false)}, newAnyVal)
}

// anyVal is VAL on any graph (Valiant 1982; on low-diameter graphs Besta and Hoefler,
// SC 2014): by a table of paths, those of routing "table", to a switch drawn
// uniformly from those with terminals that are neither the source's nor the
// destination's, by the table from there to the destination. A packet that passes
// its destination's switch on the way out goes on.
//
// Deadlock: the n-th hop uses VC class n, as in routing "table"; as many classes are
// needed as the longest detour has hops, twice the diameter on most graphs.
//
// Choices that the papers leave open: packets for a terminal of their own switch, and
// all packets where there are fewer than three switches with terminals, go directly.
type anyVal struct{ *legWalk }

func newAnyVal(config AnyValConfig, env Env) (fabric.Routing, error) {
	walk, err := newLegWalk("val", config.PathSettings, env)
	return &anyVal{walk}, err
}

func (r *anyVal) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	if h.State == 0 {
		h.State = direct()
		if column, ok := r.drawVia(h, v.Random(h.Switch)); ok {
			h.State = over(column)
		}
	}
	return r.next(v, h)
}

func (r *anyVal) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	switch {
	case h.State != 0:
		r.exploreNext(vcs, h, 1, yield)
	case !r.exploreDetours(vcs, h, 1, yield):
		h.State = direct()
		r.exploreNext(vcs, h, 1, yield)
	}
}

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
	return r, CheckVCs(name, r.VCs(), env)
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
	return fabric.Hop{Port: port, VCs: ClassVCs(class, 2*r.rings, vcs)}
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
