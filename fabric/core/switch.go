package core

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// evaluatePlainly is evaluate for a switch of no more than 64 queues, with flits as the
// unit and without multicast.
func (d *domain) evaluatePlainly(sw *switchState, s topology.SwitchID) {
	m := &sw.masks[0]
	if m.route != 0 {
		d.routeArrivals(sw, s, 0)
		d.followRouting(sw)
	}
	for i := range d.steps.n {
		if m.va != 0 {
			d.allocateVCs(sw, d.steps.at[i].number)
		}
		if m.sa != 0 {
			d.allocateSwitch(sw, &d.steps.at[i])
		}
		m.sa |= m.next
		m.next = 0
		if m.va|m.sa == 0 {
			break // nothing is left to do in later steps
		}
	}
	word := sw.queue0 >> 6
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
func (d *domain) evaluate(sw *switchState, s topology.SwitchID) {
	if len(sw.masks) == 1 && d.multicast == nil && !neverPlain {
		if d.unit != nil {
			d.unit.evaluatePlainly(d, sw, s)
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
	if d.unit != nil {
		d.unit.tails = d.unit.countTails(sw)
	}
	for i := range d.steps.n {
		t := &d.steps.at[i]
		if va != 0 {
			d.allocateVCs(sw, t.number)
		}
		if sa != 0 {
			if d.multicast == nil {
				d.allocateSwitch(sw, t)
			} else {
				d.multicast.allocate(d, sw, s, t)
			}
		}
		if d.unit != nil {
			d.unit.step++
			if d.unit.tails > 0 {
				d.unit.pass(d, sw, t.number)
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
		if d.unit != nil && va|sa == 0 && d.unit.tails == 0 {
			break // nothing is left to do
		}
	}
	if d.unit != nil {
		d.unit.step = 0
	}
	word := sw.queue0 >> 6
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
func (d *domain) followRouting(sw *switchState) {
	d.summed = 0
	if n := d.matcher.routed; n > 0 {
		d.prefetchPorts(sw, d.matcher.routedFrom[:n], d.matcher.routedTo[:n])
		if d.unit != nil && !d.unit.timed {
			d.unit.prefetchHolds(d, sw, d.matcher.routedFrom[:n], d.matcher.routedTo[:n])
		}
		d.matcher.routed = 0
	}
	if len(d.decided) > 0 {
		d.countDecisions(sw)
	}
}

// routeArrivals asks the routing about the packets that arrived in this
// cycle in the queues of mask word w, input by input.
func (d *domain) routeArrivals(sw *switchState, s topology.SwitchID, w int) {
	const routingBits = 1<<fabric.StateBits - 1
	m := &sw.masks[w]
	ready := d.steps.at[0].number + d.routeDelay
	places, a := check.Of(d.matcher.places), &d.matcher
	left := m.route
	m.route = 0
	first := uint64(0) // queues whose front has come
	h := &d.head
	h.Switch = s
	for ; left != 0; left &= left - 1 {
		local := uint32(w<<6 + bits.TrailingZeros64(left))
		v, place := sw.queue(local), places.At(local)
		h.In, h.VC = topology.PortID(sw.port0+int32(place.port)), uint8(place.vc)
		head := &v.queued
		if v.count == 1 {
			v.ready = ready
			first |= left & -left
		} else {
			head = &d.pool[v.last-1].queued
		}
		if head.dst < 0 {
			head.hop = multicastHop
			if d.upcoming != nil && v.count > 1 {
				d.joins(sw, local, v, d.steps.at[0].number)
			}
			continue
		}
		h.Dst, h.State = topology.TerminalID(head.dst), head.state&routingBits
		hop := d.decides.Route(&d.view, h)
		port, vcs := uint32(hop.Port)-uint32(sw.port0), hop.VCs&d.allVCs
		if port >= uint32(sw.ports) || vcs == 0 {
			if d.faults != nil && hop == fabric.Discard {
				first &^= left & -left
				d.discard(head)
				continue
			}
			d.badHop(h, hop)
		}
		head.hop = port<<16 | vcs
		if d.large {
			a.routedFrom[a.routed], a.routedTo[a.routed] = int32(place.port), int32(port)
			a.routed++
		}
		head.state = head.state&^routingBits | h.State
		if d.upcoming != nil && v.count > 1 {
			d.joins(sw, local, v, d.steps.at[0].number)
		}
		if d.needs.Queues {
			d.countDecision(sw, lowestOV(head.hop, uint32(d.vcs)))
			if d.unit != nil {
				d.unit.expects(d, sw, head)
			}
		}
	}
	if d.combined != 0 {
		m.sa |= first
	} else {
		m.va |= first
	}
}
