package routing

import (
	"github.com/weft-sim/weft/fabric"
)

func init() {
	Register("par", "PAR: as ugal-l-vch; packets sent minimally are compared again at every switch of the source group", Use{On: Groups},
		UGALLConfig{defaultUGAL()}, newPAR)
}

// progressive is progressive adaptive routing (Jiang, Kim, Dally, ISCA 2009): a
// packet that was sent minimally, by a local hop, is compared again at the
// switch with the global channel, which sees that channel's own queue, and may
// still take a Valiant path from there. A decision for a Valiant path stands.
//
// Virtual channels: a packet diverted makes a second local hop in its source
// group, L0 L1 G2 L2 G3 L3. Valiant packets from the source start at L1; minimal
// ones are L0 G3 L3. A packet never waits for a channel to the left of one that
// it holds: 4 virtual channels, 5 with intermediate routers.
//
// Choice that the paper leaves open: either comparison is that of UGAL-L_VCH.
type progressive struct{ *ugal }

func newPAR(config UGALLConfig, env Env) (fabric.Routing, error) {
	u, err := newUGAL("par", config.UGALSettings, env, hybridGauge{})
	if err != nil {
		return nil, err
	}
	u.vcs++
	u.classes = u.vcs
	u.detourVC, u.localVC = 1, 0
	u.minimalVC++
	return progressive{u}, checkVCs("par", u.vcs, env)
}

// Needs implements [fabric.Needer]: switches decide, too.
func (p progressive) Needs() fabric.Needs {
	needs := p.ugal.Needs()
	needs.Greedy = p.settings.Decision == "greedy"
	return needs
}

// Route implements [fabric.Routing].
func (p progressive) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	switch {
	case h.State&fabric.NonMinimal != 0:
		return p.follow(v, h)
	case h.State == 0:
		if p.staysInside(h) {
			return p.advance(h, v.VCs(), nil)
		}
		best := p.compare(v, h)
		h.State = best.state
		return best.hop
	case p.atSource(h):
		c := p.onwardHeld(v, h, h.State)
		h.State = c.state
		return c.hop
	case undecided(h.State):
		best := p.decide(v, h, p.begin(v, h, p.resume(h.State), p.home[h.Dst].group))
		h.State = best.state
		return best.hop
	}
	return p.follow(v, h)
}

// Depart implements [fabric.Departer].
func (p progressive) Depart(v *fabric.View, h *fabric.Head) uint32 {
	if !p.staysInside(h) {
		h.State = p.compare(v, h).launch
	}
	return p.vcSet(level(h.State), v.VCs())
}

// compare decides about a packet at its source.
func (p progressive) compare(v *fabric.View, h *fabric.Head) candidate {
	return p.decide(v, h, p.onwardHeld(v, h, minimalState(p.minimalVC)))
}

// atSource tells whether a packet that left its terminal as a minimal one is
// at its first switch.
func (p progressive) atSource(h *fabric.Head) bool {
	here, there := p.sourceGroups(h)
	return here != there && h.State&(localDone|fabric.NonMinimal) == 0
}

// onwardHeld is the minimal path of a packet launched at its source. If that
// begins with a local hop, it does so on virtual channel 0.
func (p progressive) onwardHeld(v *fabric.View, h *fabric.Head, launch uint32) candidate {
	c := p.begin(v, h, launch, p.home[h.Dst].group)
	if undecided(c.state) {
		p.hold(&c, v.VCs())
	}
	return c
}

// hold moves a minimal first hop to virtual channel 0.
func (p progressive) hold(c *candidate, vcs int) {
	c.state &^= levelMask
	c.hop.VCs = p.vcSet(0, vcs)
}

// undecided tells whether a packet has come to the gateway of its minimal path.
func undecided(state uint32) bool { return state&(localDone|fabric.NonMinimal) == localDone }

// resume puts the state of a packet at the gateway back on the minimal path's
// virtual channel.
func (p progressive) resume(state uint32) uint32 {
	return state&^levelMask | p.minimalVC<<levelShift
}

// Explore implements [fabric.Explorer].
func (p progressive) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	here, there := p.sourceGroups(&h)
	switch {
	case here == there || h.State != 0 && !undecided(h.State):
		p.ugal.Explore(vcs, h, yield)
	case undecided(h.State):
		resumed := h
		resumed.State = p.resume(h.State)
		p.exploreAdvance(vcs, resumed, 0, yield)
		p.exploreDetours(vcs, h, yield)
	default:
		launched := h
		launchMinimal(&launched, p.minimalVC)
		p.exploreAdvance(vcs, launched, 0, func(hop fabric.Hop, state uint32, weight float64) {
			c := candidate{hop: hop, state: state}
			if undecided(state) {
				p.hold(&c, vcs)
			}
			yield(c.hop, c.state, weight)
		})
		p.exploreDetours(vcs, h, yield)
	}
}
