package fabric

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric/topology"
)

// allocateSwitch is switch allocation, one step: flits ask for their output
// port; each output grants the input port nearest to its round-robin pointer,
// each input accepts the output nearest to its own (iSLIP: McKeown 1999), and
// the matched flits cross. Of several virtual channels of an input that want
// the same output the round robin of the input decides. With the allocator
// input-first, each input puts forward only the virtual channel next in its
// round robin, and every grant is accepted. A flit without a credit goes to
// sleep until one comes. i is the step's index in the cycle.
//
// A flit that is alone both at its input and at its output crosses in any
// case; the round robins are played out among the others only.
func (f *Fabric) allocateSwitch(sw *switchState, m []masks, step uint32, i int) {
	a := &f.alloc
	requests := a.requests[:0]
	var inputs, outputs, rivalInputs, rivalOutputs uint64 // ports modulo 64
	for w := range m {
		for left := m[w].sa; left != 0; left &= left - 1 {
			b := int32(bits.TrailingZeros64(left))
			local := int32(w)<<6 + b
			v := &f.queues[sw.queue0+local]
			if int32(v.ready-step) > 0 {
				continue
			}
			if f.outVC[v.out].credits == 0 {
				m[w].sa &^= 1 << b
				continue
			}
			output := int32(v.hop >> 16)
			o := &f.out[sw.port0+output]
			if limit := f.limit[uint32(o.dest)>>31]; limit != 0 && o.nextFree > f.fullFrom(limit, o) {
				continue
			}
			port := int32(a.places[local].port)
			in, out := uint64(1)<<(port&63), uint64(1)<<(output&63)
			rivalInputs |= inputs & in
			inputs |= in
			rivalOutputs |= outputs & out
			outputs |= out
			requests = append(requests, request{local: local, output: output, port: port})
		}
	}
	rivals := requests[:0]
	for _, r := range requests {
		if rivalInputs>>(r.port&63)&1|rivalOutputs>>(r.output&63)&1 != 0 {
			rivals = append(rivals, r)
			continue
		}
		f.cross(sw, m, r.local, r.port, r.output, step, i, true)
	}
	if len(rivals) > 0 {
		f.arbitrate(sw, m, rivals, step, i)
	}
}

// fullFrom is the latest free time of a channel at which one more flit may
// join those that wait for it.
func (f *Fabric) fullFrom(limit int64, o *outPort) int64 {
	return f.cycle<<intervalShift + limit*f.interval[o.class] - 1
}

// arbitrate plays out the round robins of switch allocation, iteration by
// iteration among those not matched yet.
func (f *Fabric) arbitrate(sw *switchState, m []masks, rivals []request, step uint32, i int) {
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
			f.cross(sw, m, local, port, output, step, i, iteration == 0)
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
		distance := r.port - int32(f.out[sw.port0+r.output].grant)
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
		a.granted = a.inputs[r.port].improve(a.granted, r.port, int32(k), f.vcDistance(sw, r))
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
	d := int32(f.alloc.places[r.local].vc) - int32(f.in[sw.port0+r.port].vc)
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
		port := int32(a.places[a.outputs[output].index-1].port)
		distance := output - int32(f.in[sw.port0+port].accept)
		if distance < 0 {
			distance += sw.ports
		}
		a.granted = a.inputs[port].improve(a.granted, port, output, distance)
	}
}

// cross sends the flit at the front of a queue through the crossbar onto its
// channel and its credit upstream, and moves the round-robin pointers behind
// it where told to.
func (f *Fabric) cross(sw *switchState, m []masks, local, port, output int32, step uint32, i int, advance bool) {
	v := &f.queues[sw.queue0+local]
	o := &f.out[sw.port0+output]
	in := &f.in[sw.port0+port]
	vcIn := int32(f.alloc.places[local].vc)
	if advance {
		o.grant, in.accept, in.vc = after(port, sw.ports), after(output, sw.ports), after(vcIn, int32(f.vcs))
	}
	vc := v.out - (sw.port0+output)*int32(f.vcs)
	ov := &f.outVC[v.out]
	ov.flits++
	e := flit{queue: o.dest, packet: v.packet, dst: v.dst, state: v.state}
	if o.dest >= 0 {
		ov.credits--
		e.queue += vc
	}
	if f.occupancy {
		f.outVC[(sw.port0+output)*int32(f.vcs)+lowestVC(v.hop)].waiting--
	}
	if e.state < maxHops<<hopShift {
		e.state += 1 << hopShift
	}
	// The output queue is not simulated: the channel's next free time is.
	depart := max(f.steps.out[i]<<intervalShift, o.nextFree)
	o.nextFree = depart + f.interval[o.class]
	f.flits.Push(wholeCycle(depart)+int64(o.latency), e)
	creditDelay := int64(in.delay)
	if f.sensing != nil && o.dest >= 0 {
		creditDelay += f.sensing.late(f, topology.PortID(sw.port0+port), topology.PortID(sw.port0+output))
		f.sensing.sent(v.out, f.buffer-ov.credits, f.cycle)
	}
	f.credits.Push(f.steps.credit[i]+creditDelay, in.upstream+vcIn)
	f.FlitHops++
	f.dequeue(&m[local>>6], v, local, step, o, ov, vc)
}

// after is the round-robin pointer behind i.
func after(i, n int32) uint16 {
	if i+1 == n {
		return 0
	}
	return uint16(i + 1)
}

// dequeue removes the flit at the front of a queue; with a packet's last flit
// its output virtual channel is released and the next packet comes to the
// front.
func (f *Fabric) dequeue(word *masks, v *inVC, local int32, step uint32, o *outPort, ov *outVC, vc int32) {
	bit := uint64(1) << (local & 63)
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
	last := &f.pool[v.last-1]
	n := last.next
	b := &f.pool[n-1]
	last.next = b.next
	v.packet, v.dst, v.state = b.packet, b.dst, b.state
	v.ready = step + 1
	if tail {
		v.hop = b.hop
		v.ready += uint32(f.config.Switch.RouteCycles)
		word.va |= bit
	}
	b.next = f.poolFree
	f.poolFree = n
}
