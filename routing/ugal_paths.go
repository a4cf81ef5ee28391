package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
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

func init() {
	const doc = "UGAL-L: minimal or Valiant, both in dimension order, by the queues of the outputs at the source switch"
	Register("ugal-l", doc, Use{On: Coordinates}, GridUGALConfig{defaultQueues(), "any", ruleDateline}, newGridUGAL)
	Register("ugal-l", doc, Use{On: AllToAll}, HyperXUGALConfig{defaultQueues(), "any"}, func(c HyperXUGALConfig, env Env) (fabric.Routing, error) {
		return newGridUGAL(GridUGALConfig{c.UGALQueues, c.Through, ""}, env)
	})
}

// gridUGAL is UGAL-L (Singh 2005; Kim, Dally, Scott, Abts, ISCA 2008, section 4.3) on a
// grid or a HyperX: a packet goes in dimension order, or by a path of [gridVal] if
//
//	q_m * H_m > q_nm * H_nm + T
//
// for the best of the detours drawn, q the queue of the first port of a path and H its
// number of hops. An intermediate switch that is the source's or the destination's is
// no detour.
//
// Deadlock: as gridVal; minimal packets are in the second phase from the start: 2
// virtual channels, 4 on tori.
//
// BookSim2's "ugal" of the flattened butterfly is through = "aligned", threshold = 2,
// sensing = "credits".
type gridUGAL struct {
	*gridVal
	queueReader
	aligned bool
	space   coordinates
	numbers []topology.SwitchID // by place: the coordinates as digits, the first the lowest
}

// coordinates is what alignment is a matter of.
type coordinates interface {
	topology.Topology
	Dims() []int
	Coordinate(s topology.SwitchID, d int) int
}

func newGridUGAL(config GridUGALConfig, env Env) (fabric.Routing, error) {
	val, err := newGridVal("ugal-l", config.Rule, true, env)
	if err != nil {
		return nil, err
	}
	u := &gridUGAL{gridVal: val, queueReader: newQueueReader(config.UGALQueues), aligned: config.Through == "aligned", space: env.Topology.(coordinates)}
	u.numbers = make([]topology.SwitchID, val.graph.Switches())
	for s := range topology.SwitchID(val.graph.Switches()) {
		u.numbers[u.place(func(d int) int { return u.space.Coordinate(s, d) })] = s
	}
	return u, nil
}

// place is the number that some coordinates are the digits of.
func (u *gridUGAL) place(coordinate func(d int) int) int {
	number, stride := 0, 1
	for d, size := range u.space.Dims() {
		number += stride * coordinate(d)
		stride *= size
	}
	return number
}

// Depart implements [fabric.Departer].
func (u *gridUGAL) Depart(v *fabric.View, h *fabric.Head) uint32 {
	h.State = u.decide(v, h)
	return v.AllVCs()
}

// Route implements [fabric.Routing].
func (u *gridUGAL) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	if h.State == 0 {
		h.State = u.decide(v, h)
	}
	return u.route(h, v.VCs(), v.Random(h.Switch))
}

// decide is the state in which a packet starts.
func (u *gridUGAL) decide(v *fabric.View, h *fabric.Head) uint32 {
	best, end := gridStarted|secondPhase, u.home[h.Dst]
	if end == h.Switch {
		return best
	}
	random := v.Random(h.Switch)
	cost := u.queue(v, h, end, random) * u.apart(h.Switch, end)
	gain := u.queues.Threshold
	if cost <= gain { // no detour costs less than nothing
		return best
	}
	for range u.queues.Candidates {
		via := u.draw(h.Switch, end, random)
		if via == h.Switch || via == end {
			continue
		}
		if detour := u.queue(v, h, via, random) * (u.apart(h.Switch, via) + u.apart(via, end)); cost-detour > gain {
			best, gain = gridStarted|fabric.NonMinimal|uint32(via), cost-detour
		}
	}
	return best
}

// queue is that of the first port from a packet's source to a switch.
func (u *gridUGAL) queue(v *fabric.View, h *fabric.Head, to topology.SwitchID, random *sim.Stream) int {
	head := *h
	port, _, _ := u.next(&head, to, true, random)
	return u.sense.queue(v, port)
}

// draw is an intermediate switch; all that are allowed are equally likely.
func (u *gridUGAL) draw(from, to topology.SwitchID, random *sim.Stream) topology.SwitchID {
	if !u.aligned {
		return topology.SwitchID(random.IntN(u.graph.Switches()))
	}
	return u.numbers[u.place(func(d int) int {
		at := u.space.Coordinate(from, d)
		if at != u.space.Coordinate(to, d) {
			at = random.IntN(u.space.Dims()[d])
		}
		return at
	})]
}

// Explore implements [fabric.Explorer].
func (u *gridUGAL) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	if h.State != 0 {
		u.step(vcs, h, 1, yield)
		return
	}
	end := u.home[h.Dst]
	h.State = gridStarted | secondPhase
	if end == h.Switch {
		u.step(vcs, h, 1, yield)
		return
	}
	u.step(vcs, h, 0, yield)
	for via := range topology.SwitchID(u.graph.Switches()) {
		if via != h.Switch && via != end && (!u.aligned || u.between(h.Switch, via, end)) {
			h.State = gridStarted | fabric.NonMinimal | uint32(via)
			u.step(vcs, h, 0, yield)
		}
	}
}

// between tells whether a switch differs from the source only in dimensions in which
// the destination does.
func (u *gridUGAL) between(from, via, to topology.SwitchID) bool {
	for d := range u.space.Dims() {
		at := u.space.Coordinate(from, d)
		if u.space.Coordinate(via, d) != at && u.space.Coordinate(to, d) == at {
			return false
		}
	}
	return true
}
