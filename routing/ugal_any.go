package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// AnyUGALConfig holds the settings of routing "ugal-l" on graphs without groups or
// coordinates.
type AnyUGALConfig struct {
	UGALQueues
	Lengths string `toml:"lengths" doc:"what hops are counted along: the paths of next_hops, or shortest ones" choices:"paths|shortest"`
	PathSettings
}

func init() {
	Register("ugal-l", "UGAL-L: minimal or Valiant by a table of paths, by the queues of the outputs at the source switch; the virtual channel rises at every hop", Use{},
		AnyUGALConfig{defaultQueues(), "paths", defaultPaths("random", false)}, newAnyUGAL)
}

// anyUGAL is UGAL-L (Singh 2005; Kim, Dally, Scott, Abts, ISCA 2008, section 4.3; on
// low-diameter graphs Besta and Hoefler, SC 2014) on any graph: a packet goes by the
// table's path, or by a path of [anyVal] if
//
//	q_m * H_m > q_nm * H_nm + T
//
// for the best of the detours drawn, q the queue of the first port of a path and H its
// number of hops. Ties between next hops are resolved before queues are compared, and
// anew as the packet leaves where it is decided at its terminal.
//
// Deadlock: as anyVal; minimal packets start at class 0, too. hop_vcs = "any" can
// deadlock. With candidates = 4, sensing = "credits" and hop_vcs = "any" this is
// "ugallnew" of the BookSim that PolarFly was published with, on graphs of girth 5,
// where its guess of distances is right.
type anyUGAL struct {
	*legWalk
	queueReader
	weight []uint8 // len = switches*leaves: hops that paths are taken for
}

func newAnyUGAL(config AnyUGALConfig, env Env) (fabric.Routing, error) {
	walk, err := newLegWalk("ugal-l", config.PathSettings, env)
	if err != nil {
		return nil, err
	}
	u := &anyUGAL{walk, newQueueReader(config.UGALQueues), walk.length}
	if config.Lengths == "shortest" && config.NextHops != "" {
		shortest := defaultPaths("one", false)
		paths, err := newHopPaths("ugal-l", shortest, env, true)
		if err != nil {
			return nil, err
		}
		u.weight = paths.length
	}
	return u, nil
}

// UnusedSettings implements [param.Skipper].
func (u *anyUGAL) UnusedSettings() []string {
	unused := u.legWalk.UnusedSettings()
	if u.NextHops == "" {
		unused = append(unused, "lengths")
	}
	return unused
}

// Depart implements [fabric.Departer].
func (u *anyUGAL) Depart(v *fabric.View, h *fabric.Head) uint32 {
	u.decide(v, h)
	return v.AllVCs()
}

// Route implements [fabric.Routing].
func (u *anyUGAL) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	if h.State == 0 {
		local, ok := u.decide(v, h)
		if ok {
			return u.take(h, local, v.VCs())
		}
	}
	return u.next(v, h)
}

// decide starts a packet at its source on the path chosen, whose first port it
// returns; ok is false if the packet stays at its switch.
func (u *anyUGAL) decide(v *fabric.View, h *fabric.Head) (local uint16, ok bool) {
	h.State = direct()
	there := u.column[h.Dst]
	if u.leaf[h.Switch] == there {
		return 0, false
	}
	best := h.State
	local, cost := u.cost(v, h, there, int(u.hopsTo(h.Switch, there)))
	gain := u.queues.Threshold
	if cost <= gain { // no detour costs less than nothing
		return local, true
	}
	for range u.queues.Candidates {
		column, ok := u.drawVia(h, v.Random(h.Switch))
		if !ok {
			break
		}
		h.State = over(column)
		port, detour := u.cost(v, h, column, int(u.hopsTo(h.Switch, column))+int(u.hopsTo(u.via[column], there)))
		if cost-detour > gain {
			best, local, gain = h.State, port, cost-detour
		}
	}
	h.State = best
	return local, true
}

// hopsTo is the length of a path to a leaf.
func (u *anyUGAL) hopsTo(s topology.SwitchID, column int32) uint8 {
	return u.weight[int(s)*u.leaves+int(column)]
}

// cost is the product of queue and hops for a path of a started packet to a leaf.
func (u *anyUGAL) cost(v *fabric.View, h *fabric.Head, column int32, hops int) (local uint16, cost int) {
	local = u.choose(v, h, u.to(h.Switch, column), u.key(h))
	return local, u.sense.queue(v, u.graph.PortStart[h.Switch]+topology.PortID(local)) * hops
}

// Explore implements [fabric.Explorer].
func (u *anyUGAL) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	if h.State != 0 {
		u.exploreNext(vcs, h, 1, yield)
		return
	}
	h.State = direct()
	if u.leaf[h.Switch] == u.column[h.Dst] {
		u.exploreNext(vcs, h, 1, yield)
		return
	}
	u.exploreNext(vcs, h, 0, yield)
	u.exploreDetours(vcs, h, 0, yield)
}
