package routing

import (
	"errors"
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// UGALSettings are the settings that the UGAL family shares.
type UGALSettings struct {
	Sensing      string `toml:"sensing" doc:"what a queue length is: flits waiting in the switch for the output; credits outstanding behind it; or both" choices:"waiting|credits|both"`
	Threshold    int    `toml:"threshold" doc:"offset T: minimal if q_m*H_m <= q_nm*H_nm + T" unit:"flits" min:"-1000000" max:"1000000"`
	Candidates   int    `toml:"candidates" doc:"Valiant paths drawn for each packet; the best is compared" min:"1" max:"64"`
	Intermediate string `toml:"intermediate" doc:"what Valiant paths lead through: a group or a router, neither of the source's group nor of the destination's; or any-router, which sends minimally if it is of the source's group" choices:"group|router|any-router"`
	Decision     string `toml:"decision" doc:"decisions of a cycle at a switch: greedy, all of them see the queues at its beginning; sequential, each sees those made before it" choices:"greedy|sequential"`
	Weight       string `toml:"weight" doc:"what queue lengths are multiplied by: hops of the path, or global-hops (1 and 2)" choices:"hops|global-hops"`
	DecidedAt    string `toml:"decided_at" doc:"where: at the terminal, a cycle before the packet enters its channel, whose virtual channel is then that of the path; or at the switch, as the packet arrives, on any virtual channel" choices:"terminal|switch"`
	GroupSettings
}

func defaultUGAL() UGALSettings {
	return UGALSettings{
		Sensing: "waiting", Candidates: 1, Intermediate: "group", Decision: "greedy", DecidedAt: "terminal", Weight: "hops",
		GroupSettings: defaultGroups(),
	}
}

// ugal is what the UGAL family shares (Singh 2005; Kim, Dally, Scott, Abts, ISCA 2008, section 4):
// at its source switch a packet is compared on the minimal path and on Valiant paths drawn at
// random, by queue length times hop count, and goes minimally if
//
//	q_m * H_m <= q_nm * H_nm + T
//
// for all of them, otherwise by the one with the smallest right-hand side. The
// members of the family differ in the queues that they look at (gauge). Kim et al. compare one hop
// with two (section 3): weight = "global-hops"; the default counts all hops of a path. Packets
// within a group go minimally.
//
// Virtual channels, with L and G for local and global channels: Valiant packets use L0 G1 L1 G2 L2,
// minimal ones enter that sequence at L1. So the queues at the source tell one kind from the other.
// Intermediate routers make it L0 G1 L1 L2 G3 L3, and minimal packets enter at L2. With global_vc =
// "same" a global channel has the number of the group it leaves. A packet never waits for a channel
// to the left of one that it holds, so there is no cycle; 3 virtual channels suffice, 4 with
// intermediate routers.
//
// BookSim2's own assignment is described at [newUGALL].
type ugal struct {
	*groupWalk
	gauge
	sense      sensing
	crossings  []crossing // len = groups*groups
	settings   UGALSettings
	flat       bool
	anyRouter  bool
	globalHops bool
	// idleSuffices: a minimal path without cost is taken whatever the others are; only an
	// intermediate is drawn.
	idleSuffices bool
	again        bool // switches compare packets again
}

// gauge is what a member of the family measures.
type gauge interface {
	// costs are the costs of two paths of a packet at h.Switch, to be compared.
	costs(u *ugal, v *fabric.View, h *fabric.Head, minimal, detour candidate) (m, nm int)
	// idle tells, without the lengths of paths, that the minimal one costs nothing and no Valiant
	// one less. False is always allowed.
	idle(u *ugal, v *fabric.View, h *fabric.Head, minimal candidate) bool
}

// candidate is a path for a packet: first hop, state behind it, and length.
type candidate struct {
	hop    fabric.Hop
	launch uint32 // the packet's state before its first hop
	state  uint32 // and behind it
	hops   int    // switch to switch, or global ones only
}

// vc is the lowest virtual channel that the first hop may use.
func (c candidate) vc() int { return bits.TrailingZeros32(c.hop.VCs) }

// newUGAL is for routing name, which compares paths by gauge g.
func newUGAL(name string, set UGALSettings, env Env, g gauge) (*ugal, error) {
	walk, err := newGroupWalk(name, env, set.GroupSettings)
	if err != nil {
		return nil, err
	}
	if err := walk.lead(name, set.Intermediate); err != nil {
		return nil, err
	}
	u := &ugal{
		groupWalk: walk, gauge: g, settings: set, crossings: walk.findCrossings(walk.grouped),
		sense: senses[set.Sensing], anyRouter: set.Intermediate == "any-router", globalHops: set.Weight == "global-hops",
	}
	u.idleSuffices = set.Threshold >= 0 && (!walk.choices || walk.hashed)
	u.minimalVC, u.localVC = uint32(u.classes-2), uint32(u.classes-2)
	if u.anyRouter && env.Down != nil {
		return nil, &param.ParamError{Key: "intermediate", Value: set.Intermediate, Want: `"group" or "router" in a network with faults`}
	}
	return u, errors.Join(CheckVCs(name, u.classes, env), walk.joins(name, true))
}

// remoteGauge is implemented by gauges that read the state of other switches, beyond the group or
// not.
type remoteGauge interface{ readsBeyondGroup() bool }

func (u *ugal) ReadsWithin(part []int) bool {
	remote, ok := u.gauge.(remoteGauge)
	if !ok {
		return true
	}
	if remote.readsBeyondGroup() {
		return false
	}
	of := make([]int, len(u.crossings)) // part of each group, + 1
	for s := range part {
		g := u.at[s].group
		if of[g] == 0 {
			of[g] = part[s] + 1
		}
		if of[g] != part[s]+1 {
			return false
		}
	}
	return true
}

// Needs implements [fabric.Needer]. Terminals decide before switches in a cycle; switches mostly
// look at nothing.
func (u *ugal) Needs() fabric.Needs {
	departs := u.settings.DecidedAt == "terminal"
	return fabric.Needs{Queues: true, Crossed: u.sense == senseBoth, Departs: departs, Greedy: u.settings.Decision == "greedy" && (u.again || !departs)}
}

func (u *ugal) IdleSettings() []param.IdleSetting {
	return append(u.groupWalk.IdleSettings(), decidedAlone(u.settings.DecidedAt == "terminal" && !u.again)...)
}

// decidedAlone is the settings of UGAL that change nothing where terminals alone decide.
func decidedAlone(alone bool) []param.IdleSetting {
	if !alone {
		return nil
	}
	return []param.IdleSetting{{Key: "decision", Because: "terminals decide, which see what the cycle before has left (routing.decided_at)"}}
}

func (u *ugal) Depart(v *fabric.View, h *fabric.Head) uint32 {
	if u.staysInside(h) {
		return u.vcSet(level(h.State), v.VCs())
	}
	if u.cutOff(h) {
		if detour, ok := u.detour(v, h); ok {
			h.State = detour.launch
		} else {
			launchMinimal(h, u.minimalVC) // to be discarded
		}
	} else {
		h.State = u.decide(v, h, u.minimal(v, h, u.minimalVC)).launch
	}
	return u.vcSet(level(h.State), v.VCs())
}

func (u *ugal) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	if h.State != 0 {
		return u.follow(v, h)
	}
	if u.staysInside(h) {
		return u.advance(h, v.VCs(), nil)
	}
	if u.cutOff(h) {
		detour, ok := u.detour(v, h)
		if !ok {
			return fabric.Discard
		}
		h.State = detour.state
		return detour.hop
	}
	best := u.decide(v, h, u.minimal(v, h, u.minimalVC))
	h.State = best.state
	return best.hop
}

// follow is advance for the path that all packets take at all switches.
func (u *ugal) follow(v *fabric.View, h *fabric.Head) fabric.Hop {
	if u.flat {
		return u.advance(h, v.VCs(), v.Random(h.Switch))
	}
	return u.next(h, v.VCs(), v.Random(h.Switch))
}

// staysInside launches a packet at its source if it is bound for the same group.
func (u *ugal) staysInside(h *fabric.Head) bool {
	here, there := u.sourceGroups(h)
	if here == there {
		launchMinimal(h, u.localVC)
	}
	return here == there
}

// cutOff tells whether faults have taken the minimal path of a packet at its source.
func (u *ugal) cutOff(h *fabric.Head) bool {
	return u.damage != nil && (u.lost(u.sourceGroups(h)) || !u.up(h.Switch))
}

func (u *ugal) advance(h *fabric.Head, vcs int, random *sim.Stream) fabric.Hop {
	hop := u.next(h, vcs, random)
	if u.flat && h.State&detouring != 0 {
		h.State &^= levelMask
		hop.VCs = u.vcSet(0, vcs)
	}
	return hop
}

func (u *ugal) decide(v *fabric.View, h *fabric.Head, minimal candidate) candidate {
	if u.idleSuffices && u.idle(u, v, h, minimal) {
		for range u.settings.Candidates { // the draws after them are as they would be
			u.drawIntermediate(h, v.Random(h.Switch))
		}
		return minimal
	}
	return u.best(v, h, minimal, func() (launch uint32, ok bool) {
		via, ok := u.drawIntermediate(h, v.Random(h.Switch))
		return viaState(via, u.detourVC), ok
	})
}

// best is a minimal path, or the best of the Valiant ones whose first states draw gives.
func (u *ugal) best(v *fabric.View, h *fabric.Head, minimal candidate, draw func() (launch uint32, ok bool)) candidate {
	minimal.hops = u.minimalHops(h, minimal.state)
	best, gain := minimal, u.settings.Threshold
	for range u.settings.Candidates {
		launch, ok := draw()
		if !ok {
			continue
		}
		via := launch & viaMask
		detour := u.begin(v, h, launch, u.groupOf(via))
		detour.hops = u.detourHops(h, detour.state, via)
		if m, nm := u.costs(u, v, h, minimal, detour); m-nm > gain {
			best, gain = detour, m-nm
		}
	}
	return best
}

// minimal is the minimal path of a packet at its source, launched on virtual channel vc.
func (u *ugal) minimal(v *fabric.View, h *fabric.Head, vc uint32) candidate {
	return u.begin(v, h, minimalState(vc), u.home[h.Dst].group)
}

// begin takes the first hop of a path from h.Switch to another group, for a packet launched in that
// state. The length is left open.
func (u *ugal) begin(v *fabric.View, h *fabric.Head, launch uint32, group int32) candidate {
	step := u.leaving(&u.at[h.Switch], group)
	if step < 0 {
		head := fabric.Head{Switch: h.Switch, Dst: h.Dst, State: launch}
		step = u.draw(&head, u.way(h.Switch, step), v.Random(h.Switch))
	}
	vc, state := u.pass(launch, step)
	if u.flat && launch&detouring != 0 {
		vc, state = 0, state&^levelMask
	}
	return candidate{hop: fabric.Hop{Port: topology.PortID(step >> stepBits), VCs: u.vcSet(vc, v.VCs())}, launch: launch, state: state}
}

// groupOf is the group of an intermediate group or switch.
func (u *ugal) groupOf(via uint32) int32 {
	if u.viaSwitch {
		return u.at[via].group
	}
	return int32(via)
}

// detour draws a Valiant path for a packet without a minimal path; not ok if there is none.
func (u *ugal) detour(v *fabric.View, h *fabric.Head) (c candidate, ok bool) {
	via, ok := u.drawIntermediate(h, v.Random(h.Switch))
	if !ok || !u.up(h.Switch) {
		return c, false
	}
	return u.begin(v, h, viaState(via, u.detourVC), u.groupOf(via)), true
}

// drawIntermediate draws a group or switch to go by; not ok if a detour by it is none.
func (u *ugal) drawIntermediate(h *fabric.Head, random *sim.Stream) (via uint32, ok bool) {
	if !u.anyRouter {
		return u.drawVia(h, random)
	}
	router := &u.home[random.IntN(len(u.home))]
	return uint32(router.sw), router.group != u.at[h.Switch].group
}

func (u *ugal) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	exploreDetours(u, true, vcs, h, yield)
}

// exploreOnward implements [detours]: it lists what advance could do.
func (u *ugal) exploreOnward(vcs int, h fabric.Head, weight float64, yield func(fabric.Hop, uint32, float64)) {
	u.groupWalk.exploreOnward(vcs, h, weight, func(hop fabric.Hop, state uint32, weight float64) {
		if u.flat && state&detouring != 0 {
			state &^= levelMask
			hop.VCs = u.vcSet(0, vcs)
		}
		yield(hop, state, weight)
	})
}

// eachDetour implements [detours]: what drawIntermediate draws from. The choice depends on the
// network.
func (u *ugal) eachDetour(h *fabric.Head, visit func(state uint32, share float64)) {
	if !u.anyRouter {
		u.groupWalk.eachDetour(h, visit)
		return
	}
	for s, at := range u.at {
		if at.group != u.at[h.Switch].group {
			visit(viaState(uint32(s), u.detourVC), 0)
		}
	}
}
