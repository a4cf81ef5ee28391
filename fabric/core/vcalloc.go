package core

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// asked is the local output virtual channels, modulo 64, of a request.
func (r Request) asked(vcs uint32) uint64 {
	return bits.RotateLeft64(uint64(r.free()), int(r.Port()*vcs&63))
}

// allocateRivalVCs leaves the requests of packets that ask for virtual channels which others
// ask for, too, only where they win.
func (d *Domain) allocateRivalVCs(sw *SwitchState, requests []Request) []Request {
	vcs := uint32(d.vcs)
	var wanted, contested uint64 // virtual channels, modulo 64, that some ask for, and several
	for _, r := range requests {
		asked := r.asked(vcs)
		contested |= wanted & asked
		wanted |= asked
	}
	// No branches: whether a request has rivals cannot be predicted.
	alone, met, rivals := 0, 0, d.Matcher.rivals
	for _, r := range requests {
		meets := 0
		if r.asked(vcs)&contested != 0 {
			meets = 1
		}
		requests[alone], rivals[met] = r, r
		alone += 1 - meets
		met += meets
	}
	return d.arbitrateVCs(sw, rivals[:met], requests[:alone])
}

// arbitrateVCs plays out the round robins of virtual-channel allocation: it appends to matches
// what they choose from some requests.
func (d *Domain) arbitrateVCs(sw *SwitchState, rivals, matches []Request) []Request {
	m := &d.Matcher
	n := sw.Ports * int32(d.vcs)
	m.touched, m.granted = m.touched[:0], m.granted[:0]
	for _, r := range rivals {
		for free := r.free(); free != 0; free &= free - 1 {
			lov := r.Port()*uint32(d.vcs) + uint32(bits.TrailingZeros32(free))
			// The pointer stands behind the last owner.
			distance := int32(r.Local()) + sw.Queue0 + sw.outVC(lov).owner
			if distance < 0 {
				distance += n
			}
			m.touched = m.outputs[lov].improve(m.touched, lov, r.Local(), distance)
		}
	}
	for _, lov := range m.touched {
		local := m.outputs[lov].take()
		distance := int32(lov) - d.acceptOV[uint32(sw.Queue0)+local]
		if distance < 0 {
			distance += n
		}
		m.granted = m.inputs[local].improve(m.granted, local, lov, distance)
	}
	for _, local := range m.granted {
		lov := m.inputs[local].take()
		d.acceptOV[uint32(sw.Queue0)+local] = int32(lov) + 1
		place := m.Places[lov]
		matches = append(matches, newRequest(local, uint32(place.Port)<<16|1<<place.vc))
	}
	return matches
}

// winsVC tells whether a packet is nearer to the round-robin pointer of a virtual channel than
// that which has been given it in this step, and then takes it back from that.
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

// chooseVC points the packet at the front of a queue to one of some free virtual
// channels that has room; false if none has. Virtual channels are chosen anew
// in each step, in round robin, and taken by crossing the switch.
func (d *Domain) chooseVC(sw *SwitchState, local uint32, v *InVC, free uint32) bool {
	need := int32(1)
	if d.cutThrough {
		need = d.flitsOf(v.Packet >> PacketBits)
	}
	port := v.Hop >> 16
	if free = d.withCredits(sw, port, free, need); free == 0 {
		return false
	}
	v.Out = int32(nextVC(&d.acceptOV[uint32(sw.Queue0)+local], port*uint32(d.vcs), free))
	return true
}

// withCredits narrows a set of virtual channels of a port to those with at
// least so many credits.
func (d *Domain) withCredits(sw *SwitchState, port, set uint32, need int32) uint32 {
	ovs := sw.outVCs.From(port * uint32(d.vcs))
	short := shortOf(ovs, set, need)
	if d.Unit != nil && set&short != 0 {
		d.Unit.room(d, sw.Port0+int32(port), set, need)
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
func (d *Domain) withRoom(sw *SwitchState, requests []Request) []Request {
	kept := requests[:0]
	for _, r := range requests {
		need := d.flitsOf(d.asking(sw, r.Local(), sw.Queue(r.Local())).Packet >> PacketBits)
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

// sleepForVC lets packets of mask word w wait until a virtual channel of their
// port is released.
func (d *Domain) sleepForVC(sw *SwitchState, w int, packets uint64) {
	m := &sw.masks[w]
	m.va &^= packets
	for ; packets != 0; packets &= packets - 1 {
		local := uint32(w<<6 + bits.TrailingZeros64(packets))
		v := sw.Queue(local)
		o := sw.OutPort(d.asking(sw, local, v).Hop >> 16)
		if d.Upcoming == nil || d.Combined != 0 || v.Out < 0 {
			m.sa &^= packets & -packets
		} else if d.Unit == nil || d.Unit.Followed != nil {
			m.asleep |= packets & -packets
			d.behindFront(sw, local).waits = PartVC
		} else {
			m.va |= packets & -packets // it asks on: the front may be in a list itself
			continue
		}
		queue := sw.Queue0 + int32(local)
		d.waitNext[queue] = o.waiters
		o.waiters = queue + 1
		if d.Unit != nil && d.Unit.Followed != nil {
			d.Unit.heed(d, sw.Port0+int32(d.asking(sw, local, v).Hop>>16))
		}
	}
}

// wakeWaiters lets the packets that wait for a virtual channel of a port ask
// again.
func (d *Domain) wakeWaiters(o *OutPort) {
	for q := o.waiters; q != 0; q = d.waitNext[q-1] {
		word, bit := (q-1)>>6, uint64(1)<<((q-1)&63)
		m := check.At(d.Masks, uint32(word))
		if d.Combined != 0 {
			m.sa |= bit
		} else {
			m.va |= bit
		}
		if !m.secondWakes(bit) && d.observer != nil {
			d.observer.Resumes(d, q-1, d.Bidding())
		}
		d.activate(word)
	}
	o.waiters = 0
}

// escape is what a network keeps for an EscapeRouting.
type escape struct {
	routing fabric.EscapeRouting
	whole   uint32 // virtual channels that are given away only while their buffer is empty
}

func newEscape(n *network, r fabric.EscapeRouting) *escape {
	if n.needs.Queues {
		panic("core: a routing with escape channels cannot read occupancy")
	}
	e := &escape{routing: r}
	if !n.cutThrough {
		e.whole = n.allVCs &^ r.EscapeVCs(n.vcs)
	}
	return e
}

// Room implements [fabric.Queues].
func (v *view) Room(p topology.PortID, flits int32) uint32 {
	d := v.d
	sw := &d.Switches[d.graph.PortSwitch[p]]
	return d.escape.room(d, sw, uint32(int32(p)-sw.Port0), flits)
}

func (e *escape) room(d *Domain, sw *SwitchState, port uint32, flits int32) uint32 {
	if !d.cutThrough {
		flits = 1
	}
	free := uint32(sw.OutPort(port).free)
	whole := free & e.whole
	if whole != 0 {
		whole = d.withCredits(sw, port, whole, max(flits, d.buffer))
	}
	return whole | d.withCredits(sw, port, free&^e.whole, flits)
}

// decide narrows the decision for the packet in front of a queue to virtual
// channels that it can be given in this step, with a new decision if need be;
// false if there are none.
func (e *escape) decide(d *Domain, sw *SwitchState, local uint32, v *InVC) bool {
	const routingBits = 1<<fabric.StateBits - 1
	flits := d.Packet(v.Packet >> PacketBits).Flits
	port := v.Hop >> 16
	if room := v.Hop & e.room(d, sw, port, flits); room != 0 {
		v.Hop = port<<16 | room
		return true
	}
	place, h := d.Matcher.Places[local], &d.head
	h.In, h.VC = topology.PortID(sw.Port0+int32(place.Port)), uint8(place.vc)
	h.Switch, h.Dst, h.Flits = d.graph.PortSwitch[h.In], topology.TerminalID(v.dst), flits
	h.State = v.State & routingBits
	if d.needs.Packets {
		d.describe(v.Packet>>PacketBits, h)
	}
	hop := e.routing.Reroute(&d.view, h)
	h.Flits, d.summed = 0, 0
	port, vcs := uint32(hop.Port)-uint32(sw.Port0), hop.VCs&d.allVCs
	if port >= uint32(sw.Ports) || vcs == 0 {
		d.badHop(h, hop)
	}
	v.State = v.State&^routingBits | h.State
	v.Hop = port<<16 | vcs
	if room := vcs & e.room(d, sw, port, flits); room != 0 {
		v.Hop = port<<16 | room
		return true
	}
	return false
}
