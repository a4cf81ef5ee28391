package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

func init() {
	Register("dor", "dimension order on HyperX: one hop in each dimension that differs", Use{On: AllToAll}, struct{}{}, newHyperXDOR)
}

// hyperXDOR is dimension-order routing on HyperX (Ahn et al., SC 2009): the lowest
// dimension first, one hop in each, by one of parallel cables at random.
//
// Deadlock: a dimension takes one hop, so that a channel is only ever followed by one
// of a higher dimension. One virtual channel suffices; all may be used everywhere.
type hyperXDOR struct{ *hammingWalk }

func newHyperXDOR(_ struct{}, env Env) (fabric.Routing, error) {
	walk, err := newHammingWalk("dor", env)
	if err != nil {
		return nil, err
	}
	return &hyperXDOR{walk}, checkVCs("dor", 1, env)
}

func (r *hyperXDOR) VCs() int { return 1 }

func (r *hyperXDOR) InjectionVCs(vcs int) uint32 { return allVCs(vcs) }

func (r *hyperXDOR) IgnoresTerminals() bool { return true }

func (r *hyperXDOR) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	port, _, ok := r.next(h, r.home[h.Dst], false, v.Random(h.Switch))
	if !ok {
		port = r.graph.TerminalPort[h.Dst]
	}
	return fabric.Hop{Port: port, VCs: v.AllVCs()}
}

func (r *hyperXDOR) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	t, ok := r.turn(h.Switch, r.home[h.Dst])
	if !ok {
		t = trunk{r.graph.TerminalPort[h.Dst], 1}
	}
	for i := range t.count {
		yield(fabric.Hop{Port: t.port + topology.PortID(i), VCs: allVCs(vcs)}, h.State, 1/float64(t.count))
	}
}
