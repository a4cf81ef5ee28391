package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	Register("par", "PAR: as ugal-l-vch; packets sent minimally are compared again at every switch of the source group", Use{On: Groups},
		defaultUGAL(), newPAR)
	Register("ugal-pb", "piggyback: ugal-l-vch, overruled where just one path's global channel is congested", Use{On: Groups, Faults: true},
		PiggybackConfig{2, 3, defaultUGAL()}, newPiggyback)
	Register("par-own", "PAR as CODES has it: a gateway compares with its own other global channels only, by the queues of whole outputs", Use{On: Groups},
		defaultUGAL(), newOwnPAR)
}

// progressive is progressive adaptive routing (Jiang, Kim, Dally, ISCA 2009): a
// packet that was sent minimally, by a local hop, is compared again at the
// switch with the global channel, which sees that channel's own queue, and may
// still take a Valiant path from there. A decision for a Valiant path stands.
//
// Virtual channels: a packet diverted makes a second local hop in its source group, L0 L1 G2 L2 G3
// L3. Valiant packets from the source start at L1; minimal ones are L0 G3 L3. A packet never waits
// for a channel to the left of one that it holds: 4 virtual channels, 5 with intermediate routers.
//
// Choice that the paper leaves open: both comparisons are made as in UGAL-L_VCH.
type progressive struct{ *ugal }

func newPAR(config UGALSettings, env Env) (fabric.Routing, error) {
	u, err := newUGAL("par", config, env, hybridGauge)
	if err != nil {
		return nil, err
	}
	u.classes++
	u.again = true
	u.detourVC, u.localVC = 1, 0
	u.minimalVC++
	return progressive{u}, CheckVCs("par", u.classes, env)
}

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

func (p progressive) Depart(v *fabric.View, h *fabric.Head) uint32 {
	if !p.staysInside(h) {
		h.State = p.compare(v, h).launch
	}
	return p.vcSet(level(h.State), v.VCs())
}

func (p progressive) compare(v *fabric.View, h *fabric.Head) candidate {
	return p.decide(v, h, p.onwardHeld(v, h, minimalState(p.minimalVC)))
}

// atSource tells whether a packet that left its terminal as a minimal one is at its first switch.
func (p progressive) atSource(h *fabric.Head) bool {
	here, there := p.sourceGroups(h)
	return here != there && h.State&(localDone|fabric.NonMinimal) == 0
}

// onwardHeld is the minimal path of a packet launched at its source, on VC 0 if it starts with a
// local hop.
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

// resume puts the state of a packet at the gateway back on the minimal path's virtual channel.
func (p progressive) resume(state uint32) uint32 { return state&^levelMask | p.minimalVC<<levelShift }

func (p progressive) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	here, there := p.sourceGroups(&h)
	switch {
	case here == there || h.State != 0 && !undecided(h.State):
		p.ugal.Explore(vcs, h, yield)
	case undecided(h.State):
		resumed := h
		resumed.State = p.resume(h.State)
		p.exploreOnward(vcs, resumed, 0, yield)
		p.exploreEach(vcs, h, yield)
	default:
		launched := h
		launchMinimal(&launched, p.minimalVC)
		p.exploreOnward(vcs, launched, 0, func(hop fabric.Hop, state uint32, weight float64) {
			c := candidate{hop: hop, state: state}
			if undecided(state) {
				p.hold(&c, vcs)
			}
			yield(c.hop, c.state, weight)
		})
		p.exploreEach(vcs, h, yield)
	}
}

// exploreEach lists the first hops of all Valiant paths.
func (p progressive) exploreEach(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	p.eachDetour(&h, func(state uint32, _ float64) {
		head := h
		head.State = state
		p.exploreOnward(vcs, head, 0, yield)
	})
}

// PiggybackConfig holds the settings of routing "ugal-pb".
type PiggybackConfig struct {
	Factor float64 `toml:"factor" doc:"a global channel is congested if its queue is longer than so many times the mean of its switch's global channels, plus offset" min:"0" max:"1000"`
	Offset int     `toml:"offset" doc:"see factor" unit:"flits" min:"0" max:"1000000"`
	UGALSettings
}

// piggyback is piggyback routing (PB; Jiang, Kim, Dally, ISCA 2009): every switch tells its group,
// by a bit on the packets it sends, which of its global channels are congested: those whose queue
// exceeds factor times the mean of its global channels, plus offset. A source sends minimally if
// the Valiant path's global channel is congested and the minimal path's is not, by the Valiant path
// in the opposite case, and compares as UGAL-L_VCH otherwise.
//
// Deviation: the bits are known in the whole group at once; on the wire they
// would be as late as the local channel is long.
type piggyback struct {
	factor  float64
	offset  int
	globals [][]topology.PortID // by switch
}

func newPiggyback(config PiggybackConfig, env Env) (fabric.Routing, error) {
	p := &piggyback{factor: config.Factor, offset: config.Offset}
	u, err := newUGAL("ugal-pb", config.UGALSettings, env, p)
	if err != nil {
		return nil, err
	}
	p.globals = u.globals(env.Down)
	return u, nil
}

// globals lists the global ports of each switch that are up.
func (w *groupWalk) globals(down *topology.Down) [][]topology.PortID {
	all := make([][]topology.PortID, len(w.at))
	eachCable(w.graph, func(p topology.PortID, from, to topology.SwitchID) {
		if w.at[from].group != w.at[to].group && !down.Port(p) {
			all[from] = append(all[from], p)
		}
	})
	return all
}

func (p *piggyback) costs(u *ugal, v *fabric.View, h *fabric.Head, m, nm candidate) (int, int) {
	const prohibitive = 1 << 30
	congested := p.congested(u, v, h, m, u.home[h.Dst].group)
	if congested == p.congested(u, v, h, nm, u.groupOf(nm.state&viaMask)) {
		return hybridGauge.costs(u, v, h, m, nm)
	}
	if congested {
		return prohibitive, 0
	}
	return 0, prohibitive
}

func (p *piggyback) readsBeyondGroup() bool { return false }

// idle: if the minimal path's global channel is not congested, a Valiant path's can only favour the
// minimal one.
func (p *piggyback) idle(u *ugal, v *fabric.View, h *fabric.Head, m candidate) bool {
	return hybridGauge.idle(u, v, h, m) && !p.congested(u, v, h, m, u.home[h.Dst].group)
}

// congested tells whether the global channel by which a path leaves for group to is congested.
func (p *piggyback) congested(u *ugal, v *fabric.View, h *fabric.Head, c candidate, to int32) bool {
	excess := u.globalQueue(v, h, c, to) - p.offset
	if excess <= 0 {
		return false
	}
	globals := p.globals[u.gateway(h, c)]
	sum := 0
	for _, port := range globals {
		sum += u.sense.queue(v, port)
	}
	return float64(excess) > p.factor*float64(sum)/float64(len(globals))
}

// ownProgressive is progressive adaptive routing as CODES' dragonfly-dally has it: at its source
// switch a packet is compared as by UGAL-L. A minimal one is compared again at the gateway, with a
// path through a group to which the gateway has a channel of its own; so no packet takes two local
// hops in its source group.
//
// Virtual channels rise with each global hop, also of minimal packets: L0 G1 L1 and L0 G1 L1 G2 L2,
// or with global_vc = "same" L0 G0 L1 and L0 G0 L1 G1 L2; 3 of them. A packet never waits for a
// channel to the left of one that it holds.
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
