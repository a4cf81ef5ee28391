package routing

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// Layout of Head.State for the routings on grouped topologies. A packet is
// launched once, at its source switch, and from there on walks by
// groupWalk.next.
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

func defaultGroups() GroupSettings {
	return GroupSettings{Gateway: "random", GlobalVC: "next"}
}

// groupWalk leads packets minimally through a topology of fully connected
// groups: at most a local hop to a switch with a channel into the next group,
// the global hop, and a local hop there. On the way it raises the virtual
// channel ("level") at each global hop. A level is one virtual channel or, with
// spread_vcs, a class of several, which changes nothing in the order of levels
// that freedom from deadlock rests on. An output virtual channel that has been
// allocated is idle until its packet wins the switch, so that with
// vc_alloc_cycles = 1 one virtual channel cannot fill a channel. Memory: 4 bytes a (switch, group) and a
// (switch, switch of its group); where several channels join two groups, also 12
// a (switch, group) and 4 a (switch, global channel of its group).
type groupWalk struct {
	graph     *topology.Graph
	groups    int
	width     int                 // switches of the largest group
	home      []home              // len = terminals
	at        []seat              // len = switches
	size      []int32             // len = groups: switches
	switches  []topology.SwitchID // len = groups*width: by group and index
	steps     []int32             // len = switches*(groups+width): to each group, to each member of the own; see packStep
	several   []way               // those with a choice
	exits     []topology.PortID   // their ports
	hashed    bool                // gateways chosen by destination
	raise     uint32              // 1: global channels are on the level of the group they lead to; 0: of the one they leave
	viaSwitch bool                // the intermediate is a switch, not a group
	classes   int                 // virtual channels that the routing needs
	damage    *damage             // nil: no faults
	grouped   topology.Grouped    // what is left of the topology
	spread    bool                // classes use several virtual channels where there are more
}

// place is where a switch is.
type place struct {
	sw     topology.SwitchID
	group  int32
	member int32 // index within the group
}

// home is where a terminal is.
type home struct {
	place                 // of its switch
	port  topology.PortID // there
}

// seat is a switch and where its entries in groupWalk.steps begin.
type seat struct {
	place
	row int32
}

// way is how a switch can send packets to another group: by one of its own
// global channels or by a local hop to a switch that has one. Choices are
// exits[first:first+count], the own global ports first.
type way struct {
	first int32
	count int32
	own   int32
}

// packStep is the entry in groupWalk.steps of a step without choice: its port,
// and what kind it is. Steps with a choice are
// the complement of their number in groupWalk.several.
func packStep(port topology.PortID, kind int32) int32 { return int32(port)<<stepBits | kind }

const (
	within     int32 = 0 // to the destination, or a switch in its group
	toGateway  int32 = 2 // by a local channel, to a switch that has a global one
	leaveGroup int32 = 3 // by a global channel
	arrived    int32 = 4 // the switch is the destination's; the port is the terminal's
	stepBits         = 3
)

// toGroup and toMember are the places in steps of the step from switch s to
// another group or to a member of its own.
func (w *groupWalk) toGroup(s topology.SwitchID, group int32) int {
	return int(s)*(w.groups+w.width) + int(group)
}

func (w *groupWalk) toMember(s topology.SwitchID, member int32) int {
	return w.toGroup(s, int32(w.groups)+member)
}

// newGroupWalk prepares the tables for routing name.
func newGroupWalk(name string, env Env, set GroupSettings) (*groupWalk, error) {
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
	for t, s := range homes(g) {
		w.home = append(w.home, home{w.at[s].place, g.TerminalPort[t]})
	}
	w.grouped = w.suffer(grouped, env.Down)
	if err := w.findLocal(name, w.grouped); err != nil {
		return nil, err
	}
	return w, w.findWays(name, w.grouped)
}

// members lists the switches of a group.
func (w *groupWalk) members(group int) []topology.SwitchID {
	return w.switches[group*w.width:][:w.size[group]]
}

func (w *groupWalk) findLocal(name string, grouped topology.Grouped) error {
	w.steps = make([]int32, len(w.at)*(w.groups+w.width))
	for s := range w.at {
		w.at[s].row = int32(w.toGroup(topology.SwitchID(s), 0))
		from := topology.SwitchID(s)
		for i, to := range w.members(int(w.at[s].group)) {
			if !w.up(from) || !w.up(to) {
				w.steps[w.toMember(from, int32(i))] = nowhere
				continue
			}
			if to == from {
				w.steps[w.toMember(from, int32(i))] = arrived
				continue
			}
			p := grouped.LocalTo(from, to)
			if p == topology.NoPort {
				return fmt.Errorf("routing %q needs a channel between any two switches of a group; %s and %s have none%s", name, w.graph.SwitchName(from), w.graph.SwitchName(to), w.damage.hint())
			}
			w.steps[w.toMember(from, int32(i))] = packStep(p, within)
		}
	}
	return nil
}

func (w *groupWalk) findWays(name string, grouped topology.Grouped) error {
	for from := range w.groups {
		for to := range w.groups {
			if from == to {
				continue
			}
			gateways := grouped.Gateways(from, to)
			if len(gateways) == 0 && w.damage != nil {
				w.lose(from, to)
				continue
			}
			if len(gateways) == 0 {
				return fmt.Errorf("routing %q needs a channel between any two groups; groups %d and %d have none", name, from, to)
			}
			for _, s := range w.members(from) {
				if !w.up(s) {
					w.steps[w.toGroup(s, int32(to))] = nowhere
					continue
				}
				w.steps[w.toGroup(s, int32(to))] = w.wayFrom(s, gateways)
			}
		}
	}
	return nil
}

// wayFrom enters how switch s reaches the given global ports of its group.
func (w *groupWalk) wayFrom(s topology.SwitchID, gateways []topology.PortID) int32 {
	out := way{first: int32(len(w.exits)), count: int32(len(gateways))}
	for _, p := range gateways {
		if w.graph.PortSwitch[p] == s {
			w.exits = append(w.exits, p)
			out.own++
		}
	}
	for _, p := range gateways {
		if owner := w.at[w.graph.PortSwitch[p]]; owner.sw != s {
			w.exits = append(w.exits, topology.PortID(w.steps[w.toMember(s, owner.member)]>>stepBits))
		}
	}
	if out.count == 1 && w.damage == nil {
		only := w.exits[out.first]
		w.exits = w.exits[:out.first]
		if out.own == 1 {
			return packStep(only, leaveGroup)
		}
		return packStep(only, toGateway)
	}
	w.several = append(w.several, out)
	return ^int32(len(w.several) - 1)
}

// launchMinimal starts a packet on its minimal path on virtual channel vc.
func launchMinimal(h *fabric.Head, vc uint32) { h.State = minimalState(vc) }

func minimalState(vc uint32) uint32 { return launched | vc<<levelShift }

// launchVia starts a packet on a Valiant path.
func launchVia(h *fabric.Head, via, vc uint32) { h.State = viaState(via, vc) }

// sourceGroups are the groups of the switch that h is at and of its
// destination.
func (w *groupWalk) sourceGroups(h *fabric.Head) (here, there int32) {
	return w.at[h.Switch].group, w.home[h.Dst].group
}

// detour is where a packet on a detour goes from the switch that it has come
// to. It ends the detour where the intermediate group or switch has been
// reached.
func (w *groupWalk) detour(h *fabric.Head, target *place) (*place, int32) {
	via := h.State & viaMask
	switch {
	case !w.viaSwitch && w.at[h.Switch].group != int32(via):
		return target, int32(via)
	case w.viaSwitch && h.Switch != topology.SwitchID(via):
		target = &w.at[via].place
	case w.viaSwitch:
		h.State = h.State&^detouring + 1<<levelShift
	default:
		h.State &^= detouring
	}
	return target, target.group
}

// step is the entry of steps by which a packet at switch s goes on to a switch
// or group.
func (w *groupWalk) step(s topology.SwitchID, target *place, group int32) int32 {
	at := &w.at[s]
	// No branch: nothing predicts whether the group is the switch's own. In that
	// case, and only then, one less than their difference is negative.
	own := int32(uint32(group^at.group)-1) >> 31
	return w.steps[at.row+group+own&(target.member+int32(w.groups)-group)]
}

// level is the virtual channel that a packet in this state uses next.
func level(state uint32) uint32 { return state & levelMask >> levelShift }

// vcSet is the set of virtual channels of a level.
func (w *groupWalk) vcSet(level uint32, vcs int) uint32 {
	if w.spread {
		return classVCs(int(level), w.classes, vcs)
	}
	return oneVC(level, vcs)
}

// next moves a launched packet on.
func (w *groupWalk) next(h *fabric.Head, vcs int, random *sim.Stream) fabric.Hop {
	home := &w.home[h.Dst]
	target, group := &home.place, home.group
	if h.State&detouring != 0 {
		target, group = w.detour(h, target)
	}
	step := w.step(h.Switch, target, group)
	if step < 0 {
		out := &w.several[^step]
		if out.open(h.State) == 0 { // by faults only
			return fabric.Discard
		}
		step = w.draw(h, out, random)
	}
	return w.take(h, home.port, step, vcs)
}

// draw chooses one of several steps.
func (w *groupWalk) draw(h *fabric.Head, several *way, random *sim.Stream) int32 {
	n := several.open(h.State)
	if w.hashed {
		return w.choose(several, hashedGateway(h, n))
	}
	return w.choose(several, random.IntN(n))
}

// open is the number of choices that a way has for a packet in this state.
// Once a local hop has led to a switch with a channel of its own, only those
// are left. A random choice stays uniform over the gateways: the switch is
// chosen in proportion to its number of them.
func (out *way) open(state uint32) int {
	if state&localDone != 0 {
		return int(out.own)
	}
	return int(out.count)
}

// hashedGateway chooses one of n by destination, and anew after a local hop.
func hashedGateway(h *fabric.Head, n int) int {
	return spread(uint32(h.Dst)<<1|h.State&localDone>>16, n)
}

// choose is one choice of a way that has several.
func (w *groupWalk) choose(out *way, choice int) int32 {
	if choice < int(out.own) {
		return packStep(w.exits[int(out.first)+choice], leaveGroup)
	}
	return packStep(w.exits[int(out.first)+choice], toGateway)
}

// take sends a packet on its next step or, arrived, to its terminal, which is at
// that port.
func (w *groupWalk) take(h *fabric.Head, terminal topology.PortID, step int32, vcs int) fabric.Hop {
	port := topology.PortID(step>>stepBits) + terminal&-topology.PortID(step>>2&1)
	vc, state := w.pass(h.State, step)
	h.State = state
	return fabric.Hop{Port: port, VCs: w.vcSet(vc, vcs)}
}

// pass is the level on which a packet takes a step, and its state behind it.
func (w *groupWalk) pass(state uint32, step int32) (vc, after uint32) {
	// Branches on the kind of step cost more than arithmetic: nothing predicts
	// them. A local step to a gateway sets localDone; a global one carries it
	// over into the level.
	global, leaves := uint32(step)&1, uint32(step)>>1&1
	return level(state) + global&w.raise, (state | global*localDone) + leaves*localDone
}

// viaState is the state of a packet launched on virtual channel vc towards an
// intermediate group, or switch where the walk says so.
func viaState(via, vc uint32) uint32 {
	return launched | detouring | fabric.NonMinimal | vc<<levelShift | via
}

// explore lists what next could do with a launched packet, with probabilities
// that add up to weight.
func (w *groupWalk) explore(vcs int, h fabric.Head, weight float64, yield func(fabric.Hop, uint32, float64)) {
	before := h
	home := &w.home[h.Dst]
	target, group := &home.place, home.group
	if h.State&detouring != 0 {
		target, group = w.detour(&h, target)
	}
	step := w.step(h.Switch, target, group)
	if step >= 0 || w.hashed {
		hop := w.next(&before, vcs, nil) // nothing left to chance
		if hop != fabric.Discard {
			yield(hop, before.State, weight)
		}
		return
	}
	several := &w.several[^step]
	n := several.open(h.State)
	for choice := range n {
		head := h
		hop := w.take(&head, home.port, w.choose(several, choice), vcs)
		yield(hop, head.State, weight/float64(n))
	}
}

// Graph implements [fabric.GraphRouting].
func (w *groupWalk) Graph() *topology.Graph { return w.graph }
