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
	Gateway  string `toml:"gateway" doc:"which of several channels to the next group: random for each packet, or hashed by its destination" choices:"random|hashed"`
	GlobalVC string `toml:"global_vc" doc:"virtual channel on a global channel: the next, that of the group it leads to; or same, that of the group it leaves" choices:"next|same"`
}

func defaultGroups() GroupSettings {
	return GroupSettings{Gateway: "random", GlobalVC: "next"}
}

// groupWalk leads packets minimally through a topology of fully connected
// groups: at most a local hop to a switch with a channel into the next group,
// the global hop, and a local hop there. On the way it raises the virtual
// channel ("level") at each global hop. Memory: 12 bytes a (switch, group)
// and 4 a (switch, global channel of its group).
type groupWalk struct {
	graph     *topology.Graph
	groups    int
	width     int                 // switches of the largest group
	home      []topology.SwitchID // len = terminals
	group     []int32             // len = switches
	member    []int32             // len = switches: index within the group
	size      []int32             // len = groups: switches
	switches  []topology.SwitchID // len = groups*width: by group and index
	local     []topology.PortID   // len = switches*width: port of s to the member of its group
	ways      []way               // len = switches*groups
	exits     []topology.PortID   // lists of the ways that have several
	hashed    bool                // gateways chosen by destination
	sameVC    bool                // global channels keep the level of the group they leave
	viaSwitch bool                // the intermediate is a switch, not a group
}

// way is how a switch sends packets to another group: by one of its own global
// channels or by a local hop to a switch that has one.
type way struct {
	only  topology.PortID // the choice, if there is just one
	first int32           // choices are exits[first:first+count], own global ports first
	count uint16
	own   uint16 // global ports of this switch among them
}

// newGroupWalk prepares the tables for routing name.
func newGroupWalk(name string, env Env, set GroupSettings) (*groupWalk, error) {
	grouped, ok := env.Topology.(topology.Grouped)
	if !ok {
		return nil, lacks(name, "groups", env)
	}
	g := env.Topology.Graph()
	w := &groupWalk{
		graph: g, groups: grouped.Groups(), home: homes(g),
		group: make([]int32, g.Switches()), member: make([]int32, g.Switches()), size: make([]int32, grouped.Groups()),
		hashed: set.Gateway == "hashed", sameVC: set.GlobalVC == "same",
	}
	if w.groups > 1<<16 {
		return nil, fmt.Errorf("routing %q handles at most %d groups; this topology has %d", name, 1<<16, w.groups)
	}
	for s := range w.group {
		group := grouped.GroupOf(topology.SwitchID(s))
		w.group[s], w.member[s] = int32(group), w.size[group]
		w.size[group]++
		w.width = max(w.width, int(w.size[group]))
	}
	w.switches = make([]topology.SwitchID, w.groups*w.width)
	for s := range w.group {
		w.switches[int(w.group[s])*w.width+int(w.member[s])] = topology.SwitchID(s)
	}
	if err := w.findLocal(name, grouped); err != nil {
		return nil, err
	}
	return w, w.findWays(name, grouped)
}

// members lists the switches of a group.
func (w *groupWalk) members(group int) []topology.SwitchID {
	return w.switches[group*w.width:][:w.size[group]]
}

func (w *groupWalk) findLocal(name string, grouped topology.Grouped) error {
	w.local = make([]topology.PortID, len(w.group)*w.width)
	for s := range w.group {
		from := topology.SwitchID(s)
		for i, to := range w.members(int(w.group[s])) {
			p := topology.NoPort
			if to != from {
				if p = grouped.LocalTo(from, to); p == topology.NoPort {
					return fmt.Errorf("routing %q needs a channel between any two switches of a group; %s and %s have none", name, w.graph.SwitchName(from), w.graph.SwitchName(to))
				}
			}
			w.local[s*w.width+i] = p
		}
	}
	return nil
}

func (w *groupWalk) findWays(name string, grouped topology.Grouped) error {
	w.ways = make([]way, len(w.group)*w.groups)
	for from := range w.groups {
		for to := range w.groups {
			if from == to {
				continue
			}
			gateways := grouped.Gateways(from, to)
			if len(gateways) == 0 {
				return fmt.Errorf("routing %q needs a channel between any two groups; groups %d and %d have none", name, from, to)
			}
			for _, s := range w.members(from) {
				w.ways[int(s)*w.groups+to] = w.wayFrom(s, gateways)
			}
		}
	}
	return nil
}

// wayFrom lists how switch s reaches the given global ports of its group.
func (w *groupWalk) wayFrom(s topology.SwitchID, gateways []topology.PortID) way {
	out := way{first: int32(len(w.exits)), count: uint16(len(gateways))}
	for _, p := range gateways {
		if w.graph.PortSwitch[p] == s {
			w.exits = append(w.exits, p)
			out.own++
		}
	}
	for _, p := range gateways {
		if owner := w.graph.PortSwitch[p]; owner != s {
			w.exits = append(w.exits, w.local[int(s)*w.width+int(w.member[owner])])
		}
	}
	out.only = w.exits[out.first]
	if out.count == 1 {
		w.exits = w.exits[:out.first]
	}
	return out
}

// launchMinimal starts a packet on its minimal path on virtual channel vc.
func launchMinimal(h *fabric.Head, vc uint32) { h.State = launched | vc<<levelShift }

// launchVia starts a packet on virtual channel vc towards an intermediate
// group, or switch where the walk says so.
func launchVia(h *fabric.Head, via, vc uint32) {
	h.State = launched | detouring | fabric.NonMinimal | vc<<levelShift | via
}

// sourceGroups are the groups of the switch that h is at and of its
// destination.
func (w *groupWalk) sourceGroups(h *fabric.Head) (here, there int32) {
	return w.group[h.Switch], w.group[w.home[h.Dst]]
}

// aim updates h.State for the switch that the packet has come to and tells
// where it goes from there: out of a port or, where the port is NoPort, by a
// way out of the group.
func (w *groupWalk) aim(h *fabric.Head) (topology.PortID, *way) {
	s, target := h.Switch, w.home[h.Dst]
	here, to := w.group[s], w.group[target]
	if h.State&detouring != 0 {
		via := h.State & viaMask
		switch {
		case !w.viaSwitch && here != int32(via):
			to = int32(via)
		case w.viaSwitch && s != topology.SwitchID(via):
			target = topology.SwitchID(via)
			to = w.group[target]
		case w.viaSwitch:
			h.State = h.State&^detouring + 1<<levelShift
		default:
			h.State &^= detouring
		}
	}
	switch {
	case here != to:
		return topology.NoPort, &w.ways[int(s)*w.groups+int(to)]
	case s == target:
		return w.graph.TerminalPort[h.Dst], nil
	}
	return w.local[int(s)*w.width+int(w.member[target])], nil
}

// next moves a launched packet on.
func (w *groupWalk) next(h *fabric.Head, vcs int, random *sim.Stream) fabric.Hop {
	port, out := w.aim(h)
	if out == nil {
		return fabric.Hop{Port: port, VCs: oneVC(h.State&levelMask>>levelShift, vcs)}
	}
	choice := 0
	if n := out.open(h.State); n > 1 {
		if w.hashed {
			choice = w.hashedGateway(h, n)
		} else {
			choice = random.IntN(n)
		}
	}
	return w.leave(h, out, choice, vcs)
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

func (w *groupWalk) hashedGateway(h *fabric.Head, n int) int {
	return spread(uint32(h.Dst)<<1|h.State&localDone>>16, n)
}

// leave takes one choice of a way.
func (w *groupWalk) leave(h *fabric.Head, out *way, choice, vcs int) fabric.Hop {
	port := out.only
	if out.count > 1 {
		port = w.exits[int(out.first)+choice]
	}
	level := h.State & levelMask >> levelShift
	if choice >= int(out.own) {
		h.State |= localDone
		return fabric.Hop{Port: port, VCs: oneVC(level, vcs)}
	}
	h.State = h.State&^localDone + 1<<levelShift
	if !w.sameVC {
		level++
	}
	return fabric.Hop{Port: port, VCs: oneVC(level, vcs)}
}

// explore lists what next could do with a launched packet, with probabilities
// that add up to weight.
func (w *groupWalk) explore(vcs int, h fabric.Head, weight float64, yield func(fabric.Hop, uint32, float64)) {
	port, out := w.aim(&h)
	if out == nil {
		yield(fabric.Hop{Port: port, VCs: oneVC(h.State&levelMask>>levelShift, vcs)}, h.State, weight)
		return
	}
	n := out.open(h.State)
	if w.hashed {
		hop := w.leave(&h, out, w.hashedGateway(&h, n), vcs)
		yield(hop, h.State, weight)
		return
	}
	for choice := range n {
		head := h
		hop := w.leave(&head, out, choice, vcs)
		yield(hop, head.State, weight/float64(n))
	}
}
