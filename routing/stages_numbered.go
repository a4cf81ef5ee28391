package routing

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// anyWay is a routing that leaves at every switch by any port, on the virtual channels of
// the hop's number, for as many hops as there are classes. Its dependencies include those
// of every routing that numbers hops alike, whatever the state of the network or a packet's
// ends have it choose: it stands for adaptive routings whose walks have no goals to
// follow. It is walked, not run.
type anyWay struct {
	graph   *topology.Graph
	classes int
	set     func(class, vcs int) uint32
}

// numberedStages are the stages of a routing whose hops are numbered from 0 on and use the
// virtual channels of set for their numbers: one, which ends nowhere.
func numberedStages(g *topology.Graph, classes int, set func(class, vcs int) uint32) (fabric.Routing, []Stage) {
	r := &anyWay{g, classes, set}
	return r, []Stage{{
		Goals: 1,
		Start: func(int, topology.SwitchID) (uint32, bool) { return 0, true },
		Head:  func(_ int, _ topology.SwitchID, state uint32) (topology.TerminalID, uint32) { return 0, state },
		Ends:  toDestination,
		Counts: &Counts{31, func(vcs int, count uint32) (uint32, uint32) {
			if int(count) >= classes {
				return 0, 0
			}
			return set(int(count), vcs), count + 1
		}},
	}}
}

// VCs implements [fabric.Routing].
func (r *anyWay) VCs() int { return r.classes }

// InjectionVCs implements [fabric.Routing].
func (r *anyWay) InjectionVCs(vcs int) uint32 { return allVCs(vcs) }

// Route implements [fabric.Routing].
func (r *anyWay) Route(_ *fabric.View, h *fabric.Head) fabric.Hop {
	panic(fmt.Sprintf("routing: %T leads nowhere", r))
}

// Explore implements [fabric.Explorer].
func (r *anyWay) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	if int(h.State) >= r.classes {
		return
	}
	first, end := r.graph.Ports(h.Switch)
	for p := first; p < end; p++ {
		if _, ok := r.graph.PeerPort(p); ok {
			yield(fabric.Hop{Port: p, VCs: r.set(int(h.State), vcs)}, h.State+1, 0)
		}
	}
}

// Stages implements [Staged].
func (r *polarized) Stages() (fabric.Routing, []Stage) { return r.hopPaths.numberedStages(r) }

// Stages implements [Staged].
func (u *ugalPF) Stages() (fabric.Routing, []Stage) { return u.hopPaths.numberedStages(u) }

// numberedStages are those of a routing r whose hops go by the numbers of p, however it
// chooses among ports.
func (p *hopPaths) numberedStages(r fabric.Routing) (fabric.Routing, []Stage) {
	if p.counted == 0 || p.turns != nil {
		return r, nil
	}
	return numberedStages(p.graph, p.classes, func(class, vcs int) uint32 { return p.sets[vcs][class] })
}

// Stages implements [Staged].
func (q *qAdaptive) Stages() (fabric.Routing, []Stage) {
	return numberedStages(q.graph, qClasses, func(class, vcs int) uint32 { return q.vcSet(uint32(class), vcs) })
}
