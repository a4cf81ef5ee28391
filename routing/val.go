package routing

import (
	"errors"
	"fmt"

	"github.com/weft-sim/weft/fabric"
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
	return v, errors.Join(checkVCs("val", v.VCs(), env), walk.joins("val", true))
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
