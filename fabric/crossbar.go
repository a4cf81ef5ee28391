package fabric

import "math/bits"

// allocateSwitch is switch allocation, one step: flits ask for their output
// port; each output grants the input port nearest to its round-robin pointer,
// each input accepts the output nearest to its own (iSLIP: McKeown 1999), and
// the matched flits cross. Of several virtual channels of an input that want
// the same output the round robin of the input decides. With the allocator
// input-first, each input puts forward only the virtual channel next in its
// round robin, and every grant is accepted. A flit without a credit goes to
// sleep until one comes.
//
// A flit that is alone both at its input and at its output crosses in any
// case; the round robins are played out among the others only.
func (f *Fabric) allocateSwitch(sw *switchState, t *stepTime) {
	requests := f.requestCrossbar(sw, t.number)
	var inputs, outputs, rivalInputs, rivalOutputs uint64 // ports modulo 64
	for i := range requests {
		r := &requests[i]
		in, out := uint64(1)<<(r.port&63), uint64(1)<<(r.output&63)
		rivalInputs |= inputs & in
		inputs |= in
		rivalOutputs |= outputs & out
		outputs |= out
	}
	rivals := requests[:0]
	for i := range requests {
		r := &requests[i]
		if (rivalInputs>>(r.port&63)|rivalOutputs>>(r.output&63))&1 != 0 {
			rivals = append(rivals, *r)
			continue
		}
		f.cross(sw, r.local, r.port, r.output, t, true)
	}
	if len(rivals) > 0 {
		f.arbitrate(sw, rivals, t)
	}
}

// requestCrossbar lists the flits that may cross in this step. Those without a
// credit go to sleep.
func (f *Fabric) requestCrossbar(sw *switchState, step uint32) []request {
	requests, places := f.alloc.requests, f.alloc.places
	n := 0
	now := f.cycle << intervalShift
	for w := range sw.masks {
		m := &sw.masks[w]
		for left := m.sa; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.queue(local)
			if int32(v.ready-step) > 0 {
				continue
			}
			if sw.outVC(uint32(v.out)).credits == 0 {
				m.sa &^= left & -left
				continue
			}
			output := v.hop >> 16
			if o := sw.outPort(output); o.nextFree-o.window >= now {
				continue // no room behind the crossbar
			}
			requests[n] = request{local: local, port: uint32(places[local].port), output: output}
			n++
		}
	}
	return requests[:n]
}

// arbitrate plays out the round robins of switch allocation, iteration by
// iteration among those not matched yet.
func (f *Fabric) arbitrate(sw *switchState, rivals []request, t *stepTime) {
	a := &f.alloc
	for iteration := range f.config.Switch.Iterations {
		if iteration > 0 {
			rivals = a.unmatched(rivals)
		}
		f.grantOutputs(sw, rivals)
		if len(a.touched) == 0 {
			break
		}
		f.acceptInputs(sw)
		for _, port := range a.granted {
			output := a.inputs[port].take()
			local := a.outputs[output].take()
			a.matched[2*port], a.matched[2*output+1] = true, true
			f.cross(sw, local, port, output, t, iteration == 0)
		}
		for _, output := range a.touched {
			a.outputs[output].index = 0
		}
	}
	clear(a.matched[:2*sw.ports])
}

// unmatched keeps the requests whose input and output are both free.
func (a *allocator) unmatched(requests []request) []request {
	kept := requests[:0]
	for _, r := range requests {
		if !a.matched[2*r.port] && !a.matched[2*r.output+1] {
			kept = append(kept, r)
		}
	}
	return kept
}

// grantOutputs lets each output port choose among the requests for it.
func (f *Fabric) grantOutputs(sw *switchState, rivals []request) {
	a := &f.alloc
	vcs := int32(f.vcs)
	if f.inputFirst {
		rivals = f.putForward(sw, rivals)
	}
	a.touched = a.touched[:0]
	for _, r := range rivals {
		distance := int32(r.port) - int32(sw.outPort(r.output).grant)
		if distance < 0 {
			distance += sw.ports
		}
		a.touched = a.outputs[r.output].improve(a.touched, r.output, r.local, distance*vcs+f.vcDistance(sw, r))
	}
}

// putForward keeps one request of each input port: that of the virtual channel
// next in its round robin.
func (f *Fabric) putForward(sw *switchState, rivals []request) []request {
	a := &f.alloc
	a.granted = a.granted[:0]
	for k, r := range rivals {
		a.granted = a.inputs[r.port].improve(a.granted, r.port, uint32(k), f.vcDistance(sw, r))
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
	d := int32(f.alloc.places[r.local].vc) - int32(sw.inPort(r.port).vc)
	if d < 0 {
		d += int32(f.vcs)
	}
	return d
}

// acceptInputs lets each input port choose among the outputs that granted it.
func (f *Fabric) acceptInputs(sw *switchState) {
	a := &f.alloc
	a.granted = a.granted[:0]
	for _, output := range a.touched {
		port := uint32(a.places[a.outputs[output].index-1].port)
		distance := int32(output) - int32(sw.inPort(port).accept)
		if distance < 0 {
			distance += sw.ports
		}
		a.granted = a.inputs[port].improve(a.granted, port, output, distance)
	}
}

// cross sends the flit at the front of a queue through the crossbar onto its
// channel and its credit upstream, and moves the round-robin pointers behind
// it where told to. With a packet's last flit its output virtual channel is
// released and the next packet comes to the front.
func (f *Fabric) cross(sw *switchState, local, port, output uint32, t *stepTime, advance bool) {
	v := sw.queue(local)
	o := sw.outPort(output)
	in := sw.inPort(port)
	vcIn := f.alloc.places[local].vc
	if advance {
		o.grant, in.accept, in.vc = uint16(port+1), uint16(output+1), vcIn+1
	}
	back := t.credit + int64(in.delay)
	credit := f.credits.Room(back)
	if credit == nil {
		credit = f.credits.Place(back)
	}
	*credit = in.upstream + int32(vcIn)
	ov := sw.outVC(uint32(v.out))
	vc := v.out - int32(output)*int32(f.vcs)
	ov.flits++
	if f.occupancy {
		sw.outVC(lowestOV(v.hop, uint32(f.vcs))).waiting--
	}
	// The output queue is not simulated: the channel's next free time is.
	depart := max(t.depart, o.nextFree)
	o.nextFree = depart + o.interval
	arrival := wholeCycle(depart) + int64(o.latency)
	e := f.flits.Room(arrival)
	if e == nil {
		e = f.flits.Place(arrival)
	}
	e.queue, e.packet, e.dst, e.state = o.dest, v.packet, v.dst, v.state
	if o.dest >= 0 {
		ov.credits--
		e.queue += vc
	}
	if v.state < maxHops<<hopShift {
		e.state += 1 << hopShift
	}
	f.FlitHops++

	m, bit := &sw.masks[local>>6], uint64(1)<<(local&63)
	tail := v.packet&tailFlit != 0
	v.count--
	if tail {
		v.out = -1
		m.sa &^= bit
		ov.owner = ^ov.owner
		o.free |= 1 << vc
		if o.waiters != 0 {
			f.wakeWaiters(o)
		}
	} else if v.count == 0 {
		m.sa &^= bit
	}
	if v.count == 0 {
		return
	}
	last := &f.pool[v.last-1]
	n := last.next
	b := &f.pool[n-1]
	last.next = b.next
	v.packet, v.dst, v.state = b.packet, b.dst, b.state
	v.ready = t.number + 1
	if tail {
		v.hop = b.hop
		v.ready += f.routeDelay
		m.va |= bit
	}
	b.next = f.poolFree
	f.poolFree = n
}
