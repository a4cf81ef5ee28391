package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

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
