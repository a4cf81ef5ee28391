package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// pathUGAL is UGAL-L (Singh 2005; Kim, Dally, Scott, Abts, ISCA 2008, section 4.3; on
// low-diameter graphs Besta and Hoefler, SC 2014) on coordinates and on any graph: a packet
// goes minimally, or by a path of Valiant routing if
//
//	q_m * H_m > q_nm * H_nm + T
//
// for the best of the detours drawn, with q the queue of the first port of a path and H its hops.
//
// Deadlock: as Valiant routing. On coordinates minimal packets start in the second phase; on any
// graph they start at class 0.
type pathUGAL struct {
	measuredDetours
	queueReader
}

// measuredDetours are detours whose paths are known at the source.
type measuredDetours interface {
	detours
	// first is the first port of the path on which a packet at its source starts in a
	// state, and the path's number of hops.
	first(v *fabric.View, h *fabric.Head, state uint32) (port topology.PortID, hops int)
	// leave moves on a packet that has just been decided, for that port.
	leave(v *fabric.View, h *fabric.Head, port topology.PortID) fabric.Hop
}

func (u *pathUGAL) Needs() fabric.Needs { return u.queueReader.Needs() }

func (u *pathUGAL) IdleSettings() []param.IdleSetting {
	return append(u.measuredDetours.IdleSettings(), decidedAlone(u.queues.DecidedAt == "terminal")...)
}

func (u *pathUGAL) Depart(v *fabric.View, h *fabric.Head) uint32 {
	u.decide(v, h)
	return v.AllVCs()
}

func (u *pathUGAL) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	if h.State == 0 {
		if port, ok := u.decide(v, h); ok {
			return u.leave(v, h, port)
		}
	}
	return u.onward(v, h)
}

// decide starts a packet at its source on the chosen path, and returns its first port; not ok if
// the packet stays.
func (u *pathUGAL) decide(v *fabric.View, h *fabric.Head) (first topology.PortID, ok bool) {
	best, alone := u.direct(h)
	if h.State = best; alone {
		return topology.NoPort, false
	}
	first, cost := u.cost(v, h, best)
	gain := u.queues.Threshold
	if cost <= gain { // no detour costs less than nothing
		return first, true
	}
	for range u.queues.Candidates {
		state, ok := u.drawDetour(h, v.Random(h.Switch))
		if !ok {
			continue
		}
		if port, detour := u.cost(v, h, state); cost-detour > gain {
			best, first, gain = state, port, cost-detour
		}
	}
	h.State = best
	return first, true
}

// cost is the product of queue and hops for the path of a packet that starts in a state.
func (u *pathUGAL) cost(v *fabric.View, h *fabric.Head, state uint32) (port topology.PortID, cost int) {
	port, hops := u.first(v, h, state)
	return port, u.sense.queue(v, port) * hops
}

func (u *pathUGAL) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	exploreDetours(u.measuredDetours, true, vcs, h, yield)
}

func (u *pathUGAL) Stages() (fabric.Routing, []Stage) {
	_, stages := u.goals(true)
	return u, stages
}

// AnyUGALConfig holds the settings of routing "ugal-l" on graphs without groups or coordinates.
type AnyUGALConfig struct {
	UGALQueues
	Lengths string `toml:"lengths" doc:"what hops are counted along: the paths of next_hops, or shortest ones" choices:"paths|shortest"`
	PathSettings
}

func init() {
	Register("ugal-l", "UGAL-L: minimal or Valiant by a table of paths, by the queues of the outputs at the source switch; the virtual channel rises at every hop", Use{},
		AnyUGALConfig{defaultQueues(), "paths", defaultPaths("random", false)}, newAnyUGAL)
	const doc = "UGAL-L: minimal or Valiant, both in dimension order, by the queues of the outputs at the source switch"
	Register("ugal-l", doc, Use{On: Coordinates}, GridUGALConfig{defaultQueues(), "any", ruleDateline}, newGridUGAL)
	Register("ugal-l", doc, Use{On: AllToAll}, HyperXUGALConfig{defaultQueues(), "any"}, func(c HyperXUGALConfig, env Env) (fabric.Routing, error) {
		return newGridUGAL(GridUGALConfig{c.UGALQueues, c.Through, ""}, env)
	})
}

// measuredLegs are a [legWalk] with the lengths of its paths. Ties between next hops are
// resolved before queues are compared, and anew as the packet leaves where it is decided at
// its terminal. hop_vcs = "any" can deadlock; with candidates = 4 and sensing = "credits" it
// is "ugallnew" of the BookSim that PolarFly was published with, on graphs of girth 5, where
// its guess of distances is right.
type measuredLegs struct {
	*legWalk
	weight []uint8 // len = switches*leaves: hops that paths are taken for
}

func newAnyUGAL(config AnyUGALConfig, env Env) (fabric.Routing, error) {
	walk, err := newLegWalk("ugal-l", config.PathSettings, env)
	if err != nil {
		return nil, err
	}
	legs := &measuredLegs{walk, walk.length}
	if config.Lengths == "shortest" && config.NextHops != "" {
		paths, err := newHopPaths("ugal-l", defaultPaths("one", false), env, true)
		if err != nil {
			return nil, err
		}
		legs.weight = paths.length
	}
	return &pathUGAL{legs, newQueueReader(config.UGALQueues)}, nil
}

func (u *measuredLegs) UnusedSettings() []string {
	unused := u.legWalk.UnusedSettings()
	if u.NextHops == "" {
		unused = append(unused, "lengths")
	}
	return unused
}

func (u *measuredLegs) first(v *fabric.View, h *fabric.Head, state uint32) (port topology.PortID, hops int) {
	there, before := u.column[h.Dst], h.State
	h.State = state
	to := u.target(h)
	port = u.choose(u.ties, v, h, u.to(h.Switch, to), u.key(h))
	h.State = before
	hops = int(u.weight[int(h.Switch)*u.leaves+int(to)])
	if to != there {
		hops += int(u.weight[int(u.via[to])*u.leaves+int(there)])
	}
	return port, hops
}

func (u *measuredLegs) leave(v *fabric.View, h *fabric.Head, port topology.PortID) fabric.Hop {
	return u.take(h, port, v.VCs())
}

// GridUGALConfig holds the settings of routing "ugal-l" on grids.
type GridUGALConfig struct {
	UGALQueues
	Through string `toml:"through" doc:"switches that detours lead through: any; or aligned, those that differ from the source's only in dimensions in which the destination's does" choices:"any|aligned"`
	Rule    string `toml:"vc_rule" doc:"on tori: how the two VC classes of a ring are chosen, as for dor" choices:"dateline|by-coordinates|none" deadlocks:"none"`
}

// HyperXUGALConfig holds the settings of routing "ugal-l" on HyperX.
type HyperXUGALConfig struct {
	UGALQueues
	Through string `toml:"through" doc:"switches that detours lead through: any; or aligned, those that differ from the source's only in dimensions in which the destination's does" choices:"any|aligned"`
}

// measuredPhases are a [phaseWalk] for UGAL: the source's or destination's switch as intermediate
// is no detour.
//
// BookSim2's "ugal" of flattened butterflies: through = "aligned", threshold = 2, sensing =
// "credits".
type measuredPhases struct {
	*phaseWalk
	axes    *axes
	aligned bool
}

func newGridUGAL(config GridUGALConfig, env Env) (fabric.Routing, error) {
	walk, err := newPhaseWalk("ugal-l", config.Rule, true, env)
	if err != nil {
		return nil, err
	}
	return &pathUGAL{&measuredPhases{walk, walk.axes(), config.Through == "aligned"}, newQueueReader(config.UGALQueues)}, nil
}

func (u *measuredPhases) direct(h *fabric.Head) (state uint32, alone bool) {
	return gridStarted | secondPhase, u.home[h.Dst] == h.Switch
}

// drawDetour implements [detours]; all switches that are allowed are equally likely.
func (u *measuredPhases) drawDetour(h *fabric.Head, random *sim.Stream) (state uint32, ok bool) {
	if !u.aligned {
		state, _ = u.phaseWalk.drawDetour(h, random)
		return state, state&fabric.NonMinimal != 0
	}
	place, there := 0, u.axes.place(u.home[h.Dst])
	for d, at := range u.axes.place(h.Switch) {
		if at != there[d] {
			at = int32(random.IntN(int(u.axes.sizes[d])))
		}
		place += int(at) * u.axes.strides[d]
	}
	state = u.over(h, u.axes.numbers[place])
	return state, state&fabric.NonMinimal != 0
}

func (u *measuredPhases) eachDetour(h *fabric.Head, visit func(state uint32, share float64)) {
	here, there := u.axes.place(h.Switch), u.axes.place(u.home[h.Dst])
	u.phaseWalk.eachDetour(h, func(state uint32, share float64) {
		if state&fabric.NonMinimal == 0 {
			return
		}
		if u.aligned {
			for d, at := range u.axes.place(topology.SwitchID(state & gridVia)) {
				if at != here[d] && there[d] == here[d] {
					return
				}
			}
		}
		visit(state, share)
	})
}

func (u *measuredPhases) first(v *fabric.View, h *fabric.Head, state uint32) (port topology.PortID, hops int) {
	to, end := u.home[h.Dst], u.home[h.Dst]
	if state&secondPhase == 0 {
		to = topology.SwitchID(state & gridVia)
	}
	before := h.State
	port, _, _ = u.next(h, to, true, v.Random(h.Switch))
	h.State = before
	return port, u.apart(h.Switch, to) + u.apart(to, end)
}

func (u *measuredPhases) leave(v *fabric.View, h *fabric.Head, _ topology.PortID) fabric.Hop {
	return u.onward(v, h)
}
