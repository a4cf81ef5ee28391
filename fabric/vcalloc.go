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
func (f *Fabric) allocateVCs(sw *switchState, step uint32) {
	requests := f.alloc.requests
	n := 0
	var wanted, contested uint64 // local output virtual channels modulo 64
	for w := range sw.masks {
		m, queues := sw.word(w)
		for left := m.va; left != 0; left &= left - 1 {
			b := bits.TrailingZeros64(left) & 63
			v := &queues[b]
			if int32(v.ready-step) > 0 {
				continue
			}
			port := v.hop >> 16
			o := &sw.out[port]
			free := v.hop & uint32(o.free)
			if f.cutThrough && free != 0 {
				free = f.roomFor(sw, v, free)
			}
			if free == 0 {
				m.va &^= 1 << b
				f.wait(o, sw.queue0+int32(w<<6+b))
				continue
			}
			more := free & (free - 1)
			first := port * uint32(f.vcs)
			asked := bits.RotateLeft64(uint64(free), int(first&63))
			contested |= wanted & asked
			wanted |= asked
			if more != 0 {
				contested |= asked
			}
			requests[n] = request{local: uint32(w<<6 + b), output: first + uint32(bits.TrailingZeros32(free)), more: more, port: port}
			n++
		}
	}
	requests = requests[:n]
	rivals := requests[:0]
	for i := range requests {
		r := &requests[i]
		if contested>>(r.output&63)&1 != 0 {
			rivals = append(rivals, *r)
			continue
		}
		f.takeVC(sw, r.local, r.output, r.port, step)
	}
	if len(rivals) > 0 {
		f.arbitrateVCs(sw, rivals, step)
	}
}

// arbitrateVCs plays out the round robins of virtual-channel allocation.
func (f *Fabric) arbitrateVCs(sw *switchState, rivals []request, step uint32) {
	a := &f.alloc
	n := int32(len(sw.outVC))
	a.touched, a.granted = a.touched[:0], a.granted[:0]
	for _, r := range rivals {
		first := r.port * uint32(f.vcs)
		for lov, more := r.output, r.more; ; more &= more - 1 {
			// The pointer stands behind the last owner.
			distance := int32(r.local) + sw.queue0 + sw.outVC[lov].owner
			if distance < 0 {
				distance += n
			}
			a.touched = a.outputs[lov].improve(a.touched, lov, r.local, distance)
			if more == 0 {
				break
			}
			lov = first + uint32(bits.TrailingZeros32(more))
		}
	}
	for _, lov := range a.touched {
		local := a.outputs[lov].take()
		distance := int32(lov) - f.acceptOV[uint32(sw.queue0)+local]
		if distance < 0 {
			distance += n
		}
		a.granted = a.inputs[local].improve(a.granted, local, lov, distance)
	}
	for _, local := range a.granted {
		lov := a.inputs[local].take()
		f.takeVC(sw, local, lov, uint32(a.places[lov].port), step)
		f.acceptOV[uint32(sw.queue0)+local] = int32(lov) + 1
	}
}

// takeVC gives output virtual channel lov, of a port, to the packet at the
// front of a queue.
func (f *Fabric) takeVC(sw *switchState, local, lov, port, step uint32) {
	v := &sw.queues[local]
	v.out = int32(lov)
	v.ready = step + f.vaDelay
	sw.out[port].free &^= 1 << (lov - port*uint32(f.vcs))
	sw.outVC[lov].owner = sw.queue0 + int32(local)
	m, bit := &sw.masks[local>>6], uint64(1)<<(local&63)
	m.va &^= bit
	if f.vaDelay == 0 {
		m.sa |= bit
	} else {
		m.next |= bit
	}
}

// roomFor narrows a set of virtual channels behind the port that v's packet
// goes to, to those with credits for the whole of it (cut-through).
func (f *Fabric) roomFor(sw *switchState, v *inVC, set uint32) uint32 {
	need := f.packets[v.packet>>packetBits].flits
	first := v.hop >> 16 * uint32(f.vcs)
	room := uint32(0)
	for left := set; left != 0; left &= left - 1 {
		vc := uint32(bits.TrailingZeros32(left))
		if sw.outVC[first+vc].credits >= need {
			room |= 1 << vc
		}
	}
	return room
}

// wait puts a queue's packet among those that wait for a virtual channel of a
// port.
func (f *Fabric) wait(o *outPort, queue int32) {
	f.waitNext[queue] = o.waiters
	o.waiters = queue + 1
}

// wakeWaiters lets the packets that wait for a virtual channel of a port ask
// again.
func (f *Fabric) wakeWaiters(o *outPort) {
	for q := o.waiters; q != 0; q = f.waitNext[q-1] {
		word := (q - 1) >> 6
		f.masks[word].va |= 1 << ((q - 1) & 63)
		f.activate(word)
	}
	o.waiters = 0
}
