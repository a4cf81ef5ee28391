package routing

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/param"
)

// levels gives each service level of packets virtual channels of its own, on which they are
// routed as without the others: what torus-2QoS of OpenSM does with two. Level l has channels
// l*k to (l+1)*k-1 where a level has k. An adaptive routing compares ports by what all levels
// have queued there.
//
// Deadlock: no packet changes its level, and levels share no buffer, so that each is as free
// from deadlock as the routing is alone.
type levels struct {
	fabric.Routing
	count    int
	departer fabric.Departer // nil: the routing decides at switches only
}

// ServiceLevels is r for packets of service levels 0 to count-1 ([fabric.PacketSpec].Level; those above
// go with the last). The virtual channels of the network are count times those that r is to
// have. Routings that learn, that wait on escape channels or that bring tables of lanes keep
// to one level: a *param.ParamError says so.
func ServiceLevels(r fabric.Routing, count int) (fabric.Routing, error) {
	if need := count * max(1, r.VCs()); need > maxVCs {
		return nil, &param.ParamError{Key: "level", Value: count - 1, Want: fmt.Sprintf("at most %d: a channel can have %d virtual channels, and each level needs %d here", maxVCs/max(1, r.VCs())-1, maxVCs, max(1, r.VCs()))}
	}
	_, learns := r.(fabric.Learner)
	_, escapes := r.(fabric.EscapeRouting)
	lanes, ok := r.(fabric.LaneArbitration)
	if learns || escapes || ok && lanes.ArbitratesLanes() {
		return nil, &param.ParamError{Key: "level", Value: count - 1, Want: "0, or another routing: one that learns, has escape channels or reads tables of lanes keeps to one level"}
	}
	l := &levels{Routing: r, count: count}
	if fabric.NeedsOf(r).Departs {
		l.departer = r.(fabric.Departer)
	}
	return l, nil
}

func (l *levels) VCs() int { return l.count * max(1, l.Routing.VCs()) }

func (l *levels) InjectionVCs(vcs int) (set uint32) {
	k := vcs / l.count
	for i := range l.count {
		set |= l.Routing.InjectionVCs(k) & allVCs(k) << (i * k)
	}
	return set
}

// Needs implements [fabric.Needer].
func (l *levels) Needs() fabric.Needs {
	n := fabric.NeedsOf(l.Routing)
	n.Departs, n.Packets = true, true
	return n
}

// ReadsWithin implements [fabric.RemoteReader].
func (l *levels) ReadsWithin(domain []int) bool {
	r, ok := l.Routing.(fabric.RemoteReader)
	return !ok || r.ReadsWithin(domain)
}

// Depart implements [fabric.Departer].
func (l *levels) Depart(v *fabric.View, h *fabric.Head) uint32 {
	all := v.VCs()
	k := all / l.count
	first := min(int(h.Level), l.count-1) * k
	set := l.Routing.InjectionVCs(k)
	if l.departer != nil {
		v.Narrow(first, k)
		set = l.departer.Depart(v, h)
		v.Narrow(0, all)
	}
	return set & allVCs(k) << first
}

// Route implements [fabric.Routing].
func (l *levels) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	all, vc := v.VCs(), h.VC
	k := all / l.count
	first := int(vc) / k * k
	v.Narrow(first, k)
	h.VC = vc - uint8(first)
	hop := l.Routing.Route(v, h)
	h.VC = vc
	v.Narrow(0, all)
	hop.VCs = hop.VCs & allVCs(k) << first
	return hop
}

// Explore implements [fabric.Explorer].
func (l *levels) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	k := vcs / l.count
	first := int(h.VC) / k * k
	h.VC -= uint8(first)
	l.Routing.(fabric.Explorer).Explore(k, h, func(hop fabric.Hop, state uint32, weight float64) {
		hop.VCs = hop.VCs & allVCs(k) << first
		yield(hop, state, weight)
	})
}
