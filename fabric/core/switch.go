package core

import (
	"math/bits"

	"github.com/weft-sim/weft/sim/check"
)

// takeVCs gives each of some packets a virtual channel of its request: where it
// was granted several, the one nearest to its round-robin pointer. Of packets that ask for
// one and the same, that nearest to the channel's pointer keeps it.
func (d *Domain) takeVCs(sw *SwitchState, matches []Request, step uint32) {
	if d.observer != nil {
		d.observer.GrantedVC(d, sw, d.ofFronts(sw, matches), step)
	}
	vcs, ready, overlaps, before := uint32(d.vcs), step+d.VADelay, d.Upcoming != nil, check.Of(d.Matcher.outputs)
	for _, r := range matches {
		local, port, free := r.Local(), r.Port(), r.free()
		vc := uint32(bits.TrailingZeros32(free))
		lov := port*vcs + vc
		if free&(free-1) != 0 {
			lov = nextVC(check.At(d.acceptOV, uint32(sw.Queue0)+local), port*vcs, free)
			vc = lov - port*vcs
		}
		o, ov := sw.OutPort(port), sw.outVC(lov)
		if o.free>>(vc&15)&1 != 0 {
			o.free &^= 1 << (vc & 15)
			before.At(lov).distance = ov.owner
		} else if !d.winsVC(sw, local, lov, ov, step) {
			continue
		}
		ov.owner = sw.Queue0 + int32(local)
		v, m, bit := sw.Queue(local), sw.mask(local), uint64(1)<<(local&63)
		m.va &^= bit
		if overlaps {
			if v.Out >= 0 {
				u := d.behindFront(sw, local)
				u.out, u.ready = int32(lov), ready
				continue
			}
			m.va |= bit & m.second &^ m.asleep & d.ahead // as offerSecond
		}
		v.Out, v.Ready = int32(lov), ready
		m.next |= bit
	}
	m := &d.Matcher
	for _, lov := range m.contested {
		d.acceptOV[sw.outVC(lov).owner] = int32(lov) + 1
	}
	m.contested = m.contested[:0]
}

// meets tells whether two requests are for the same output or from the same input.
func (r Request) meets(other Request) bool {
	return r.Port() == other.Port() || r.Output() == other.Output()
}

// rivals are the ports, modulo 64, that several of some requests come from, and those that several
// want.
func rivals(requests []Request) (rivalInputs, rivalOutputs uint64) {
	var inputs, outputs uint64
	for _, r := range requests {
		in, out := uint64(1)<<(r.Port()&63), uint64(1)<<(r.Output()&63)
		rivalInputs |= inputs & in
		inputs |= in
		rivalOutputs |= outputs & out
		outputs |= out
	}
	return rivalInputs, rivalOutputs
}

// allocateRivals is the end of matchRoundRobin, where several flits want the same.
func (d *Domain) allocateRivals(sw *SwitchState, requests []Request, rivalInputs, rivalOutputs uint64, t *StepTime) {
	// No branches: whether a request has rivals cannot be predicted.
	alone, met, rivals := 0, 0, d.Matcher.rivals
	for _, r := range requests {
		meets := int((rivalInputs>>(r.Port()&63) | rivalOutputs>>(r.Output()&63)) & 1)
		requests[alone], rivals[met] = r, r
		alone += 1 - meets
		met += meets
	}
	if d.Config.Switch.Iterations == 1 && d.multicast == nil {
		// In one go: loops that are short end unpredictably.
		if met == 2 && sw.Ports <= 64 && !d.Matcher.inputFirst {
			requests = append(requests[:alone], d.Matcher.matchPair(sw, rivals[0], rivals[1]))
		} else {
			requests = d.Matcher.match(sw, rivals[:met], requests[:alone])
		}
		d.cross(d, sw, requests, t, true)
		return
	}
	d.cross(d, sw, requests[:alone], t, true)
	d.arbitrate(sw, rivals[:met], t)
}

// requestCrossbar lists the flits that may cross in this step. Flits without a credit go
// to sleep.
func (d *Domain) requestCrossbar(sw *SwitchState, step uint32) []Request {
	requests, origins := check.Of(d.Matcher.requests), check.Of(d.Matcher.origins)
	combined, cutThrough, vcs := d.Combined, d.cutThrough, uint32(d.vcs)
	n := uint32(0)
	now := d.Cycle << IntervalShift
	for w := range sw.masks {
		m := &sw.masks[w]
		for left := m.sa; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.Queue(local)
			if int32(v.Ready-step) > 0 {
				continue
			}
			if v.Packet&HeadFlit != 0 && !d.may(d.bids, sw, local, v, step) {
				continue
			}
			output := v.Hop >> 16
			o := sw.OutPort(output)
			if v.Packet&combined != 0 {
				free := v.Hop & uint32(o.free)
				lov := output*vcs + uint32(bits.TrailingZeros32(free))
				if free&(free-1) == 0 && free != 0 && sw.outVC(lov).credits > 0 && !cutThrough {
					v.Out = int32(lov) // chooseVC in most cases
				} else if !d.chooseVC(sw, local, v, free) {
					d.sleepForVC(sw, w, left&-left)
					d.Matcher.refuse(local, lacking(free))
					continue
				}
			} else if sw.outVC(uint32(v.Out)).credits == 0 {
				m.sa &^= left & -left
				d.Matcher.refuse(local, PartCredit)
				continue
			}
			if o.NextFree-d.Pace(o).window >= now { // no room behind the crossbar
				d.Matcher.refuse(local, PartSerial)
				continue
			}
			*requests.At(n) = *origins.At(local) | Request(output)
			n++
		}
	}
	if d.Matcher.refused > 0 {
		d.tellRefusals(sw)
	}
	return d.Matcher.requests[:n]
}

// arbitrate plays out the round robins of switch allocation, iteration by
// iteration among those not matched yet.
func (d *Domain) arbitrate(sw *SwitchState, rivals []Request, t *StepTime) {
	m := &d.Matcher
	for iteration := range d.Config.Switch.Iterations {
		if iteration > 0 {
			rivals = m.unmatched(rivals)
		}
		matches := m.match(sw, rivals, m.matches[:0])
		if len(matches) == 0 {
			break
		}
		for _, r := range matches {
			m.matched[2*r.Port()], m.matched[2*r.Output()+1] = true, true
		}
		d.cross(d, sw, matches, t, iteration == 0)
	}
	clear(m.matched[:2*sw.Ports])
}
