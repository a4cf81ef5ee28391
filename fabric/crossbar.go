package fabric

import "math/bits"

// allocateSwitch is switch allocation, one step: flits ask for their output
// port; each output grants the input port nearest to its round-robin pointer,
// each input accepts the output nearest to its own (iSLIP: McKeown 1999), and
// the matched flits cross. Of several virtual channels of an input that want
// the same output the round robin of the input decides. With the allocator
// input-first, each input puts forward only the virtual channel next in its
// round robin, and every grant is accepted.
func (f *Fabric) allocateSwitch(sw *switchState, m []masks, step uint32, i int) {
	a := &f.alloc
	iterations := f.config.Switch.Iterations
	for iteration := range iterations {
		if f.inputFirst {
			f.requestInputFirst(sw, m, step)
		} else {
			f.requestAll(sw, m, step)
		}
		if len(a.touched) == 0 {
			break
		}
		f.accept(sw)
		for _, port := range a.granted {
			g := &a.inGranted[port]
			local := g.index - 1
			g.index = 0
			if iteration == 0 {
				f.advancePointers(sw, port, local)
			}
			if iterations > 1 {
				output := int32(f.queues[sw.queue0+local].hop >> 16)
				a.inTaken[port], a.outTaken[output] = true, true
				a.taken = append(a.taken, port, output)
			}
			f.cross(sw, m, local, step, i)
		}
	}
	for _, port := range a.taken {
		a.inTaken[port], a.outTaken[port] = false, false
	}
	a.taken = a.taken[:0]
}

// eligible tells whether the flit at the front of a queue may ask for the
// crossbar; without a credit it goes to sleep until one comes.
func (f *Fabric) eligible(sw *switchState, m []masks, local int32, step uint32) (v *inVC, output int32, ok bool) {
	v = &f.queues[sw.queue0+local]
	if int32(v.ready-step) > 0 {
		return v, 0, false
	}
	if f.outVC[v.out].credits == 0 {
		m[local>>6].sa &^= 1 << (local & 63)
		return v, 0, false
	}
	output = int32(v.hop >> 16)
	o := &f.out[sw.port0+output]
	if o.limit != 0 && o.nextFree-f.cycle<<intervalShift >= int64(o.limit)*o.interval {
		return v, output, false
	}
	if a := &f.alloc; len(a.taken) > 0 && (a.inTaken[a.portOf[local]] || a.outTaken[output]) {
		return v, output, false
	}
	return v, output, true
}

// requestAll collects, for each output port, the best of all requests.
func (f *Fabric) requestAll(sw *switchState, m []masks, step uint32) {
	a := &f.alloc
	vcs := int32(f.vcs)
	a.touched = a.touched[:0]
	for w := range m {
		for left := m[w].sa; left != 0; left &= left - 1 {
			local := int32(w)<<6 + int32(bits.TrailingZeros64(left))
			_, output, ok := f.eligible(sw, m, local, step)
			if !ok {
				continue
			}
			port := a.portOf[local]
			distance := port - f.out[sw.port0+output].grant
			if distance < 0 {
				distance += sw.ports
			}
			vcDistance := local - port*vcs - f.in[sw.port0+port].vc
			if vcDistance < 0 {
				vcDistance += vcs
			}
			a.request(output, local, distance*vcs+vcDistance)
		}
	}
}

// requestInputFirst collects, for each output port, the best of the requests
// that the inputs put forward.
func (f *Fabric) requestInputFirst(sw *switchState, m []masks, step uint32) {
	a := &f.alloc
	vcs := int32(f.vcs)
	a.granted = a.granted[:0]
	for w := range m {
		for left := m[w].sa; left != 0; left &= left - 1 {
			local := int32(w)<<6 + int32(bits.TrailingZeros64(left))
			if _, _, ok := f.eligible(sw, m, local, step); !ok {
				continue
			}
			port := a.portOf[local]
			distance := local - port*vcs - f.in[sw.port0+port].vc
			if distance < 0 {
				distance += vcs
			}
			a.grant(port, local, distance)
		}
	}
	a.touched = a.touched[:0]
	for _, port := range a.granted {
		local := a.inGranted[port].index - 1
		a.inGranted[port].index = 0
		output := int32(f.queues[sw.queue0+local].hop >> 16)
		distance := port - f.out[sw.port0+output].grant
		if distance < 0 {
			distance += sw.ports
		}
		a.request(output, local, distance)
	}
}

// accept lets each input port choose among the outputs that granted it.
func (f *Fabric) accept(sw *switchState) {
	a := &f.alloc
	a.granted = a.granted[:0]
	for _, output := range a.touched {
		r := &a.outRequest[output]
		local := r.index - 1
		r.index = 0
		port := a.portOf[local]
		distance := output - f.in[sw.port0+port].accept
		if distance < 0 {
			distance += sw.ports
		}
		a.grant(port, local, distance)
	}
}

// request notes a queue's request for an output port.
func (a *allocator) request(output, local, distance int32) {
	r := &a.outRequest[output]
	if r.index == 0 {
		a.touched = append(a.touched, output)
	} else if r.distance <= distance {
		return
	}
	*r = request{local + 1, distance}
}

// grant notes that an input port may send from a queue.
func (a *allocator) grant(port, local, distance int32) {
	g := &a.inGranted[port]
	if g.index == 0 {
		a.granted = append(a.granted, port)
	} else if g.distance <= distance {
		return
	}
	*g = request{local + 1, distance}
}

// advancePointers moves the round-robin pointers behind an accepted grant.
func (f *Fabric) advancePointers(sw *switchState, port, local int32) {
	output := int32(f.queues[sw.queue0+local].hop >> 16)
	in, o := &f.in[sw.port0+port], &f.out[sw.port0+output]
	if o.grant = port + 1; o.grant == sw.ports {
		o.grant = 0
	}
	if in.accept = output + 1; in.accept == sw.ports {
		in.accept = 0
	}
	if in.vc = local - port*int32(f.vcs) + 1; in.vc == int32(f.vcs) {
		in.vc = 0
	}
}

// cross sends the flit at the front of a queue through the crossbar onto its
// channel and its credit upstream. i is the step's index in the cycle.
func (f *Fabric) cross(sw *switchState, m []masks, local int32, step uint32, i int) {
	v := &f.queues[sw.queue0+local]
	vcs := int32(f.vcs)
	output := int32(v.hop >> 16)
	o := &f.out[sw.port0+output]
	vc := v.out - (sw.port0+output)*vcs
	ov := &f.outVC[v.out]
	ov.flits++
	if o.dest >= 0 {
		ov.credits--
	}
	if f.occupancy {
		f.outVC[(sw.port0+output)*vcs+lowestVC(v.hop)].waiting--
	}
	// The output queue is not simulated: the channel's next free time is.
	depart := max(f.steps.out[i]<<intervalShift, o.nextFree)
	o.nextFree = depart + o.interval
	arrive := wholeCycle(depart) + int64(o.latency)
	e := flit{queue: o.dest, packet: v.packet, dst: v.dst, state: v.state}
	if o.dest >= 0 {
		e.queue += vc
	}
	if e.state>>hopShift < maxHops {
		e.state += 1 << hopShift
	}
	f.flits.Push(arrive, e)
	f.FlitHops++
	port := f.alloc.portOf[local]
	in := &f.in[sw.port0+port]
	f.credits.Push(f.steps.credit[i]+int64(in.delay), in.upstream+local-port*vcs)
	f.dequeue(sw, m, local, step, o, ov, vc)
}

// dequeue removes the flit at the front of a queue; with a packet's last flit
// its output virtual channel is released and the next packet comes to the
// front.
func (f *Fabric) dequeue(sw *switchState, m []masks, local int32, step uint32, o *outPort, ov *outVC, vc int32) {
	v := &f.queues[sw.queue0+local]
	word, bit := &m[local>>6], uint64(1)<<(local&63)
	tail := v.packet&tailFlit != 0
	v.count--
	if tail {
		v.out = -1
		word.sa &^= bit
		ov.owner = ^ov.owner
		o.free |= 1 << vc
		if o.waiters != 0 {
			f.wakeWaiters(o)
		}
	} else if v.count == 0 {
		word.sa &^= bit
	}
	if v.count == 0 {
		return
	}
	n := v.first
	b := &f.pool[n-1]
	v.packet, v.dst, v.state, v.first = b.packet, b.dst, b.state, b.next
	v.ready = step + 1
	if tail {
		v.hop = b.hop
		v.ready += uint32(f.config.Switch.RouteCycles)
		word.va |= bit
	}
	b.next = f.poolFree
	f.poolFree = n
}
