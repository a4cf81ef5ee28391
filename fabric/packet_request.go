package fabric

import "math/bits"

// requestsPlainly tells whether request serves: heads take their virtual channel as
// they cross, at once, and go where they have been decided for.
func (u *packetUnit) requestsPlainly(f *Fabric) bool {
	return f.combined != 0 && f.escape == nil && !f.storeForward && !neverPlain
}

// request is Fabric.requestCrossbar for packets in the usual case.
func (u *packetUnit) request(f *Fabric, sw *switchState, step uint32) (list []request, rivalInputs, rivalOutputs uint64) {
	requests, places := of(f.alloc.requests, 0), of(f.alloc.places, 0)
	held, accepts := of(f.hold.ports, uint32(sw.port0)), of(f.acceptOV, uint32(sw.queue0))
	vcs, n := uint32(f.vcs), uint32(0)
	now := f.cycle << intervalShift
	full := now + f.leastWindow // before that, there is room behind the crossbar in any case
	var inputs, outputs uint64
	for w := range sw.masks {
		m := &sw.masks[w]
		for left := m.sa; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.queue(local)
			if int32(v.ready-step) > 0 {
				continue
			}
			port, output := uint32(at(places, local).port), v.hop>>16
			o, from, to := sw.outPort(output), at(held, port), at(held, output)
			if from.input {
				u.sleep(f, sw, local, &from.inputWaiters)
				continue
			}
			if to.output {
				u.sleep(f, sw, local, &to.outputWaiters)
				continue
			}
			if o.nextFree >= full {
				if from := o.nextFree - f.pace(o).window; from >= now {
					u.sleepUntil(f, sw, local, from>>intervalShift+1)
					continue
				}
			}
			free := v.hop & uint32(o.free)
			lov := output*vcs + uint32(bits.TrailingZeros32(free))
			if free != 0 && free&(free-1) == 0 && sw.outVC(lov).credits >= f.train(v.packet>>packetBits).flits {
				v.out = int32(lov) // chooseVC in most cases
				*at(accepts, local) = v.out + 1
			} else if !f.chooseVC(sw, local, v, free) {
				f.sleepForVC(sw, w, left&-left)
				continue
			}
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
