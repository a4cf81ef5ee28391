package fabric

import "math/bits"

// allocateVCs is virtual-channel allocation, one step: packets at the front of
// their queue ask for the free virtual channels that their routing allows;
// each grants the request nearest to its round-robin pointer, each packet
// accepts the grant nearest to its own (iSLIP with one iteration: McKeown
// 1999). Packets that find none free wait, unasked, until one is released.
//
// A packet that asks for one virtual channel which nobody else wants gets it
// in any case; the round robins are played out among the others only.
func (f *Fabric) allocateVCs(sw *switchState, m []masks, step uint32) {
	a := &f.alloc
	vcs := int32(f.vcs)
	requests := a.requests[:0]
	var wanted, contested uint64 // local output virtual channels modulo 64
	for w := range m {
		for left := m[w].va; left != 0; left &= left - 1 {
			b := int32(bits.TrailingZeros64(left))
			local := int32(w)<<6 + b
			v := &f.queues[sw.queue0+local]
			if int32(v.ready-step) > 0 {
				continue
			}
			port := int32(v.hop >> 16)
			o := &f.out[sw.port0+port]
			free := v.hop & uint32(o.free)
			if f.cutThrough && free != 0 {
				free = f.roomFor(v, sw.port0+port, free)
			}
			if free == 0 {
				m[w].va &^= 1 << b
				f.waitNext[sw.queue0+local] = o.waiters
				o.waiters = sw.queue0 + local + 1
				continue
			}
			first := port * vcs
			asked := bits.RotateLeft64(uint64(free), int(first&63))
			contested |= wanted & asked
			wanted |= asked
			if free&(free-1) != 0 {
				contested |= asked
			}
			requests = append(requests, request{local: local, output: first + int32(bits.TrailingZeros32(free)), more: free & (free - 1)})
		}
	}
	a.requests = requests
	rivals := requests[:0]
	for _, r := range requests {
		if contested>>(r.output&63)&1 != 0 {
			rivals = append(rivals, r)
			continue
		}
		f.takeVC(sw, m, r.local, r.output, step)
	}
	if len(rivals) > 0 {
		f.arbitrateVCs(sw, m, rivals, step)
	}
}

// arbitrateVCs plays out the round robins of virtual-channel allocation.
func (f *Fabric) arbitrateVCs(sw *switchState, m []masks, rivals []request, step uint32) {
	a := &f.alloc
	n := sw.ports * int32(f.vcs)
	owners := f.outVC[sw.port0*int32(f.vcs):][:n]
	a.touched, a.granted = a.touched[:0], a.granted[:0]
	for _, r := range rivals {
		first := int32(a.places[r.output].port) * int32(f.vcs)
		for lov, more := r.output, r.more; ; more &= more - 1 {
			// The pointer stands behind the last owner.
			distance := r.local + sw.queue0 + owners[lov].owner
			if distance < 0 {
				distance += n
			}
			a.touched = a.outputs[lov].improve(a.touched, lov, r.local, distance)
			if more == 0 {
				break
			}
			lov = first + int32(bits.TrailingZeros32(more))
		}
	}
	for _, lov := range a.touched {
		local := a.outputs[lov].take()
		distance := lov - f.acceptOV[sw.queue0+local]
		if distance < 0 {
			distance += n
		}
		a.granted = a.inputs[local].improve(a.granted, local, lov, distance)
	}
	for _, local := range a.granted {
		lov := a.inputs[local].take()
		f.takeVC(sw, m, local, lov, step)
		if f.acceptOV[sw.queue0+local] = lov + 1; lov+1 == n {
			f.acceptOV[sw.queue0+local] = 0
		}
	}
}

// takeVC gives output virtual channel lov to the packet at the front of a
// queue.
func (f *Fabric) takeVC(sw *switchState, m []masks, local, lov int32, step uint32) {
	ov := sw.port0*int32(f.vcs) + lov
	v := &f.queues[sw.queue0+local]
	v.out = ov
	v.ready = step + uint32(f.config.Switch.VCAllocCycles)
	at := f.alloc.places[lov]
	f.out[sw.port0+int32(at.port)].free &^= 1 << at.vc
	f.outVC[ov].owner = sw.queue0 + local
	w, bit := local>>6, uint64(1)<<(local&63)
	m[w].va &^= bit
	m[w].sa |= bit
}

// roomFor narrows a set of virtual channels behind a port to those with
// credits for the whole packet at the front of v (cut-through).
func (f *Fabric) roomFor(v *inVC, port int32, set uint32) uint32 {
	need := f.packets[v.packet>>packetBits].flits
	room := uint32(0)
	for left := set; left != 0; left &= left - 1 {
		vc := int32(bits.TrailingZeros32(left))
		if f.outVC[port*int32(f.vcs)+vc].credits >= need {
			room |= 1 << vc
		}
	}
	return room
}

// wakeWaiters lets the packets that wait for a virtual channel of a port ask
// again.
func (f *Fabric) wakeWaiters(o *outPort) {
	for q := o.waiters; q != 0; {
		f.masks[(q-1)>>6].va |= 1 << ((q - 1) & 63)
		next := f.waitNext[q-1]
		if next == 0 {
			f.activate((q - 1) >> 6)
		}
		q = next
	}
	o.waiters = 0
}
