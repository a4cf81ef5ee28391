package main

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
)

func init() {
	routing.Register("chord-first", "minimal on chords: the chord, if the way is long, then the ring",
		routing.Use{On: routing.Has[*chords]("chords")}, struct{}{}, func(_ struct{}, env routing.Env) (fabric.Routing, error) {
			return &chordFirst{env.Topology.(*chords)}, nil
		})
}

// chordFirst goes over a chord first, if the ring alone would be longer.
//
// Deadlock: nothing enters a chord but at its source, so that chords wait for the ring and
// never the other way round. Each direction of the ring is cut where it comes back to
// switch 0: behind the cut packets are on virtual channel 1, and none goes round once more.
type chordFirst struct{ net *chords }

func (r *chordFirst) VCs() int { return 2 }

func (r *chordFirst) InjectionVCs(vcs int) uint32 { return 1<<vcs - 1 }

func (r *chordFirst) Graph() *topology.Graph { return r.net.graph }

func (r *chordFirst) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	return r.decide(v.VCs(), h)
}

// Explore implements [fabric.Explorer]: there is one way.
func (r *chordFirst) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	hop := r.decide(vcs, &h)
	yield(hop, h.State, 1)
}

func (r *chordFirst) decide(vcs int, h *fabric.Head) fabric.Hop {
	g, n, here := r.net.graph, r.net.size, int(h.Switch)
	first, _ := g.Ports(h.Switch)
	ahead := (int(g.TerminalSwitch(h.Dst)) - here + n) % n
	at, cut := up, n-1
	switch {
	case ahead == 0:
		return fabric.Hop{Port: g.TerminalPort[h.Dst], VCs: 1<<vcs - 1}
	case 4*min(ahead, n-ahead) > n+4 && g.LocalPort(h.In) == own:
		return fabric.Hop{Port: first + across, VCs: 1<<vcs - 1}
	case 2*ahead > n:
		at, cut = down, 0
	}
	if here == cut {
		h.State = 1
	}
	return fabric.Hop{Port: first + topology.PortID(at), VCs: 1 << h.State}
}
