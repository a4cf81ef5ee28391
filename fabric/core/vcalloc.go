package core

import (
	"math/bits"
	"unsafe"

	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/mem"
)

// allocateRivalVCs keeps requests for virtual channels that others ask for, too, only where they
// win.
func (d *Domain) allocateRivalVCs(sw *SwitchState, requests []Request) []Request {
	vcs := uint32(d.vcs)
	var wanted, contested uint64 // virtual channels, modulo 64, that some ask for, and several
	for _, r := range requests {
		asked := r.asked(vcs)
		contested |= wanted & asked
		wanted |= asked
	}
	// No branches: whether a request has rivals cannot be predicted.
	alone, met, rivals := uint32(0), uint32(0), d.Matcher.rivals
	for _, r := range requests {
		meets := uint32(0)
		if r.asked(vcs)&contested != 0 {
			meets = 1
		}
		*check.At(requests, alone), *check.At(rivals, met) = r, r
		alone += 1 - meets
		met += meets
	}
	return d.arbitrateVCs(sw, rivals[:met], requests[:alone])
}

// arbitrateVCs plays out virtual-channel allocation's round robins: it appends the requests that
// they choose to matches.
func (d *Domain) arbitrateVCs(sw *SwitchState, rivals, matches []Request) []Request {
	m := &d.Matcher
	n := sw.Ports * int32(d.vcs)
	touched, granted, outputs, inputs := check.Of(m.touched[:cap(m.touched)]), check.Of(m.granted[:cap(m.granted)]), uint32(0), uint32(0)
	for _, r := range rivals {
		for free := r.free(); free != 0; free &= free - 1 {
			lov := r.Port()*uint32(d.vcs) + uint32(bits.TrailingZeros32(free))
			// The pointer stands behind the last owner.
			distance := int32(r.Local()) + sw.Queue0 + sw.outVC(lov).owner
			if distance < 0 {
				distance += n
			}
			outputs = m.outputs[lov].improve(touched, outputs, lov, r.Local(), distance)
		}
	}
	for _, lov := range m.touched[:outputs] {
		local := m.outputs[lov].take()
		distance := int32(lov) - d.acceptOV[uint32(sw.Queue0)+local]
		if distance < 0 {
			distance += n
		}
		inputs = m.inputs[local].improve(granted, inputs, local, lov, distance)
	}
	for _, local := range m.granted[:inputs] {
		lov := m.inputs[local].take()
		d.acceptOV[uint32(sw.Queue0)+local] = int32(lov) + 1
		place := m.Places[lov]
		matches = append(matches, newRequest(local, uint32(place.Port)<<16|1<<place.vc))
	}
	return matches
}

// putVCsForward is arbitrateVCs in the other order, for all requests: each packet puts forward the
// virtual channel nearest to its pointer, and each channel takes the packet nearest to its own.
// Pointers of matches move.
func (d *Domain) putVCsForward(sw *SwitchState, requests []Request) []Request {
	m, vcs := &d.Matcher, uint32(d.vcs)
	n, touched, outputs := sw.Ports*int32(vcs), check.Of(m.touched[:cap(m.touched)]), uint32(0)
	for _, r := range requests {
		pointer := d.acceptOV[uint32(sw.Queue0)+r.Local()]
		lov := nextVC(&pointer, r.Port()*vcs, r.free())
		outputs = m.outputs[lov].improve(touched, outputs, lov, r.Local(), ahead(int32(r.Local())+sw.Queue0+sw.outVC(lov).owner, n))
	}
	requests = requests[:0]
	for _, lov := range m.touched[:outputs] {
		local, place := m.outputs[lov].take(), m.Places[lov]
		d.acceptOV[uint32(sw.Queue0)+local] = int32(lov) + 1
		requests = append(requests, newRequest(local, uint32(place.Port)<<16|1<<place.vc))
	}
	return requests
}

// winsVC tells whether a packet is nearer to a virtual channel's pointer than its taker of this
// step, and then takes the channel back from that one.
func (d *Domain) winsVC(sw *SwitchState, local, lov uint32, ov *outVC, step uint32) bool {
	m, n := &d.Matcher, sw.Ports*int32(d.vcs)
	m.contested = append(m.contested, lov)
	pointer := m.outputs[lov].distance // stands behind the last owner
	mine, its := sw.Queue0+int32(local)+pointer, ov.owner+pointer
	if mine+n&(mine>>31) > its+n&(its>>31) {
		return false
	}
	loser := uint32(ov.owner - sw.Queue0)
	k, bit := sw.mask(loser), uint64(1)<<(loser&63)
	k.va |= bit
	if v := sw.Queue(loser); k.next&bit != 0 {
		v.Out, v.Ready = -1, step
		k.next &^= bit
	} else {
		u := d.behindFront(sw, loser)
		u.out, u.ready = -1, step
	}
	return true
}

// withRoom narrows requests to virtual channels with the credits that the packet must find, as
// [Domain.requestVCs] lists them; packets left without one wait.
func (d *Domain) withRoom(sw *SwitchState, requests []Request) []Request {
	kept := requests[:0]
	for _, r := range requests {
		need := d.need(sw.OutPort(r.Port()), d.asking(sw, r.Local(), sw.Queue(r.Local())).Packet)
		r = newRequest(r.Local(), r.Port()<<16|d.withCredits(sw, r.Port(), r.free(), need))
		if r.free() == 0 {
			d.sleepForVC(sw, int(r.Local()>>6), 1<<(r.Local()&63))
			if d.Upcoming != nil && sw.Queue(r.Local()).Out >= 0 {
				d.behindFront(sw, r.Local()).waits = PartCredit
			} else if d.observer != nil {
				d.observer.Sleeps(d, sw.Queue0+int32(r.Local()), PartCredit)
			}
			continue
		}
		kept = append(kept, r)
	}
	return kept
}

// takeVCsAtOnce is allocateVCs in one pass, if every packet asks for one virtual channel
// ([Domain.asksForOne]). Packets whose channel was given away in this step meet its owner after all
// others.
func (d *Domain) takeVCsAtOnce(sw *SwitchState, step uint32) {
	m, vcs, ready, before := &sw.masks[0], uint32(d.vcs), step+d.VADelay, check.Of(d.Matcher.outputs)
	taken, others := uint64(0), uint64(0)
	for left := m.va; left != 0; left &= left - 1 { // calls nothing, so that all of it stays in registers
		local := uint32(bits.TrailingZeros64(left))
		v := sw.Queue(local)
		if int32(v.Ready-step) > 0 {
			continue
		}
		hop := v.Hop
		o := sw.OutPort(hop >> 16)
		if hop&uint32(o.free) == 0 {
			others |= 1 << (local & 63)
			continue
		}
		o.free &^= uint16(hop)
		lov := lowestOV(hop, vcs)
		ov := sw.outVC(lov)
		before.At(lov).distance, ov.owner = ov.owner, sw.Queue0+int32(local)
		v.Out, v.Ready = int32(lov), ready
		taken |= 1 << (local & 63)
	}
	m.va &^= taken
	m.next |= taken
	if others != 0 {
		d.meetOwners(sw, others, taken, step)
	}
}

// meetOwners has packets ask for a virtual channel taken in this step, and the others wait.
func (d *Domain) meetOwners(sw *SwitchState, packets, taken uint64, step uint32) {
	rivals, sleep := d.Matcher.rivals[:0], uint64(0)
	for ; packets != 0; packets &= packets - 1 {
		local := uint32(bits.TrailingZeros64(packets))
		hop := sw.Queue(local).Hop
		if taken>>(sw.outVC(lowestOV(hop, uint32(d.vcs))).owner&63)&1 != 0 {
			rivals = append(rivals, newRequest(local, hop))
		} else {
			sleep |= packets & -packets
		}
	}
	d.sleepForVC(sw, 0, sleep)
	if len(rivals) > 0 {
		d.takeVCs(sw, rivals, step)
	}
}

// asksForOne tells whether takeVCsAtOnce serves, while decisions allow one virtual channel each.
func (d *Domain) asksForOne() bool {
	return d.Upcoming == nil && d.observer == nil && d.retry == nil && len(d.asks) == 0 && !d.roomy && d.allRivals == 0 && int(d.mostPorts)*d.vcs <= 64 && !neverPlain
}

// takeVCs gives packets a virtual channel of their requests: of several granted, the nearest to
// their pointer. Of packets that ask for the same one, the nearest to the channel's pointer keeps
// it.
func (d *Domain) takeVCs(sw *SwitchState, matches []Request, step uint32) {
	if d.observer != nil {
		d.observer.GrantedVC(d, sw, d.ofFronts(sw, matches), step)
	}
	vcs, ready, overlaps, before := uint32(d.vcs), step+d.VADelay, d.Upcoming != nil, check.Of(d.Matcher.outputs)
	for _, r := range matches {
		local, port, free := r.Local(), r.Port(), r.free()
		one, lov := free&-free, port*vcs+uint32(bits.TrailingZeros32(free))
		if free != one {
			lov = nextVC(check.At(d.acceptOV, uint32(sw.Queue0)+local), port*vcs, free)
			one = 1 << (lov - port*vcs)
		}
		o, ov := sw.OutPort(port), sw.outVC(lov)
		if uint32(o.free)&one != 0 {
			o.free &^= uint16(one)
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

// followRouting does the work behind the routing of a switch's arrivals.
func (d *Domain) followRouting(sw *SwitchState) {
	d.summed = 0
	if n := d.Matcher.routed; n > 0 {
		d.prefetchPorts(sw, d.Matcher.routedFrom[:n], d.Matcher.routedTo[:n])
		if d.Unit != nil && !d.Unit.timed {
			d.Unit.prefetchHolds(d, sw, d.Matcher.routedFrom[:n], d.Matcher.routedTo[:n])
		}
		d.Matcher.routed = 0
	}
	if len(d.decided) > 0 {
		d.countDecisions(sw)
	}
}

// prefetchPorts asks for the ports of a switch that this cycle's packets come from and go to.
func (d *Domain) prefetchPorts(sw *SwitchState, inputs, outputs []int32) {
	n := len(outputs)
	mem.PrefetchEach(&outputs[0], n, 4, unsafe.Pointer(sw.outs.At(0)), unsafe.Sizeof(OutPort{}))
	mem.PrefetchEach(&outputs[0], n, 4, unsafe.Pointer(sw.outVCs.At(0)), uintptr(d.vcs)*unsafe.Sizeof(outVC{}))
	mem.PrefetchEach(&inputs[0], n, 4, unsafe.Pointer(sw.ins.At(0)), unsafe.Sizeof(inPort{}))
}
