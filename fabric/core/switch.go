package core

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// evaluatePlainly is evaluate for a switch of no more than 64 queues, with flits as the
// unit and without multicast.
func (d *Domain) evaluatePlainly(sw *SwitchState, s topology.SwitchID) {
	m := &sw.masks[0]
	if m.route != 0 {
		d.routeArrivals(sw, s, 0)
		d.followRouting(sw)
	}
	for i := range d.Steps.n {
		if m.va != 0 {
			d.allocateVCs(sw, d.Steps.at[i].Number)
		}
		if m.sa != 0 {
			d.allocateSwitch(sw, &d.Steps.at[i])
		}
		m.sa |= m.next
		m.next = 0
		if m.va|m.sa == 0 {
			break // nothing is left to do in later steps
		}
	}
	word := sw.Queue0 >> 6
	if bit := uint64(1) << (word & 63); m.va|m.sa == 0 {
		d.active[word>>6] &^= bit
	} else {
		d.active[word>>6] |= bit
	}
	if check.On {
		d.checkSwitch(sw)
	}
}

// evaluate runs the steps of this cycle at switch s.
func (d *Domain) evaluate(sw *SwitchState, s topology.SwitchID) {
	if len(sw.masks) == 1 && d.multicast == nil && !neverPlain {
		if d.Unit != nil {
			d.Unit.evaluatePlainly(d, sw, s)
		} else {
			d.evaluatePlainly(sw, s)
		}
		return
	}
	var va, sa uint64
	for w := range sw.masks {
		if sw.masks[w].route != 0 {
			d.routeArrivals(sw, s, w)
		}
		va |= sw.masks[w].va
		sa |= sw.masks[w].sa
	}
	d.followRouting(sw)
	if d.Unit != nil {
		d.Unit.tails = d.Unit.countTails(sw)
	}
	for i := range d.Steps.n {
		t := &d.Steps.at[i]
		if va != 0 {
			d.allocateVCs(sw, t.Number)
		}
		if sa != 0 {
			if d.multicast == nil {
				d.allocateSwitch(sw, t)
			} else {
				d.multicast.allocate(d, sw, s, t)
			}
		}
		if d.Unit != nil {
			d.Unit.step++
			if d.Unit.tails > 0 {
				d.Unit.pass(d, sw, t.Number)
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
		if d.Unit != nil && va|sa == 0 && d.Unit.tails == 0 {
			break // nothing is left to do
		}
	}
	if d.Unit != nil {
		d.Unit.step = 0
	}
	word := sw.Queue0 >> 6
	for w := range sw.masks {
		if m := &sw.masks[w]; m.va|m.sa == 0 {
			d.active[word>>6] &^= 1 << (word & 63)
		} else {
			d.activate(word)
		}
		word++
	}
	if check.On {
		d.checkSwitch(sw)
	}
}

// followRouting does what comes after the routing of a switch's arrivals in this cycle.
func (d *Domain) followRouting(sw *SwitchState) {
	d.summed = 0
	if n := d.Matcher.routed; n > 0 {
		d.prefetchPorts(sw, d.Matcher.routedFrom[:n], d.Matcher.routedTo[:n])
		if d.Unit != nil && !d.Unit.timed {
			d.Unit.prefetchHolds(d, sw, d.Matcher.routedFrom[:n], d.Matcher.routedTo[:n])
		}
		d.Matcher.routed = 0
	}
	if len(d.decided) > 0 {
		d.countDecisions(sw)
	}
}

// routeArrivals asks the routing about the packets that arrived in this
// cycle in the queues of mask word w, input by input.
func (d *Domain) routeArrivals(sw *SwitchState, s topology.SwitchID, w int) {
	const routingBits = 1<<fabric.StateBits - 1
	m := &sw.masks[w]
	ready := d.Steps.at[0].Number + d.RouteDelay
	places, noted := check.Of(d.Matcher.Places), d.routeNoted
	left := m.route
	m.route = 0
	first := uint64(0) // queues whose front has come
	h := &d.head
	h.Switch = s
	for ; left != 0; left &= left - 1 {
		local := uint32(w<<6 + bits.TrailingZeros64(left))
		v, place := sw.Queue(local), places.At(local)
		h.In, h.VC = topology.PortID(sw.Port0+int32(place.Port)), uint8(place.vc)
		head := &v.Queued
		if v.Count == 1 {
			v.Ready = ready
			first |= left & -left
		} else {
			head = &d.Pool[v.Last-1].Queued
		}
		if head.dst < 0 {
			head.Hop = multicastHop
			if d.Upcoming != nil && v.Count > 1 {
				d.joins(sw, local, v, d.Steps.at[0].Number)
			}
			continue
		}
		h.Dst, h.State = topology.TerminalID(head.dst), head.State&routingBits
		hop := d.decides.Route(&d.view, h)
		port, vcs := uint32(hop.Port)-uint32(sw.Port0), hop.VCs&d.allVCs
		if port >= uint32(sw.Ports) || vcs == 0 {
			if d.Faults != nil && hop == fabric.Discard {
				first &^= left & -left
				d.discard(head)
				continue
			}
			d.badHop(h, hop)
		}
		head.Hop = port<<16 | vcs
		head.State = head.State&^routingBits | h.State
		if !noted {
			continue
		}
		if a := &d.Matcher; d.large {
			a.routedFrom[a.routed], a.routedTo[a.routed] = int32(place.Port), int32(port)
			a.routed++
		}
		if d.Upcoming != nil && v.Count > 1 {
			d.joins(sw, local, v, d.Steps.at[0].Number)
		}
		if d.needs.Queues {
			d.countDecision(sw, lowestOV(head.Hop, uint32(d.vcs)))
			if d.Unit != nil {
				d.Unit.expects(d, sw, head)
			}
		}
	}
	if d.Combined != 0 {
		m.sa |= first
	} else {
		m.va |= first
	}
}
