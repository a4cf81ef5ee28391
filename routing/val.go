package routing

import (
	"errors"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// detours is what Valiant and UGAL routings share on groups, coordinates and any graph: minimal
// paths, paths by way of an intermediate, and how packets walk them once started.
type detours interface {
	fabric.GraphRouting
	fabric.Needer
	TerminalBlind
	param.Skipper
	param.Idler
	VCs() int
	InjectionVCs(vcs int) uint32
	// direct is the state in which a packet at its source starts minimally; alone: it has no other
	// choice.
	direct(h *fabric.Head) (state uint32, alone bool)
	// drawDetour is a state in which a packet at its source starts on a detour; not ok if there is
	// none.
	drawDetour(h *fabric.Head, random *sim.Stream) (state uint32, ok bool)
	// eachDetour lists the states that drawDetour draws from, with their probabilities.
	eachDetour(h *fabric.Head, visit func(state uint32, share float64))
	// onward moves a started packet on.
	onward(v *fabric.View, h *fabric.Head) fabric.Hop
	// exploreOnward lists what onward could do, with probabilities that add up to share.
	exploreOnward(vcs int, h fabric.Head, share float64, yield func(fabric.Hop, uint32, float64))
	// goals are the stages of packets on detours and, with minimal, of others; see [Staged].
	goals(minimal bool) (wide detours, stages []Stage)
}

// exploreDetours lists the decisions of a routing over d; at the source an adaptive one's depend on
// the network.
func exploreDetours(d detours, adaptive bool, vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	if h.State != 0 {
		d.exploreOnward(vcs, h, 1, yield)
		return
	}
	started := false
	start := func(state uint32, share float64) {
		head := h
		head.State, started = state, true
		d.exploreOnward(vcs, head, share, yield)
	}
	minimal, alone := d.direct(&h)
	switch {
	case alone:
	case adaptive:
		start(minimal, 0)
		d.eachDetour(&h, func(state uint32, _ float64) { start(state, 0) })
	default:
		d.eachDetour(&h, start)
	}
	if !started {
		start(minimal, 1)
	}
}

// valiant is Valiant routing (1982): every packet takes a detour at random, if there is one.
type valiant struct{ detours }

func (r *valiant) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	if h.State == 0 {
		state, ok := r.drawDetour(h, v.Random(h.Switch))
		if !ok {
			state, _ = r.direct(h)
		}
		h.State = state
	}
	return r.onward(v, h)
}

func (r *valiant) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	exploreDetours(r.detours, false, vcs, h, yield)
}

func (r *valiant) Stages() (fabric.Routing, []Stage) {
	wide, stages := r.goals(false)
	return &valiant{wide}, stages
}

// Alternatives are the two routings that an adaptive one chooses between for each packet: all take
// their minimal paths, or all a detour. ok is false where there are no such detours. What they say of
// an adaptive routing is a forecast, no bound. They are walked, not run.
func Alternatives(r fabric.Routing) (minimal, detour fabric.Routing, ok bool) {
	d, ok := r.(detours)
	if !ok {
		return nil, nil, false
	}
	return &undetoured{valiant{d}}, &valiant{d}, true
}

// undetoured is the routing of those packets that take no detour.
type undetoured struct{ valiant }

func (r *undetoured) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	if h.State == 0 {
		h.State, _ = r.direct(&h)
	}
	r.exploreOnward(vcs, h, 1, yield)
}

// regional is r, or what its detours are of, if that is [Regional]; otherwise nil.
func regional(r fabric.Routing) Regional {
	var over any = r
	switch r := r.(type) {
	case *valiant:
		over = r.detours
	case *undetoured:
		over = r.detours
	}
	x, _ := over.(Regional)
	return x
}

// ValConfig holds the settings of routing "val" on groups.
type ValConfig struct {
	Intermediate string `toml:"intermediate" doc:"what is drawn at random: a group or a router" choices:"group|router"`
	GroupSettings
}

// AnyValConfig holds the settings of routing "val" on graphs without groups or coordinates.
type AnyValConfig struct{ PathSettings }

// GridValConfig holds the settings of routing "val" on grids.
type GridValConfig struct {
	Rule string `toml:"vc_rule" doc:"on tori: how the two VC classes of a ring are chosen, as for dor" choices:"dateline|by-coordinates|none" deadlocks:"none"`
}

func init() {
	Register("val", "Valiant: minimal to a random intermediate group or router, then minimal to the destination", Use{On: Groups, Faults: true},
		ValConfig{"group", defaultGroups()}, newGroupVal)
	Register("val", "Valiant: by a table of paths to a random switch, then to the destination; the virtual channel rises at every hop", Use{},
		AnyValConfig{defaultPaths("random", false)}, func(c AnyValConfig, env Env) (fabric.Routing, error) {
			walk, err := newLegWalk("val", c.PathSettings, env)
			return &valiant{walk}, err
		})
	const doc = "Valiant: in dimension order to a random switch, then to the destination"
	Register("val", doc, Use{On: Coordinates}, GridValConfig{ruleDateline}, func(c GridValConfig, env Env) (fabric.Routing, error) {
		walk, err := newPhaseWalk("val", c.Rule, false, env)
		return &valiant{walk}, err
	})
	Register("val", doc, Use{On: AllToAll}, struct{}{}, func(_ struct{}, env Env) (fabric.Routing, error) {
		walk, err := newPhaseWalk("val", "", true, env)
		return &valiant{walk}, err
	})
}

// newGroupVal makes VAL on a dragonfly (Valiant 1982; Kim, Dally, Scott, Abts, ISCA 2008, section
// 4.1): minimally to an intermediate group, minimally from there to the destination. Each packet
// draws its intermediate group uniformly from those other than the source's and the destination's.
//
// Deadlock, with L and G for local and global channels: a path is part of L0 G1 L1 G2 L2 (global_vc
// = "next") or L0 G0 L1 G1 L2 ("same"), and never waits for a channel to the left of one it holds:
// 3 virtual channels. With intermediate = "router" there can be two local hops in the intermediate
// group; a router reached raises the virtual channel: L0 G1 L1 L2 G3 L3 or L0 G0 L1 L2 G2 L3, 4
// virtual channels.
//
// Choices that the paper leaves open: packets within a group, and all packets with fewer than three
// groups, go minimally.
func newGroupVal(config ValConfig, env Env) (fabric.Routing, error) {
	walk, err := newGroupWalk("val", env, config.GroupSettings)
	if err != nil {
		return nil, err
	}
	if err := walk.lead("val", config.Intermediate); err != nil {
		return nil, err
	}
	return &valiant{walk}, errors.Join(CheckVCs("val", walk.classes, env), walk.joins("val", true))
}
