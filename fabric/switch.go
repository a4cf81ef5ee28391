package fabric

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric/topology"
)

// evaluate runs the steps of this cycle at switch s.
func (f *Fabric) evaluate(s int32) {
	sw := &f.switches[s]
	m := f.masks[sw.queue0>>6:][:sw.words]
	var va, sa uint64
	for w := range m {
		if m[w].route != 0 {
			f.routeArrivals(sw, topology.SwitchID(s), m, w)
		}
		va |= m[w].va
		sa |= m[w].sa
	}
	if len(f.decided) > 0 {
		f.countDecisions()
	}
	for i := range f.steps.n {
		step := uint32(f.steps.first) + uint32(i)
		if va != 0 {
			f.allocateVCs(sw, m, step)
			for w := range m {
				sa |= m[w].sa
			}
		}
		if sa != 0 {
			f.allocateSwitch(sw, m, step, i)
		}
		va, sa = 0, 0
		for w := range m {
			va |= m[w].va
			sa |= m[w].sa
		}
	}
	if va|sa == 0 {
		f.active[s>>6] &^= 1 << (s & 63)
	}
}

// routeArrivals asks the routing about the packets that arrived in this
// cycle in the queues of mask word w, input by input.
func (f *Fabric) routeArrivals(sw *switchState, s topology.SwitchID, m []masks, w int) {
	const routingBits = 1<<StateBits - 1
	queues := f.queues[sw.queue0+int32(w)<<6:][:64]
	places := f.alloc.places[w<<6:][:64]
	ready := uint32(f.steps.first + int64(f.config.Switch.RouteCycles))
	left := m[w].route
	m[w].route = 0
	head := &f.head
	for ; left != 0; left &= left - 1 {
		b := bits.TrailingZeros64(left)
		v := &queues[b]
		at := places[b]
		if v.count > 1 {
			last := &f.pool[v.last-1]
			*head = Head{Switch: s, In: topology.PortID(sw.port0 + int32(at.port)), VC: uint8(at.vc), Dst: topology.TerminalID(last.dst), State: last.state & routingBits}
			last.hop = f.route(sw, head)
			last.state = last.state&^routingBits | head.State
			continue
		}
		*head = Head{Switch: s, In: topology.PortID(sw.port0 + int32(at.port)), VC: uint8(at.vc), Dst: topology.TerminalID(v.dst), State: v.state & routingBits}
		v.hop = f.route(sw, head)
		v.state = v.state&^routingBits | head.State
		v.ready = ready
		m[w].va |= 1 << b
	}
}

// route returns the routing's decision in the packed form of inVC.hop.
func (f *Fabric) route(sw *switchState, h *Head) uint32 {
	hop := f.routing.Route(&f.view, h)
	local := int32(hop.Port) - sw.port0
	vcs := hop.VCs & (1<<f.vcs - 1)
	if uint32(local) >= uint32(sw.ports) || vcs == 0 {
		f.badHop(h, hop)
	}
	if f.occupancy {
		f.countDecision(int32(hop.Port)*int32(f.vcs) + lowestVC(vcs))
	}
	return uint32(local)<<16 | vcs
}
