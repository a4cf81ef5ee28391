package routing

import (
	"github.com/weft-sim/weft/fabric/topology"
)

// Directions of channels between switches that have ranks, in the order in which paths use
// them.
const (
	climbs uint32 = iota
	crosses
	descends
	directions
)

// turns numbers virtual-channel classes by the turns of a path instead of its hops, on
// networks whose switches have ranks ([topology.Ranked]): the class rises where a packet
// climbs or crosses after it has crossed or descended.
//
// Deadlock: sort the channels of a class: those that climb by the rank that they lead to,
// then those that cross, then those that descend by the rank that they leave, downwards. A
// packet takes them in this order, one that crosses at most, before its class rises; so no
// chain of dependencies returns to where it began. On the Megafly and the orthogonal fat
// tree minimal paths need one class, detours two, as the Megafly's authors say (Flajslik,
// Borch and Parker, ISC 2018).
type turns struct{ direction []uint8 } // len = ports

// newTurns reads the ranks.
func newTurns(x topology.Ranked) *turns {
	g := x.Graph()
	t := &turns{make([]uint8, g.NumPorts())}
	for p := range topology.PortID(g.NumPorts()) {
		peer, ok := g.PeerPort(p)
		if !ok {
			continue
		}
		switch here, there := x.Rank(g.PortSwitch[p]), x.Rank(g.PortSwitch[peer]); {
		case there == here:
			t.direction[p] = uint8(crosses)
		case there < here:
			t.direction[p] = uint8(descends)
		}
	}
	return t
}

// step is the class of a hop by port p, and the state after it. made is that before it, 0 at
// the source: class and last direction.
func (t *turns) step(made uint32, p topology.PortID) (class, after uint32) {
	last, next := made%directions, uint32(t.direction[p])
	class = made / directions
	if next < last || next == crosses && last == crosses {
		class++
	}
	return class, class*directions + next
}

// byTurns changes the classes of paths that lead over so many legs, each from leaf to leaf,
// if env's switches have ranks and that takes fewer of them. It is called when the number of
// hops has been set. Paths of a file, and those around faults, keep their hop numbers: they
// need not climb and descend.
func (p *hopPaths) byTurns(env Env, legs int) {
	ranked, ok := env.Topology.(topology.Ranked)
	if !ok || p.HopVCs != "numbered" || p.NextHops != "" || p.down != nil || legs >= p.classes {
		return
	}
	p.turns, p.classes = newTurns(ranked), legs // each leg: one class, as Ranked says
	p.assign()
}
