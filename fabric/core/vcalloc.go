package core

import (
	"math/bits"

	"github.com/weft-sim/weft/sim/check"
)

// allocateVCs is virtual-channel allocation, one step: packets at the front of
// their queue ask for the free virtual channels that their routing allows;
// each grants the request nearest to its round-robin pointer, each packet
// accepts the grant nearest to its own (iSLIP with one iteration: McKeown
// 1999). Packets that find none free wait, unasked, until one is released.
//
// A packet that asks for virtual channels which nobody else wants is granted
// all of them in any case; the round robins are played out among the others
// only.
func (d *domain) allocateVCs(sw *switchState, step uint32) {
	requests, contested := d.requestVCs(sw, step)
	if contested == 0 {
		d.takeVCs(sw, requests, step)
		return
	}
	// No branches: whether a request has rivals cannot be predicted.
	vcs := uint32(d.vcs)
	alone, met, rivals := 0, 0, d.matcher.rivals
	for _, r := range requests {
		meets := 0
		if r.asked(vcs)&contested != 0 {
			meets = 1
		}
		requests[alone], rivals[met] = r, r
		alone += 1 - meets
		met += meets
	}
	d.takeVCs(sw, requests[:alone], step)
	d.arbitrateVCs(sw, rivals[:met], step)
}

// asked is the local output virtual channels, modulo 64, of a request.
func (r request) asked(vcs uint32) uint64 {
	return bits.RotateLeft64(uint64(r.free()), int(r.port()*vcs&63))
}

// requestVCs lists the packets that find a virtual channel free in this step, and the
// virtual channels, modulo 64, that several of them ask for. It lets the others wait.
func (d *domain) requestVCs(sw *switchState, step uint32) (list []request, contested uint64) {
	requests, vcs, special := check.Of(d.matcher.requests), uint32(d.vcs), d.vcSpecial
	n := uint32(0)
	var wanted uint64
	for w := range sw.masks {
		m := &sw.masks[w]
		sleep := uint64(0)
		for left := m.va; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.queue(local)
			hop := v.hop
			if special && v.out >= 0 {
				if !d.mayAsk(sw, local, v, step) {
					continue
				}
				hop = d.asking(sw, local, v).hop
			} else if int32(v.ready-step) > 0 {
				continue
			} else if special {
				if d.storeForward && d.incomplete(sw, local, v) {
					continue
				}
				if hop == multicastHop { // its branches take theirs as they begin
					v.ready = step + d.vaDelay
					m.va &^= left & -left
					m.next |= left & -left
					continue
				}
				if d.escape != nil {
					if !d.escape.decide(d, sw, local, v) {
						continue
					}
					hop = v.hop
				}
			}
			port := hop >> 16
			free := hop & uint32(sw.outPort(port).free)
			if free == 0 {
				sleep |= left & -left
				continue
			}
			*requests.At(n) = newRequest(local, hop&^(1<<16-1)|free)
			n++
			asked := bits.RotateLeft64(uint64(free), int(port*vcs&63))
			contested |= wanted & asked
			wanted |= asked
		}
		if sleep != 0 {
			d.sleepForVC(sw, w, sleep)
		}
	}
	if d.cutThrough {
		return d.withRoom(sw, d.matcher.requests[:n])
	}
	return d.matcher.requests[:n], contested
}

// arbitrateVCs plays out the round robins of virtual-channel allocation.
func (d *domain) arbitrateVCs(sw *switchState, rivals []request, step uint32) {
	m := &d.matcher
	n := sw.ports * int32(d.vcs)
	m.touched, m.granted = m.touched[:0], m.granted[:0]
	for _, r := range rivals {
		for free := r.free(); free != 0; free &= free - 1 {
			lov := r.port()*uint32(d.vcs) + uint32(bits.TrailingZeros32(free))
			// The pointer stands behind the last owner.
			distance := int32(r.local()) + sw.queue0 + sw.outVC(lov).owner
			if distance < 0 {
				distance += n
			}
			m.touched = m.outputs[lov].improve(m.touched, lov, r.local(), distance)
		}
	}
	for _, lov := range m.touched {
		local := m.outputs[lov].take()
		distance := int32(lov) - d.acceptOV[uint32(sw.queue0)+local]
		if distance < 0 {
			distance += n
		}
		m.granted = m.inputs[local].improve(m.granted, local, lov, distance)
	}
	matches := m.requests[:0]
	for _, local := range m.granted {
		lov := m.inputs[local].take()
		d.acceptOV[uint32(sw.queue0)+local] = int32(lov) + 1
		place := m.places[lov]
		matches = append(matches, newRequest(local, uint32(place.port)<<16|1<<place.vc))
	}
	d.takeVCs(sw, matches, step)
}

// takeVCs gives each of some packets a virtual channel of its request: where it
// was granted several, the one nearest to its round-robin pointer.
func (d *domain) takeVCs(sw *switchState, matches []request, step uint32) {
	if d.observer != nil {
		d.observer.grantedVC(d, sw, d.ofFronts(sw, matches), step)
	}
	vcs, ready, overlaps := uint32(d.vcs), step+d.vaDelay, d.upcoming != nil
	for _, r := range matches {
		local, port, free := r.local(), r.port(), r.free()
		vc := uint32(bits.TrailingZeros32(free))
		lov := port*vcs + vc
		if free&(free-1) != 0 {
			lov = nextVC(check.At(d.acceptOV, uint32(sw.queue0)+local), port*vcs, free)
			vc = lov - port*vcs
		}
		sw.outVC(lov).owner = sw.queue0 + int32(local)
		sw.outPort(port).free &^= 1 << (vc & 15)
		v, m, bit := sw.queue(local), sw.mask(local), uint64(1)<<(local&63)
		m.va &^= bit
		if overlaps && v.out >= 0 {
			u := d.behindFront(sw, local)
			u.out, u.ready = int32(lov), ready
			continue
		}
		v.out, v.ready = int32(lov), ready
		m.next |= bit
		if overlaps && v.count > 1 {
			d.offerSecond(sw, local, v)
		}
	}
}

// chooseVC points the packet at the front of a queue to one of some free virtual
// channels that has room; false if none has. Virtual channels are chosen anew
// in each step, in round robin, and taken by crossing the switch.
func (d *domain) chooseVC(sw *switchState, local uint32, v *inVC, free uint32) bool {
	need := int32(1)
	if d.cutThrough {
		need = d.flitsOf(v.packet >> packetBits)
	}
	port := v.hop >> 16
	if free = d.withCredits(sw, port, free, need); free == 0 {
		return false
	}
	v.out = int32(nextVC(&d.acceptOV[uint32(sw.queue0)+local], port*uint32(d.vcs), free))
	return true
}

// withCredits narrows a set of virtual channels of a port to those with at
// least so many credits.
func (d *domain) withCredits(sw *switchState, port, set uint32, need int32) uint32 {
	ovs := sw.outVCs.From(port * uint32(d.vcs))
	short := shortOf(ovs, set, need)
	if d.unit != nil && set&short != 0 {
		d.unit.room(d, sw.port0+int32(port), set, need)
		short = shortOf(ovs, set, need)
	}
	return set &^ short
}

// shortOf is which of a port's virtual channels, up to the last of a set, have less
// than so many credits.
func shortOf(ovs check.Array[outVC], set uint32, need int32) (short uint32) {
	for vc := range uint32(bits.Len32(set)) {
		// No branch: nothing predicts it.
		short |= uint32(ovs.At(vc).credits-need) >> 31 << vc
	}
	return short
}

// withRoom narrows requests to virtual channels with credits for the whole
// packet (cut-through), as [domain.requestVCs] lists them, and lets packets that are left
// without one wait.
func (d *domain) withRoom(sw *switchState, requests []request) (kept []request, contested uint64) {
	kept = requests[:0]
	var wanted uint64
	for _, r := range requests {
		need := d.flitsOf(d.asking(sw, r.local(), sw.queue(r.local())).packet >> packetBits)
		r = newRequest(r.local(), r.port()<<16|d.withCredits(sw, r.port(), r.free(), need))
		if r.free() == 0 {
			d.sleepForVC(sw, int(r.local()>>6), 1<<(r.local()&63))
			if d.upcoming != nil && sw.queue(r.local()).out >= 0 {
				if u := d.behindFront(sw, r.local()); u.asleep != 0 {
					u.asleep = PartCredit
				}
			} else if d.observer != nil {
				d.observer.sleeps(d, sw.queue0+int32(r.local()), PartCredit)
			}
			continue
		}
		kept = append(kept, r)
		contested |= wanted & r.asked(uint32(d.vcs))
		wanted |= r.asked(uint32(d.vcs))
	}
	return kept, contested
}

// sleepForVC lets packets of mask word w wait until a virtual channel of their
// port is released.
func (d *domain) sleepForVC(sw *switchState, w int, packets uint64) {
	m := &sw.masks[w]
	m.va &^= packets
	for ; packets != 0; packets &= packets - 1 {
		local := uint32(w<<6 + bits.TrailingZeros64(packets))
		v := sw.queue(local)
		o := sw.outPort(d.asking(sw, local, v).hop >> 16)
		if d.upcoming == nil || d.combined != 0 || v.out < 0 {
			m.sa &^= packets & -packets
		} else if d.unit == nil || d.unit.followed != nil {
			d.behindFront(sw, local).asleep = PartVC
		} else {
			m.va |= packets & -packets // it asks on: the front may be in a list itself
			continue
		}
		queue := sw.queue0 + int32(local)
		d.waitNext[queue] = o.waiters
		o.waiters = queue + 1
		if d.unit != nil && d.unit.followed != nil {
			d.unit.heed(d, sw.port0+int32(d.asking(sw, local, v).hop>>16))
		}
	}
}

// wakeWaiters lets the packets that wait for a virtual channel of a port ask
// again.
func (d *domain) wakeWaiters(o *outPort) {
	for q := o.waiters; q != 0; q = d.waitNext[q-1] {
		word, bit := (q-1)>>6, uint64(1)<<((q-1)&63)
		if d.combined != 0 {
			d.masks[word].sa |= bit
		} else {
			d.masks[word].va |= bit
		}
		if !d.secondWakes(q-1) && d.observer != nil {
			d.observer.resumes(d, q-1, d.bidding())
		}
		d.activate(word)
	}
	o.waiters = 0
}
