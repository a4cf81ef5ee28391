package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// crossing is the channel from one group to another: its port, and the switches
// at its ends. Where there are several, none is known beforehand: port is
// topology.NoPort, and ends compare as unequal to any switch; the hop counts of
// paths are then those of the longest.
type crossing struct {
	port        topology.PortID
	exit, entry topology.SwitchID
}

const (
	unknownExit  topology.SwitchID = -1
	unknownEntry topology.SwitchID = -2
)

// findCrossings tabulates the crossings of all pairs of groups, from*groups+to.
func (w *groupWalk) findCrossings(grouped topology.Grouped) []crossing {
	all := make([]crossing, w.groups*w.groups)
	for from := range w.groups {
		for to := range w.groups {
			c := crossing{topology.NoPort, unknownExit, unknownEntry}
			if from == to {
				continue
			}
			if ports := grouped.Gateways(from, to); len(ports) == 1 {
				peer, _ := w.graph.PeerPort(ports[0])
				c = crossing{ports[0], w.graph.PortSwitch[ports[0]], w.graph.PortSwitch[peer]}
			}
			all[from*w.groups+to] = c
		}
	}
	return all
}

// crossing is the channel from one group to another.
func (u *ugal) crossing(from, to int32) *crossing {
	return &u.crossings[int(from)*u.groups+int(to)]
}

// minimalHops is the length of the minimal path to another group of a packet at
// h.Switch, whose state behind the first hop is given; or the number of its
// global hops, where those are the weight.
func (u *ugal) minimalHops(h *fabric.Head, state uint32) int {
	if u.globalHops {
		return 1
	}
	target := &u.home[h.Dst]
	c := u.crossing(u.at[h.Switch].group, target.group)
	return localHop(state) + 1 + apart(c.entry, target.sw)
}

// detourHops is likewise that of the path by way of via, a group or a switch.
func (u *ugal) detourHops(h *fabric.Head, state, via uint32) int {
	if u.globalHops {
		return 2
	}
	here, target := u.at[h.Switch].group, &u.home[h.Dst]
	there := target.group
	if !u.viaSwitch {
		in, out := u.crossing(here, int32(via)), u.crossing(int32(via), there)
		return localHop(state) + 1 + apart(in.entry, out.exit) + 1 + apart(out.entry, target.sw)
	}
	s := topology.SwitchID(via)
	between := u.at[s].group
	hops := localHop(state) + 1 + apart(u.crossing(here, between).entry, s)
	if between == there {
		return hops + apart(s, target.sw)
	}
	out := u.crossing(between, there)
	return hops + apart(s, out.exit) + 1 + apart(out.entry, target.sw)
}

// localHop is 1 if the first hop is a local one.
func localHop(state uint32) int { return int(state & localDone / localDone) }

// apart is the number of hops between two switches of a group.
func apart(a, b topology.SwitchID) int {
	if a == b {
		return 0
	}
	return 1
}
