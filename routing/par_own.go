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
	own [][]int32 // by switch: groups that it has a channel of its own to
}

func newOwnPAR(config UGALSettings, env Env) (fabric.Routing, error) {
	if config.Intermediate != "group" {
		return nil, &param.ParamError{Key: "intermediate", Value: config.Intermediate, Want: `"group"`}
	}
	u, err := newUGAL("par-own", config, env, portGauge)
	if err != nil {
		return nil, err
	}
	u.minimalVC, u.localVC = 0, 0
	p := ownProgressive{u, make([][]int32, len(u.at))}
	for s := range p.own {
		first, end := u.graph.Ports(topology.SwitchID(s))
		for port := first; port < end; port++ {
			if peer, ok := u.graph.PeerPort(port); ok {
				if g := u.at[u.graph.PortSwitch[peer]].group; g != u.at[s].group {
					p.own[s] = append(p.own[s], g)
				}
			}
		}
	}
	return p, nil
}

// Needs implements [fabric.Needer]: switches decide, too.
func (p ownProgressive) Needs() fabric.Needs {
	needs := p.ugal.Needs()
	needs.Greedy = p.settings.Decision == "greedy"
	return needs
}

// Route implements [fabric.Routing].
func (p ownProgressive) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	if !undecided(h.State) {
		return p.ugal.Route(v, h)
	}
	there := p.home[h.Dst].group
	minimal := p.begin(v, h, h.State, there)
	minimal.hops = p.minimalHops(h, minimal.state)
	best, gain := minimal, p.settings.Threshold
	own, candidates := p.own[h.Switch], p.settings.Candidates
	if len(own) == 0 { // of a network whose groups are wider than a hop
		candidates = 0
	}
	for range candidates {
		via := own[v.Random(h.Switch).IntN(len(own))]
		if via == there {
			continue
		}
		detour := p.begin(v, h, viaState(uint32(via), p.detourVC)|localDone, via)
		detour.hops = p.detourHops(h, detour.state, uint32(via))
		if m, nm := p.costs(p.ugal, v, h, minimal, detour); m-nm > gain {
			best, gain = detour, m-nm
		}
	}
	h.State = best.state
	return best.hop
}

// Explore implements [fabric.Explorer].
func (p ownProgressive) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	p.ugal.Explore(vcs, h, yield)
	if !undecided(h.State) {
		return
	}
	for _, via := range p.own[h.Switch] {
		if via != p.home[h.Dst].group {
			head := h
			head.State = viaState(uint32(via), p.detourVC) | localDone
			p.exploreOnward(vcs, head, 0, yield)
		}
	}
}
