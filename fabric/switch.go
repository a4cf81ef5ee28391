package fabric

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric/topology"
)

// evaluate runs the steps of this cycle at switch s.
func (f *Fabric) evaluate(sw *switchState, s topology.SwitchID) {
	var va, sa uint64
	for w := range sw.masks {
		if sw.masks[w].route != 0 {
			f.routeArrivals(sw, s, w)
		}
		va |= sw.masks[w].va
		sa |= sw.masks[w].sa
	}
	if n := f.alloc.routed; n > 0 {
		f.prefetchPorts(sw, f.alloc.routedFrom[:n], f.alloc.routedTo[:n])
		f.alloc.routed = 0
	}
	if len(f.decided) > 0 {
		f.countDecisions(sw)
	}
	if f.unit != nil {
		f.unit.tails = f.unit.countTails(sw)
	}
	for i := range f.steps.n {
		t := &f.steps.at[i]
		if va != 0 {
			f.allocateVCs(sw, t.number)
		}
		if sa != 0 {
			if f.multicast == nil {
				f.allocateSwitch(sw, t)
			} else {
				f.multicast.allocate(f, sw, s, t)
			}
		}
		if f.unit != nil {
			f.unit.step++
			if f.unit.tails > 0 {
				f.unit.pass(f, sw, t.number)
			}
		}
		va, sa = 0, 0
		for w := range sw.masks {
			m := &sw.masks[w]
			m.sa |= m.next
			m.next = 0
			va |= m.va
			sa |= m.sa
		}
		if f.unit != nil && va|sa == 0 && f.unit.tails == 0 {
			break // nothing is left to do
		}
	}
	if f.unit != nil {
		f.unit.step = 0
	}
	word := sw.queue0 >> 6
	for w := range sw.masks {
		if m := &sw.masks[w]; m.va|m.sa == 0 {
			f.active[word>>6] &^= 1 << (word & 63)
		} else {
			f.activate(word)
		}
		word++
	}
}

// routeArrivals asks the routing about the packets that arrived in this
// cycle in the queues of mask word w, input by input.
func (f *Fabric) routeArrivals(sw *switchState, s topology.SwitchID, w int) {
	const routingBits = 1<<StateBits - 1
	m := &sw.masks[w]
	ready := f.steps.at[0].number + f.routeDelay
	places, a := of(f.alloc.places, 0), &f.alloc
	left := m.route
	m.route = 0
	first := uint64(0) // queues whose front has come
	h := &f.head
	h.Switch = s
	for ; left != 0; left &= left - 1 {
		local := uint32(w<<6 + bits.TrailingZeros64(left))
		v, place := sw.queue(local), at(places, local)
		h.In, h.VC = topology.PortID(sw.port0+int32(place.port)), uint8(place.vc)
		head := &v.queued
		if v.count == 1 {
			v.ready = ready
			first |= left & -left
		} else {
			head = &f.pool[v.last-1].queued
		}
		if head.dst < 0 {
			head.hop = multicastHop
			continue
		}
		h.Dst, h.State = topology.TerminalID(head.dst), head.state&routingBits
		hop := f.routing.Route(&f.view, h)
		port, vcs := uint32(hop.Port)-uint32(sw.port0), hop.VCs&f.allVCs
		if port >= uint32(sw.ports) || vcs == 0 {
			if f.faults != nil && hop == Discard {
				first &^= left & -left
				f.discard(head)
				continue
			}
			f.badHop(h, hop)
		}
		head.hop = port<<16 | vcs
		if f.large {
			a.routedFrom[a.routed], a.routedTo[a.routed] = int32(place.port), int32(port)
			a.routed++
		}
		head.state = head.state&^routingBits | h.State
		if f.occupancy {
			f.countDecision(sw, lowestOV(head.hop, uint32(f.vcs)))
			if f.unit != nil {
				f.unit.expects(f, sw, head)
			}
		}
	}
	if f.combined != 0 {
		m.sa |= first
	} else {
		m.va |= first
	}
}
