package routing

import (
	"errors"
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/param"
)

// Layout of Head.State for the routings on grouped topologies. A packet is launched once, at its
// source switch, and from there on walks by groupWalk.next.
const (
	viaMask    uint32 = 1<<16 - 1       // intermediate group or switch, while detouring
	localDone  uint32 = 1 << 16         // a local hop towards the way out of this group lies behind
	levelShift        = 17              // present virtual channel, 3 bits
	levelMask  uint32 = 7 << levelShift //
	detouring  uint32 = 1 << 20         // the intermediate group or switch lies ahead
	launched   uint32 = 1 << 21         // the source has decided
)

// GroupSettings are the settings that the routings on groups share.
type GroupSettings struct {
	Gateway   string `toml:"gateway" doc:"which of several channels to the next group: random for each packet, or hashed by its destination" choices:"random|hashed"`
	GlobalVC  string `toml:"global_vc" doc:"virtual channel on a global channel: the next, that of the group it leads to; or same, that of the group it leaves" choices:"next|same"`
	SpreadVCs bool   `toml:"spread_vcs" doc:"divide all virtual channels evenly between the hop classes, where there are more of them than classes; otherwise each class uses one"`
}

func defaultGroups() GroupSettings { return GroupSettings{Gateway: "random", GlobalVC: "next"} }

// groupWalk leads packets minimally through a topology of fully connected groups: at most a local
// hop to a switch with a channel into the next group, the global hop, and a local hop there. On the
// way it raises the virtual channel ("level") at each global hop. A level is one virtual channel
// or, with spread_vcs, a class of several, which changes nothing in the order of levels that
// freedom from deadlock rests on. An output virtual channel that has been allocated is idle until
// its packet wins the switch, so that with vc_alloc_cycles = 1 one virtual channel cannot fill a
// channel.
type groupWalk struct {
	plain
	groupSteps
	graph     *topology.Graph
	groups    int
	width     int                 // switches of the largest group
	home      []home              // len = terminals
	at        []seat              // len = switches
	size      []int32             // len = groups: switches
	switches  []topology.SwitchID // len = groups*width: by group and index
	hashed    bool                // gateways chosen by destination
	raise     uint32              // 1: global channels are on the level of the group they lead to; 0: of the one they leave
	viaSwitch bool                // the intermediate is a switch, not a group
	classes   int                 // virtual channels that the routing needs
	damage    *damage             // nil: no faults
	grouped   topology.Grouped    // what is left of the topology
	spread    bool                // classes use several virtual channels where there are more

	// Virtual channels on which packets start: minimally, within their group, on a detour.
	minimalVC, localVC, detourVC uint32
}

type place struct {
	sw     topology.SwitchID
	group  int32
	member int32 // index within the group
}

type home struct {
	place                 // of its switch
	port  topology.PortID // there
}

// seat is a switch and where its entries in groupSteps.steps begin.
type seat struct {
	place
	row int32
}

// newGroupWalk is the walk of routing name, whose tables it shares with others of its settings.
func newGroupWalk(name string, env Env, set GroupSettings) (*groupWalk, error) {
	tables, err := Once(env, fmt.Sprintf("walk of %s %v", name, set), func() (*groupWalk, error) { return makeGroupWalk(name, env, set) })
	if err != nil {
		return nil, err
	}
	own := *tables
	return &own, nil
}

// makeGroupWalk prepares the tables for routing name.
func makeGroupWalk(name string, env Env, set GroupSettings) (*groupWalk, error) {
	grouped := env.Topology.(topology.Grouped)
	g := env.Topology.Graph()
	w := &groupWalk{
		graph: g, groups: grouped.Groups(), at: make([]seat, g.Switches()), size: make([]int32, grouped.Groups()),
		hashed: set.Gateway == "hashed", raise: 1, spread: set.SpreadVCs,
	}
	if set.GlobalVC == "same" {
		w.raise = 0
	}
	if w.groups > 1<<16 {
		return nil, fmt.Errorf("routing %q handles at most %d groups; this topology has %d", name, 1<<16, w.groups)
	}
	for s := range w.at {
		group := grouped.GroupOf(topology.SwitchID(s))
		w.at[s].place = place{topology.SwitchID(s), int32(group), w.size[group]}
		w.size[group]++
		w.width = max(w.width, int(w.size[group]))
	}
	w.switches = make([]topology.SwitchID, w.groups*w.width)
	for _, p := range w.at {
		w.switches[int(p.group)*w.width+int(p.member)] = p.sw
	}
	w.home = make([]home, g.Terminals())
	for t := range w.home {
		port := g.TerminalPort[t]
		w.home[t] = home{w.at[g.PortSwitch[port]].place, port}
	}
	w.grouped = w.suffer(grouped, env.Down)
	return w, w.findSteps(name, w.grouped)
}

func (w *groupWalk) members(group int) []topology.SwitchID {
	return w.switches[group*w.width:][:w.size[group]]
}

// launchMinimal starts a packet on its minimal path on virtual channel vc.
func launchMinimal(h *fabric.Head, vc uint32) { h.State = minimalState(vc) }

func minimalState(vc uint32) uint32 { return launched | vc<<levelShift }

func (w *groupWalk) sourceGroups(h *fabric.Head) (here, there int32) {
	return w.at[h.Switch].group, w.home[h.Dst].group
}

// heading is where a packet's next step leads: to its target, in a group, or to the intermediate group
// or switch of its detour, which ends there.
func (w *groupWalk) heading(h *fabric.Head, target *place, group int32) (*place, int32) {
	via := h.State & viaMask
	if !w.viaSwitch {
		// No branches: nothing predicts whether a packet is on its detour.
		apart := w.at[h.Switch].group ^ int32(via)
		elsewhere := uint32((apart | -apart) >> 31) // all ones outside of group via; 0 in it
		h.State &^= detouring &^ elsewhere
		return target, group ^ (group^int32(via))&-int32(h.State/detouring&1)
	}
	if h.State&detouring == 0 {
		return target, group
	}
	if h.Switch != topology.SwitchID(via) {
		target = &w.at[via].place
	} else {
		h.State = h.State&^detouring + 1<<levelShift
	}
	return target, target.group
}

// level is the virtual channel that a packet in this state uses next.
func level(state uint32) uint32 { return state & levelMask >> levelShift }

func (w *groupWalk) vcSet(level uint32, vcs int) uint32 {
	if w.spread {
		return ClassVCs(int(level), w.classes, vcs)
	}
	return OneVC(level, vcs)
}

func (w *groupWalk) next(h *fabric.Head, vcs int, random *sim.Stream) fabric.Hop {
	home := check.At(w.home, uint32(h.Dst))
	target, group := w.heading(h, &home.place, home.group)
	var step int32 // as step has it, which is not inlined
	if at := check.At(w.at, uint32(h.Switch)); w.pairs == nil {
		step = w.wholeStep(at, target, group)
	} else {
		step = w.sharedStep(at, target, group)
	}
	if step < 0 {
		out := w.way(h.Switch, step)
		if out.open(h.State) == 0 { // by faults only
			return fabric.Discard
		}
		step = w.draw(h, out, random)
	}
	return w.take(h, home.port, step, vcs)
}

// draw chooses one of several steps.
func (w *groupWalk) draw(h *fabric.Head, several way, random *sim.Stream) int32 {
	n := several.open(h.State)
	if w.hashed { // by destination, and anew after a local hop
		return w.choose(h.Switch, several, spread(uint32(h.Dst)<<1|h.State&localDone>>16, n))
	}
	return w.choose(h.Switch, several, random.IntN(n))
}

// take sends a packet on its next step or, arrived, to its terminal, which is at that port.
func (w *groupWalk) take(h *fabric.Head, terminal topology.PortID, step int32, vcs int) fabric.Hop {
	vc, state := w.pass(h.State, step)
	h.State = state
	return fabric.Hop{Port: portOf(step, terminal), VCs: w.vcSet(vc, vcs)}
}

// portOf is the port of a step; terminal is the port of a step that has arrived.
func portOf(step int32, terminal topology.PortID) topology.PortID {
	return topology.PortID(step>>stepBits) + terminal&-topology.PortID(step>>2&1)
}

// pass is the level on which a packet takes a step, and its state behind it.
func (w *groupWalk) pass(state uint32, step int32) (vc, after uint32) {
	// Arithmetic, as branches on the kind of step are unpredictable. A local step to a gateway sets
	// localDone; a global one carries it over into the level.
	global, leaves := uint32(step)&1, uint32(step)>>1&1
	return level(state) + global&w.raise, (state | global*localDone) + leaves*localDone
}

// viaState is the state of a packet launched on vc towards an intermediate group or switch.
func viaState(via, vc uint32) uint32 {
	return launched | detouring | fabric.NonMinimal | vc<<levelShift | via
}

// exploreOnward implements [detours]: the steps that next could take, with probabilities that add
// up to weight.
func (w *groupWalk) exploreOnward(vcs int, h fabric.Head, weight float64, yield func(fabric.Hop, uint32, float64)) {
	before := h
	home := &w.home[h.Dst]
	target, group := w.heading(&h, &home.place, home.group)
	step := w.step(h.Switch, target, group)
	if step >= 0 || w.hashed {
		hop := w.next(&before, vcs, nil) // nothing left to chance
		if hop != fabric.Discard {
			yield(hop, before.State, weight)
		}
		return
	}
	several := w.way(h.Switch, step)
	n := several.open(h.State)
	for choice := range n {
		head := h
		hop := w.take(&head, home.port, w.choose(h.Switch, several, choice), vcs)
		yield(hop, head.State, weight/float64(n))
	}
}

// lead makes detours pass a group or a router, and sets the virtual channels that they need.
func (w *groupWalk) lead(name, intermediate string) error {
	w.classes = 3
	if intermediate == "group" {
		return nil
	}
	w.viaSwitch, w.classes = true, 4
	if len(w.at) > 1<<16 {
		return fmt.Errorf("routing %q handles at most %d switches with intermediate = %q; this topology has %d", name, 1<<16, intermediate, len(w.at))
	}
	return nil
}

func (w *groupWalk) Graph() *topology.Graph { return w.graph }

func (w *groupWalk) VCs() int { return w.classes }

func (w *groupWalk) IgnoresTerminals() bool { return !w.hashed }

// Region implements [Regional].
func (w *groupWalk) Region(s topology.SwitchID) int { return int(w.at[s].group) }

func (w *groupWalk) Needs() fabric.Needs { return fabric.Needs{} }

func (w *groupWalk) UnusedSettings() []string { return nil }

func (w *groupWalk) IdleSettings() []param.IdleSetting {
	if w.choices {
		return nil
	}
	return []param.IdleSetting{{Key: "gateway", Because: "one channel at most joins two groups"}}
}

func (w *groupWalk) direct(h *fabric.Head) (state uint32, alone bool) {
	if here, there := w.sourceGroups(h); here == there {
		return minimalState(w.localVC), true
	}
	return minimalState(w.minimalVC), false
}

func (w *groupWalk) drawDetour(h *fabric.Head, random *sim.Stream) (state uint32, ok bool) {
	via, ok := w.drawVia(h, random)
	return viaState(via, w.detourVC), ok
}

func (w *groupWalk) eachDetour(h *fabric.Head, visit func(state uint32, share float64)) {
	here, there := w.sourceGroups(h)
	groups := 0
	w.between(here, there, func(int32) { groups++ })
	w.between(here, there, func(group int32) {
		share := 1 / float64(groups)
		if !w.viaSwitch {
			visit(viaState(uint32(group), w.detourVC), share)
			return
		}
		members := w.working(group)
		for _, s := range members {
			visit(viaState(uint32(s), w.detourVC), share/float64(len(members)))
		}
	})
}

func (w *groupWalk) onward(v *fabric.View, h *fabric.Head) fabric.Hop {
	return w.next(h, v.VCs(), v.Random(h.Switch))
}

// drawVia draws the intermediate group or switch of a Valiant path for a packet at its source; not
// ok if there is none.
func (w *groupWalk) drawVia(h *fabric.Head, random *sim.Stream) (via uint32, ok bool) {
	here, there := w.sourceGroups(h)
	if here == there || w.groups < 3 {
		return 0, false
	}
	var group int32
	if w.damage == nil {
		group = otherGroup(int32(random.IntN(w.groups-2)), here, there)
	} else if group, ok = w.drawAround(here, there, random); !ok {
		return 0, false
	}
	if !w.viaSwitch {
		return uint32(group), true
	}
	members := w.working(group)
	return uint32(members[random.IntN(len(members))]), true
}

func otherGroup(i, a, b int32) int32 {
	if i >= min(a, b) {
		i++
	}
	if i >= max(a, b) {
		i++
	}
	return i
}

// MinConfig holds the settings of routing "min".
type MinConfig struct {
	FirstVC int    `toml:"first_vc" doc:"virtual channel in the source group; the group behind the global hop uses the next one" min:"0" max:"6"`
	LocalVC string `toml:"local_vc" doc:"virtual channel of packets that stay in their group: first, that of packets that leave it, or last, that of those that come into it" choices:"first|last"`
	GroupSettings
}

func init() {
	Register("min", "minimal on groups: local, global, local hop; the virtual channel rises at the global hop", Use{On: Groups, Faults: true},
		MinConfig{LocalVC: "first", GroupSettings: defaultGroups()}, newMin)
}

// minimal is MIN on a dragonfly (Kim, Dally, Scott, Abts, ISCA 2008, section
// 4.1): a local hop to a switch with a channel into the destination's group,
// that channel, a local hop to the destination's switch; fewer where source or
// destination switch are gateways.
//
// Deadlock: write L and G for local and global channels and f for first_vc. A path is part of L_f
// G_f+1 L_f+1 (global_vc = "next") or L_f G_f L_f+1 ("same"); packets never wait for a channel left
// of one they hold, so there is no cycle. first_vc + 2 virtual channels suffice.
//
// global_vc = "next", first_vc = 0 is BookSim2's assignment: VC 1 on the global channel and behind
// it, VC 0 before and within a group. first_vc = 1 is the dragonfly paper's: minimal packets start
// on VC 1, apart from Valiant ones.
//
// local_vc = "last" puts packets within a group on L_f+1 alone, with packets that have arrived from
// other groups, as CODES' dragonfly-dally does (with global_vc = "same").
type minimal struct{ *groupWalk }

func newMin(config MinConfig, env Env) (fabric.Routing, error) {
	walk, err := newGroupWalk("min", env, config.GroupSettings)
	if err != nil {
		return nil, err
	}
	walk.classes = config.FirstVC + 2
	walk.minimalVC, walk.localVC = uint32(config.FirstVC), uint32(config.FirstVC)
	if config.LocalVC == "last" {
		walk.localVC++
	}
	return &minimal{walk}, errors.Join(CheckVCs("min", walk.classes, env), walk.joins("min", false))
}

func (m *minimal) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	// No branch: nothing predicts whether the packet is at its source.
	begun := uint32(int32(h.State|-h.State) >> 31)
	vc := m.minimalVC
	if m.localVC != vc && m.staysIn(h) {
		vc = m.localVC
	}
	state := h.State | minimalState(vc)&^begun
	home := check.At(m.home, uint32(h.Dst))
	var step int32 // as step has it, which is not inlined
	if at := check.At(m.at, uint32(h.Switch)); m.pairs == nil {
		step = m.wholeStep(at, &home.place, home.group)
	} else {
		step = m.sharedStep(at, &home.place, home.group)
	}
	if step < 0 {
		h.State = state
		return m.next(h, v.VCs(), v.Random(h.Switch))
	}
	vc, h.State = m.pass(state, step)
	return fabric.Hop{Port: portOf(step, home.port), VCs: m.vcSet(vc, v.VCs())}
}

func (m *minimal) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	if h.State == 0 {
		h.State, _ = m.direct(&h)
	}
	m.exploreOnward(vcs, h, 1, yield)
}

func (m *minimal) staysIn(h *fabric.Head) bool {
	here, there := m.sourceGroups(h)
	return here == there
}
