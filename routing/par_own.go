package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	Register("par-own", "PAR as CODES has it: a gateway compares with its own other global channels only, by the queues of whole outputs", Use{On: Groups},
		defaultUGAL(), newOwnPAR)
}

// ownProgressive is progressive adaptive routing as CODES' dragonfly-dally has it: at its source
// switch a packet is compared as by UGAL-L. A minimal one is compared again at the switch with the
// global channel, with a path by way of a group that this switch has a channel of its own to; so no
// packet takes two local hops in its source group.
//
// Virtual channels rise with each global hop, of minimal packets, too: L0 G1 L1 and L0 G1 L1 G2 L2, or
// with global_vc = "same" L0 G0 L1 and L0 G0 L1 G1 L2; 3 of them. A packet never waits for a channel to
// the left of one that it holds.
type ownProgressive struct {
	*ugal
	globals [][]topology.PortID // by switch
}

func newOwnPAR(config UGALSettings, env Env) (fabric.Routing, error) {
	if config.Intermediate != "group" {
		return nil, &param.ParamError{Key: "intermediate", Value: config.Intermediate, Want: `"group"`}
	}
	u, err := newUGAL("par-own", config, env, portGauge)
	if err != nil {
		return nil, err
	}
	u.minimalVC, u.localVC, u.again = 0, 0, true
	return ownProgressive{u, u.globals(nil)}, nil
}

// own is the group that a global channel leads to.
func (p ownProgressive) own(port topology.PortID) int32 {
	return p.at[p.graph.PortSwitch[p.graph.Peer[port]]].group
}

// Route implements [fabric.Routing].
func (p ownProgressive) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	if !undecided(h.State) {
		return p.ugal.Route(v, h)
	}
	there, globals := p.home[h.Dst].group, p.globals[h.Switch]
	best := p.best(v, h, p.begin(v, h, h.State, there), func() (launch uint32, ok bool) {
		if len(globals) == 0 { // of a network whose groups are wider than a hop
			return 0, false
		}
		via := p.own(globals[v.Random(h.Switch).IntN(len(globals))])
		return viaState(uint32(via), p.detourVC) | localDone, via != there
	})
	h.State = best.state
	return best.hop
}

// Explore implements [fabric.Explorer].
func (p ownProgressive) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	p.ugal.Explore(vcs, h, yield)
	if !undecided(h.State) {
		return
	}
	for _, port := range p.globals[h.Switch] {
		if via := p.own(port); via != p.home[h.Dst].group {
			head := h
			head.State = viaState(uint32(via), p.detourVC) | localDone
			p.exploreOnward(vcs, head, 0, yield)
		}
	}
}
