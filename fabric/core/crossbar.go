package core

import (
	"math/bits"

	"github.com/weft-sim/weft/sim/check"
)

// allocateSwitch is switch allocation, one step: flits ask for their output
// port; each output grants the input port nearest to its round-robin pointer,
// each input accepts the output nearest to its own (iSLIP: McKeown 1999), and
// the matched flits cross. Of several virtual channels of an input that want
// the same output the round robin of the input decides. With the allocator
// input-first, each input puts forward only the virtual channel next in its
// round robin, and every grant is accepted. A flit without a credit goes to
// sleep until one comes. Other allocators are registered ones ([registered]).
//
// A flit that is alone both at its input and at its output crosses in any
// case; the round robins are played out among the others only.
func (d *domain) allocateSwitch(sw *switchState, t *stepTime) {
	var requests []request
	var rivalInputs, rivalOutputs uint64
	if d.unit != nil && d.unit.requestsPlainly(d) {
		requests, rivalInputs, rivalOutputs = d.unit.request(d, sw, t.number)
	} else if d.plain {
		requests, rivalInputs, rivalOutputs = d.requestPlainly(sw, t.number)
	} else {
		requests, rivalInputs, rivalOutputs = d.requestCrossbar(sw, t.number)
	}
	if m := &d.matcher; m.askedInputs&sw.passIns|m.askedOutputs&sw.passOuts != 0 {
		requests, rivalInputs, rivalOutputs = d.flitRuns.meet(d, sw, requests, t == &d.steps.at[0], m.askedInputs, m.askedOutputs, rivalInputs, rivalOutputs)
	}
	if d.multicast != nil {
		requests = d.multicast.exclude(requests)
	}
	if d.lanes != nil {
		requests = d.arbitrateLanes(sw, requests)
		rivalInputs, rivalOutputs = rivals(requests)
	}
	if d.hold != nil && d.unit == nil {
		requests, rivalInputs, rivalOutputs = d.hold.body(d, sw, requests, t)
	}
	if d.registered != nil {
		d.registered.allocate(d, sw, requests, t)
		return
	}
	if rivalInputs|rivalOutputs == 0 {
		d.cross(sw, requests, t, true)
		return
	}
	d.allocateRivals(sw, requests, rivalInputs, rivalOutputs, t)
}

// allocateRivals is the end of allocateSwitch, where several flits want the same.
func (d *domain) allocateRivals(sw *switchState, requests []request, rivalInputs, rivalOutputs uint64, t *stepTime) {
	// No branches: whether a request has rivals cannot be predicted.
	alone, met, rivals := 0, 0, d.matcher.rivals
	for _, r := range requests {
		meets := int((rivalInputs>>(r.port()&63) | rivalOutputs>>(r.output()&63)) & 1)
		requests[alone], rivals[met] = r, r
		alone += 1 - meets
		met += meets
	}
	if d.config.Switch.Iterations == 1 && d.multicast == nil {
		// In one go: loops that are short end unpredictably.
		if met == 2 && sw.ports <= 64 && !d.matcher.inputFirst {
			requests = append(requests[:alone], d.matcher.matchPair(sw, rivals[0], rivals[1]))
		} else {
			requests = d.matcher.match(sw, rivals[:met], requests[:alone])
		}
		d.cross(sw, requests, t, true)
		return
	}
	d.cross(sw, requests[:alone], t, true)
	d.arbitrate(sw, rivals[:met], t)
}

// requestCrossbar lists the flits that may cross in this step, and the ports,
// modulo 64, that several of them come from or want. Flits without a credit go
// to sleep.
func (d *domain) requestCrossbar(sw *switchState, step uint32) (list []request, rivalInputs, rivalOutputs uint64) {
	requests, places := check.Of(d.matcher.requests), check.Of(d.matcher.places)
	combined, cutThrough, vcs := d.combined, d.cutThrough, uint32(d.vcs)
	n := uint32(0)
	now := d.cycle << intervalShift
	var inputs, outputs uint64
	for w := range sw.masks {
		m := &sw.masks[w]
		for left := m.sa; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.queue(local)
			if int32(v.ready-step) > 0 {
				continue
			}
			if d.storeForward && d.incomplete(sw, local, v) || d.hold != nil && v.packet&headFlit != 0 && d.inputHeld(sw, local) {
				continue
			}
			if d.escape != nil && v.packet&combined != 0 && !d.escape.decide(d, sw, local, v) {
				continue
			}
			output := v.hop >> 16
			o := sw.outPort(output)
			if d.hold != nil && v.packet&headFlit != 0 && d.outputHeld(sw, local, output, o) {
				continue
			}
			if v.packet&combined != 0 {
				free := v.hop & uint32(o.free)
				lov := output*vcs + uint32(bits.TrailingZeros32(free))
				if free&(free-1) == 0 && free != 0 && sw.outVC(lov).credits > 0 && !cutThrough {
					v.out = int32(lov) // chooseVC in most cases
				} else if !d.chooseVC(sw, local, v, free) {
					d.sleepForVC(sw, w, left&-left)
					if d.observer != nil {
						d.observer.sleeps(d, sw.queue0+int32(local), lacking(free))
					}
					continue
				}
			} else if sw.outVC(uint32(v.out)).credits == 0 {
				m.sa &^= left & -left
				if d.observer != nil {
					d.observer.sleeps(d, sw.queue0+int32(local), PartCredit)
				}
				continue
			}
			if o.nextFree-d.pace(o).window >= now { // no room behind the crossbar
				if d.observer != nil {
					d.observer.blocked(d, sw.queue0+int32(local), o)
				}
				continue
			}
			port := uint32(places.At(local).port)
			*requests.At(n) = newRequest(local, port<<16|output)
			n++
			in, out := uint64(1)<<(port&63), uint64(1)<<(output&63)
			rivalInputs |= inputs & in
			inputs |= in
			rivalOutputs |= outputs & out
			outputs |= out
		}
	}
	return d.matcher.requests[:n], rivalInputs, rivalOutputs
}

// arbitrate plays out the round robins of switch allocation, iteration by
// iteration among those not matched yet.
func (d *domain) arbitrate(sw *switchState, rivals []request, t *stepTime) {
	m := &d.matcher
	for iteration := range d.config.Switch.Iterations {
		if iteration > 0 {
			rivals = m.unmatched(rivals)
		}
		matches := m.match(sw, rivals, m.matches[:0])
		if len(matches) == 0 {
			break
		}
		for _, r := range matches {
			m.matched[2*r.port()], m.matched[2*r.output()+1] = true, true
		}
		d.cross(sw, matches, t, iteration == 0)
	}
	clear(m.matched[:2*sw.ports])
}

// cross sends the flits at the front of some queues, of different inputs to
// different outputs, through the crossbar onto their channels and their
// credits upstream, and moves the round-robin pointers behind them where told
// to. With a packet's last flit its output virtual channel is released.
func (d *domain) cross(sw *switchState, matches []request, t *stepTime, advance bool) {
	if d.observer != nil {
		d.observer.grantedSwitch(d, sw, matches, t)
	}
	if d.multicast != nil {
		d.multicast.crossed(sw, matches)
	}
	if d.lanes != nil {
		d.crossedLanes(sw, matches)
	}
	if d.hold != nil {
		if d.unit != nil {
			d.unit.cross(d, sw, matches, t, advance)
			return
		}
		d.hold.crossing(sw, matches)
	}
	vcs, receives := uint32(d.vcs), d.receives()
	d.FlitHops += int64(len(matches))
	var leaving *[]int32
	if d.behind != nil {
		leaving = d.behind.list(d, t.depart)
	}
	for _, r := range matches {
		local, port, output := r.local(), r.port(), r.output()
		v, o, in := sw.queue(local), sw.outPort(output), sw.inPort(port)
		vcIn := local - port*vcs
		if advance {
			o.grant, in.accept, in.vc = uint16(port+1), uint16(output+1), uint16(vcIn+1)
		}
		late := int64(0)
		ov := sw.outVC(uint32(v.out))
		if d.sensing != nil && o.bounded != 0 {
			p := &d.sensing.probes[sw.port0*int32(vcs)+v.out]
			p.time(d.buffer-ov.credits+1, d.cycle)
			late = d.sensing.late(p, sw.port0+int32(port))
			if d.sensing.allCongested(sw.port0) {
				late = max(0, late-d.sensing.findLeast(&d.network, sw.port0))
			}
		}
		if late == 0 {
			// As sendCredit, inlined: nothing predicts which time is the later one.
			wait := in.nextCredit - t.credit
			send := t.credit + wait&^(wait>>63)
			in.nextCredit = send + d.creditInterval
			back := send>>intervalShift + int64(in.delay)
			credits := d.credits[in.wheel&15]
			credit := credits.Room(back)
			if credit == nil {
				credit = credits.Place(back)
			}
			*credit = in.upstream + int32(vcIn)
		} else {
			d.holdCredit(sw.port0+int32(port), in.upstream+int32(vcIn), t.credit, late)
		}

		// The output queue is not simulated: the channel's next free time is.
		wait := o.nextFree - t.depart
		depart := t.depart + wait&^(wait>>63) // the later one: nothing predicts which it is
		pace := d.pace(o)
		o.nextFree = depart + pace.interval
		arrival := wholeCycle(depart) + int64(pace.latency)
		wheel := d.flits[o.wheel&15]
		e := wheel.Room(arrival)
		if e == nil {
			e = wheel.Place(arrival)
		}
		ov.flits++
		ov.credits -= int32(o.bounded)
		if receives && o.bounded == 0 {
			d.toTerminal(ov, sw.port0*int32(vcs)+v.out, arrival+int64(pace.latency))
		}
		if check.On {
			d.checkCredits(sw.port0*int32(vcs) + v.out)
		}
		vc := uint32(v.out) - output*vcs
		e.queue, e.packet, e.dst, e.state = o.dest+int32(vc)*int32(o.bounded), v.packet, v.dst, v.state
		if v.state < maxHops<<hopShift {
			e.state += 1 << hopShift
		}
		if d.behind != nil {
			if lov := lowestOV(v.hop, vcs); leaving != nil && depart == t.depart && late == 0 {
				*leaving = append(*leaving, sw.port0*int32(vcs)+int32(lov))
			} else {
				d.behind.cross(d, sw, lov, depart, late)
			}
		}
		v.count--
		m, bit := sw.mask(local), uint64(1)<<(local&63)
		first := v.packet & d.combined // the packet holds no virtual channel yet
		if v.packet&tailFlit == 0 {
			if first != 0 {
				ov.owner = sw.queue0 + int32(local)
				o.free &^= 1 << (vc & 15)
			}
		} else {
			// The next packet comes to the front, and those that wait for the
			// virtual channel may ask for it.
			v.out = -1
			if first == 0 {
				ov.owner = ^ov.owner
				o.free |= 1 << (vc & 15)
				if o.waiters != 0 {
					d.wakeWaiters(o)
				}
			}
			if d.combined == 0 {
				m.sa &^= bit
				if v.count > 0 {
					m.va |= bit
				}
			}
		}
		tail := v.packet&tailFlit != 0
		if v.count > 0 {
			d.advance(v, t.number)
		} else {
			m.sa &^= bit
		}
		if d.upcoming != nil && v.count > 0 {
			if tail {
				d.leaves(sw, local, v, t.number)
			} else {
				d.behindFront(sw, local).left--
			}
		}
	}
}

// advance brings the second flit of a queue to its front.
func (d *domain) advance(v *inVC, step uint32) {
	last := &d.pool[v.last-1]
	n := last.next
	b := &d.pool[n-1]
	last.next = b.next
	b.next = d.poolFree
	d.poolFree = n
	v.ready = step + 1
	if v.packet&tailFlit != 0 {
		v.hop = b.hop
		v.ready += d.routeDelay
	}
	v.packet, v.dst, v.state = b.packet, b.dst, b.state
}
