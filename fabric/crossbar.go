package fabric

import "math/bits"

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
func (f *Fabric) allocateSwitch(sw *switchState, t *stepTime) {
	var requests []request
	var rivalInputs, rivalOutputs uint64
	if f.unit != nil && f.unit.requestsPlainly(f) {
		requests, rivalInputs, rivalOutputs = f.unit.request(f, sw, t.number)
	} else if f.requestsPlainly() {
		requests, rivalInputs, rivalOutputs = f.requestPlainly(sw, t.number)
	} else {
		requests, rivalInputs, rivalOutputs = f.requestCrossbar(sw, t.number)
	}
	if f.multicast != nil {
		requests = f.multicast.exclude(requests)
	}
	if f.hold != nil && f.unit == nil {
		requests, rivalInputs, rivalOutputs = f.hold.body(f, sw, requests, t)
	}
	if f.registered != nil {
		f.registered.allocate(f, sw, requests, t)
		return
	}
	if rivalInputs|rivalOutputs == 0 {
		f.cross(sw, requests, t, true)
		return
	}
	// No branches: whether a request has rivals cannot be predicted.
	alone, met, rivals := 0, 0, f.alloc.rivals
	for _, r := range requests {
		meets := int((rivalInputs>>(r.port()&63) | rivalOutputs>>(r.output()&63)) & 1)
		requests[alone], rivals[met] = r, r
		alone += 1 - meets
		met += meets
	}
	if f.config.Switch.Iterations == 1 && f.multicast == nil {
		// In one go: loops that are short end unpredictably.
		if met == 2 && sw.ports <= 64 && !f.inputFirst {
			requests = append(requests[:alone], f.matchPair(sw, rivals[0], rivals[1]))
		} else {
			requests = f.match(sw, rivals[:met], requests[:alone])
		}
		f.cross(sw, requests, t, true)
		return
	}
	f.cross(sw, requests[:alone], t, true)
	f.arbitrate(sw, rivals[:met], t)
}

// requestCrossbar lists the flits that may cross in this step, and the ports,
// modulo 64, that several of them come from or want. Flits without a credit go
// to sleep.
func (f *Fabric) requestCrossbar(sw *switchState, step uint32) (list []request, rivalInputs, rivalOutputs uint64) {
	requests, places := of(f.alloc.requests, 0), of(f.alloc.places, 0)
	combined, cutThrough, vcs := f.combined, f.cutThrough, uint32(f.vcs)
	n := uint32(0)
	now := f.cycle << intervalShift
	var inputs, outputs uint64
	for w := range sw.masks {
		m := &sw.masks[w]
		for left := m.sa; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.queue(local)
			if int32(v.ready-step) > 0 {
				continue
			}
			if f.storeForward && f.incomplete(sw, local, v) || f.hold != nil && v.packet&headFlit != 0 && f.inputHeld(sw, local) {
				continue
			}
			if f.escape != nil && v.packet&combined != 0 && !f.escape.decide(f, sw, local, v) {
				continue
			}
			output := v.hop >> 16
			o := sw.outPort(output)
			if f.hold != nil && v.packet&headFlit != 0 && f.outputHeld(sw, local, output, o) {
				continue
			}
			if v.packet&combined != 0 {
				free := v.hop & uint32(o.free)
				lov := output*vcs + uint32(bits.TrailingZeros32(free))
				if free&(free-1) == 0 && free != 0 && sw.outVC(lov).credits > 0 && !cutThrough {
					v.out = int32(lov) // chooseVC in most cases
				} else if !f.chooseVC(sw, local, v, free) {
					f.sleepForVC(sw, w, left&-left)
					if f.observed {
						f.sleeps(sw.queue0+int32(local), free)
					}
					continue
				}
			} else if sw.outVC(uint32(v.out)).credits == 0 {
				m.sa &^= left & -left
				if f.observed {
					f.stalls(sw.queue0+int32(local), PartCredit)
				}
				continue
			}
			if o.nextFree-f.pace(o).window >= now { // no room behind the crossbar
				if f.blame != nil {
					f.blame.outputFull(f, sw.queue0+int32(local), o)
				}
				continue
			}
			port := uint32(at(places, local).port)
			*at(requests, n) = newRequest(local, port<<16|output)
			n++
			in, out := uint64(1)<<(port&63), uint64(1)<<(output&63)
			rivalInputs |= inputs & in
			inputs |= in
			rivalOutputs |= outputs & out
			outputs |= out
		}
	}
	return f.alloc.requests[:n], rivalInputs, rivalOutputs
}

// arbitrate plays out the round robins of switch allocation, iteration by
// iteration among those not matched yet.
func (f *Fabric) arbitrate(sw *switchState, rivals []request, t *stepTime) {
	a := &f.alloc
	for iteration := range f.config.Switch.Iterations {
		if iteration > 0 {
			rivals = a.unmatched(rivals)
		}
		matches := f.match(sw, rivals, a.matches[:0])
		if len(matches) == 0 {
			break
		}
		for _, r := range matches {
			a.matched[2*r.port()], a.matched[2*r.output()+1] = true, true
		}
		f.cross(sw, matches, t, iteration == 0)
	}
	clear(a.matched[:2*sw.ports])
}

// match is one iteration of the round robins: it appends to matches what they
// choose from some requests.
func (f *Fabric) match(sw *switchState, rivals, matches []request) []request {
	a := &f.alloc
	f.grantOutputs(sw, rivals)
	f.acceptInputs(sw)
	for _, port := range a.granted {
		output := a.inputs[port].take()
		matches = append(matches, newRequest(a.outputs[output].take(), port<<16|output))
	}
	for _, output := range a.touched { // granted in vain
		a.outputs[output].index = 0
	}
	return matches
}

// matchPair is match, the allocator granting first, for two requests that share
// their output, their input or both, as they do with up to 64 ports. Two are what
// most rivals are, and which of them is nearer nothing predicts: there are no
// branches.
func (f *Fabric) matchPair(sw *switchState, a, b request) request {
	sameOutput := int32(a.output()^b.output()-1) >> 31 // -1, or else 0
	granted := f.grantDistance(sw, a) - f.grantDistance(sw, b)
	accepted := acceptDistance(sw, a) - acceptDistance(sw, b)
	nearer := (accepted ^ (accepted^granted)&sameOutput) >> 31 // -1: a
	return b ^ (a^b)&request(int64(nearer))
}

// grantDistance is how far a request is from the round-robin pointer of its
// output.
func (f *Fabric) grantDistance(sw *switchState, r request) int32 {
	return ahead(int32(r.port())-int32(sw.outPort(r.output()).grant), sw.ports)*int32(f.vcs) + f.vcDistance(sw, r)
}

// acceptDistance is how far a request's output is from the round-robin pointer of
// its input.
func acceptDistance(sw *switchState, r request) int32 {
	return ahead(int32(r.output())-int32(sw.inPort(r.port()).accept), sw.ports)
}

// ahead is a difference of positions on a ring of size n as a number from 0 on.
func ahead(difference, n int32) int32 { return difference + n&(difference>>31) }

// unmatched keeps the requests whose input and output are both free.
func (a *scratch) unmatched(requests []request) []request {
	kept := requests[:0]
	for _, r := range requests {
		if !a.matched[2*r.port()] && !a.matched[2*r.output()+1] {
			kept = append(kept, r)
		}
	}
	return kept
}

// grantOutputs lets each output port choose among the requests for it.
func (f *Fabric) grantOutputs(sw *switchState, rivals []request) {
	a := &f.alloc
	if f.inputFirst {
		rivals = f.putForward(sw, rivals)
	}
	a.touched = a.touched[:0]
	for _, r := range rivals {
		a.touched = a.outputs[r.output()].improve(a.touched, r.output(), r.local(), f.grantDistance(sw, r))
	}
}

// putForward keeps one request of each input port: that of the virtual channel
// next in its round robin.
func (f *Fabric) putForward(sw *switchState, rivals []request) []request {
	a := &f.alloc
	a.granted = a.granted[:0]
	for k, r := range rivals {
		a.granted = a.inputs[r.port()].improve(a.granted, r.port(), uint32(k), f.vcDistance(sw, r))
	}
	chosen := a.chosen[:0]
	for _, port := range a.granted {
		chosen = append(chosen, rivals[a.inputs[port].take()])
	}
	a.chosen = chosen
	return chosen
}

// vcDistance is how far a request's virtual channel is from its input's
// round-robin pointer.
func (f *Fabric) vcDistance(sw *switchState, r request) int32 {
	return ahead(int32(f.alloc.places[r.local()].vc)-int32(sw.inPort(r.port()).vc), int32(f.vcs))
}

// acceptInputs lets each input port choose among the outputs that granted it.
func (f *Fabric) acceptInputs(sw *switchState) {
	a := &f.alloc
	a.granted = a.granted[:0]
	for _, output := range a.touched {
		port := uint32(a.places[a.outputs[output].index-1].port)
		distance := ahead(int32(output)-int32(sw.inPort(port).accept), sw.ports)
		a.granted = a.inputs[port].improve(a.granted, port, output, distance)
	}
}

// cross sends the flits at the front of some queues, of different inputs to
// different outputs, through the crossbar onto their channels and their
// credits upstream, and moves the round-robin pointers behind them where told
// to. With a packet's last flit its output virtual channel is released.
func (f *Fabric) cross(sw *switchState, matches []request, t *stepTime, advance bool) {
	if f.blame != nil {
		f.blame.crossing(f, sw, matches, t)
	}
	if f.multicast != nil {
		f.multicast.crossed(sw, matches)
	}
	if f.trace != nil {
		f.trace.crossing(f, sw, matches, t)
	}
	if f.hold != nil {
		if f.unit != nil {
			f.unit.cross(f, sw, matches, t, advance)
			return
		}
		f.hold.crossing(sw, matches)
	}
	vcs := uint32(f.vcs)
	f.FlitHops += int64(len(matches))
	var leaving *[]int32
	if f.behind != nil {
		leaving = f.behind.list(f, t.depart)
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
		if f.sensing != nil && o.bounded != 0 {
			p := &f.sensing.probes[sw.port0*int32(vcs)+v.out]
			p.time(f.buffer-ov.credits+1, f.cycle)
			late = f.sensing.late(p, sw.port0+int32(port))
			if f.sensing.allCongested(sw.port0) {
				late = max(0, late-f.sensing.findLeast(f, sw.port0))
			}
		}
		if late == 0 {
			// As sendCredit, inlined: nothing predicts which time is the later one.
			wait := in.nextCredit - t.credit
			send := t.credit + wait&^(wait>>63)
			in.nextCredit = send + f.creditInterval
			back := send>>intervalShift + int64(in.delay)
			credits := f.credits[in.wheel&15]
			credit := credits.Room(back)
			if credit == nil {
				credit = credits.Place(back)
			}
			*credit = in.upstream + int32(vcIn)
		} else {
			f.holdCredit(sw.port0+int32(port), in.upstream+int32(vcIn), t.credit, late)
		}

		// The output queue is not simulated: the channel's next free time is.
		wait := o.nextFree - t.depart
		depart := t.depart + wait&^(wait>>63) // the later one: nothing predicts which it is
		o.nextFree = depart + f.pace(o).interval
		arrival := wholeCycle(depart) + int64(o.latency)
		wheel := f.flits[o.wheel&15]
		e := wheel.Room(arrival)
		if e == nil {
			e = wheel.Place(arrival)
		}
		ov.flits++
		ov.credits -= int32(o.bounded)
		vc := uint32(v.out) - output*vcs
		e.queue, e.packet, e.dst, e.state = o.dest+int32(vc)*int32(o.bounded), v.packet, v.dst, v.state
		if v.state < maxHops<<hopShift {
			e.state += 1 << hopShift
		}
		if f.behind != nil {
			if lov := lowestOV(v.hop, vcs); leaving != nil && depart == t.depart && late == 0 {
				*leaving = append(*leaving, sw.port0*int32(vcs)+int32(lov))
			} else {
				f.behind.cross(f, sw, lov, depart, late)
			}
		}
		v.count--
		m, bit := sw.mask(local), uint64(1)<<(local&63)
		first := v.packet & f.combined // the packet holds no virtual channel yet
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
					f.wakeWaiters(o)
				}
			}
			if f.combined == 0 {
				m.sa &^= bit
				if v.count > 0 {
					m.va |= bit
				}
			}
		}
		if v.count > 0 {
			f.advance(v, t.number)
		} else {
			m.sa &^= bit
		}
	}
}

// advance brings the second flit of a queue to its front.
func (f *Fabric) advance(v *inVC, step uint32) {
	last := &f.pool[v.last-1]
	n := last.next
	b := &f.pool[n-1]
	last.next = b.next
	b.next = f.poolFree
	f.poolFree = n
	v.ready = step + 1
	if v.packet&tailFlit != 0 {
		v.hop = b.hop
		v.ready += f.routeDelay
	}
	v.packet, v.dst, v.state = b.packet, b.dst, b.state
}
