package core

import (
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// append puts a flit behind the others of a queue and returns the decision for
// the packet that the last of those belongs to.
func (d *Domain) append(v *InVC, e *Flit) (hop uint32) {
	hop = v.Hop
	if v.Count > 1 {
		hop = d.Pool.At(v.Last).Hop
	}
	if v.Last++; v.Count == 1 || v.Last&(chunkFlits-1) == 0 {
		v.Last = d.Pool.open(v)
	}
	*d.Pool.At(v.Last) = Queued{e.Packet, e.dst, e.State, hop}
	return hop
}

// open gives a queue, behind whose last chunk its last place is, another, and returns its first place.
func (p *flitPool) open(v *InVC) int32 {
	n := p.free
	if n == 0 {
		n = int32(len(p.chunks))
		p.chunks, p.follows = append(p.chunks, [chunkFlits]Queued{}), append(p.follows, 0)
	} else {
		p.free = p.follows[n]
	}
	p.follows[n] = n
	if v.Count > 1 {
		last := (v.Last - 1) / chunkFlits
		p.follows[n], p.follows[last] = p.follows[last], n
	}
	return n * chunkFlits
}

// advance brings the second flit of a queue to its front.
func (d *Domain) advance(v *InVC, step uint32) {
	n := d.Pool.first(v.Last, v.Count)
	b := d.Pool.At(n)
	v.Ready = step + 1
	if v.Packet&TailFlit != 0 {
		v.Hop = b.Hop
		v.Ready += d.RouteDelay
	}
	v.Packet, v.dst, v.State = b.Packet, b.dst, b.State
	if n&(chunkFlits-1) == chunkFlits-1 || v.Count == 1 {
		p, first, last := &d.Pool, n/chunkFlits, v.Last/chunkFlits
		p.follows[last] = p.follows[first]
		p.follows[first], p.free = p.free, first
	}
}

// At is a place of the pool.
func (p *flitPool) At(place int32) *Queued {
	return &check.At(p.chunks, uint32(place)/chunkFlits)[uint32(place)%chunkFlits]
}

// first is the place of the first of so many flits of a queue, at least one; last is the place of the last.
func (p *flitPool) first(last, flits int32) int32 {
	first := last - (flits - 1)
	if first < last&^(chunkFlits-1) { // in another chunk
		first = first&(chunkFlits-1) | *check.At(p.follows, uint32(last)/chunkFlits)*chunkFlits
	}
	return first
}

// Second is the place of the flit behind the front of a queue, which has one.
func (p *flitPool) Second(v *InVC) int32 { return p.first(v.Last, v.Count-1) }

// next is the place behind another of the same queue.
func (p *flitPool) next(place int32) int32 {
	if place++; place%chunkFlits == 0 {
		place = p.follows[place/chunkFlits-1] * chunkFlits
	}
	return place
}

// refill makes some of the flits of a queue all of them, in their order.
func (d *Domain) refill(v *InVC, flits []Queued) {
	if v.Count > 1 { // the ring behind the front is free
		p, last := &d.Pool, v.Last/chunkFlits
		p.follows[last], p.free = p.free, p.follows[last]
	}
	v.Count = 0
	for _, q := range flits {
		if v.Count == 0 {
			v.Queued = q
		} else {
			d.append(v, &Flit{Packet: q.Packet, dst: q.dst, State: q.State})
			d.Pool.At(v.Last).Hop = q.Hop
		}
		v.Count++
	}
}

// EachQueued visits the flits of a queue from the front.
func (d *Domain) EachQueued(v *InVC, visit func(*Queued)) {
	if v.Count > 0 {
		visit(&v.Queued)
	}
	if v.Count < 2 {
		return
	}
	for n, left := d.Pool.Second(v), v.Count-1; left > 0; n, left = d.Pool.next(n), left-1 {
		visit(d.Pool.At(n))
	}
}

// holdsVC tells whether the packet at the front of a queue, or whose later flits
// are still to come, holds an output virtual channel.
func (d *Domain) holdsVC(sw *SwitchState, local uint32, v *InVC) bool {
	return v.Out >= 0 && sw.outVC(uint32(v.Out)).owner == sw.Queue0+int32(local)
}

// headFrom is the place of the first head from one on, which is behind the front of a queue, and how
// many flits come before it.
func (p *flitPool) headFrom(place int32) (head, before int32) {
	for p.At(place).Packet&HeadFlit == 0 {
		place, before = p.next(place), before+1
	}
	return place, before
}

// checkCredits checks that an output virtual channel has no less than no credit and no
// more than there is room for.
func (d *Domain) checkCredits(ov int32) {
	depth := d.buffer
	if ov < d.terminalOV0 {
		port := topology.PortID(ov / int32(d.vcs))
		depth = d.bufferOf(port)
		if d.Unit != nil {
			d.Unit.look(d, port)
		}
	}
	if o := &d.OutVC[ov]; o.credits < 0 || o.credits > depth || o.waiting < 0 {
		d.broken("output virtual channel %d has %d credits for %d places, and %d flits waiting", ov, o.credits, depth, o.waiting)
	}
}

// checkSwitch checks, behind the last step of a cycle, that the masks of a switch go by
// its queues, and that a virtual channel is free if no packet holds it.
func (d *Domain) checkSwitch(sw *SwitchState) {
	for w := range sw.masks {
		m := &sw.masks[w]
		if m.route|m.next != 0 {
			d.broken("mask word %d of the switch with port %d has packets left to route, %#x, or for a next step, %#x", w, sw.Port0, m.route, m.next)
		}
		word := sw.Queue0>>6 + int32(w)
		if m.va|m.sa != 0 && d.active[word>>6]>>(word&63)&1 == 0 {
			d.broken("mask word %d of the switch with port %d has work and is not active", w, sw.Port0)
		}
	}
	for local := range uint32(sw.Ports) * uint32(d.vcs) {
		v, m := sw.Queue(local), sw.mask(local)
		if v.Count < 0 || v.Count > d.buffer {
			d.broken("queue %d holds %d flits", sw.Queue0+int32(local), v.Count)
		}
		if v.Count == 0 && (m.va|m.sa)>>(local&63)&1 != 0 {
			d.broken("queue %d is empty and wants something", sw.Queue0+int32(local))
		}
		o, vc := sw.OutPort(local/uint32(d.vcs)), local%uint32(d.vcs)
		if owner := sw.outVC(local).owner; owner >= 0 == (o.free>>vc&1 != 0) {
			d.broken("output virtual channel %d of port %d has owner %d, and those free are %#b", vc, sw.Port0+int32(local)/int32(d.vcs), owner, o.free)
		}
		d.checkCredits(sw.Port0*int32(d.vcs) + int32(local))
	}
}

// takePacket finds a free record.
func (d *Domain) takePacket() int32 {
	if len(d.packetFree) == 0 {
		d.addChunk()
	}
	id := d.packetFree[len(d.packetFree)-1]
	d.packetFree = d.packetFree[:len(d.packetFree)-1]
	return id
}

// freePacket frees the record of a packet that has left the network.
func (d *Domain) freePacket(id int32) { d.packetFree = append(d.packetFree, id) }

// addChunk makes further records.
func (d *Domain) addChunk() {
	d.packetFree = d.packets.more(d.packetFree)
	first := d.packetFree[len(d.packetFree)-1]
	d.packets.records.Open(first)
	if d.Unit != nil {
		d.packets.inflows.Open(first)
	}
}

// inflow is how a packet comes in.
func (d *Domain) inflow(id int32) *inflow { return d.packets.inflows.At(id) }

// flitsOf is the length of a packet.
func (d *Domain) flitsOf(id int32) int32 {
	if d.Unit != nil {
		return d.inflow(id).flits
	}
	return d.Packet(id).Flits
}

// EndsPacket tells whether the front of a queue is the last flit of its packet; of packets
// as the unit it is the head.
func (d *Domain) EndsPacket(packet int32) bool {
	return packet&TailFlit != 0 && (d.Unit == nil || d.inflow(packet>>PacketBits).flits == 1)
}

// copyPacket makes a copy of a packet's record.
func (d *Domain) copyPacket(id int32) int32 {
	made := d.takePacket()
	*d.Packet(made) = *d.Packet(id)
	return made
}

// releaseCopy ends a copy of a multicast packet, and with the last one the packet. Copies
// are counted by whatever domain they are in. The count cannot come to nothing too early:
// a copy is counted while it is copied, and its own copies before they go on.
func (d *Domain) releaseCopy(id int32) {
	p := d.Packet(id)
	if atomic.AddInt32(&p.more, -1) < 0 {
		p.more = 0
		d.freePacket(id)
	}
}

// whole tells whether all of the packet at the front of a queue, whose head is there, has
// come.
func (d *Domain) whole(v *InVC) bool {
	id := v.Packet >> PacketBits
	if d.Unit != nil {
		return d.inflow(id).tail <= d.Cycle
	}
	return v.Count >= d.Packet(id).Flits
}

// countHop counts a switch beyond MaxHops that a flit crosses, if it is a tail. Copies of
// multicast packets share their record, and count no further.
func (d *Domain) countHop(packet, dst int32) {
	if packet&TailFlit != 0 && dst >= 0 {
		d.Packet(packet>>PacketBits).more++
	}
}

// labelOf is the label of a packet.
func (d *Domain) labelOf(id int32) label {
	if d.labels == nil {
		return label{}
	}
	return *d.labels.At(id)
}

// describe tells a routing that asks about a packet.
func (d *Domain) describe(id int32, h *fabric.Head) {
	h.Src = d.Packet(id).Src
	l := d.labels.At(id)
	h.Level, h.Entropy, h.Marked = l.level, l.entropy, l.marked
}

// informer tells a routing about the packet that it decides on at a switch.
type informer struct {
	fabric.Routing
	d *Domain
}

// Route implements [fabric.Routing]. The packet is the one that has come last in its queue.
func (i *informer) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	d := i.d
	q := &d.Queues[d.queueOf(h.In, int(h.VC))]
	head := &q.Queued
	if q.Count > 1 {
		head = d.Pool.At(q.Last)
	}
	d.describe(head.Packet>>PacketBits, h)
	return i.Routing.Route(v, h)
}

// discard takes a head out of the running for which the routing has no way:
// what is left of its packet is discarded in the next cycle. A decision of no
// virtual channels, here of port 1 (0 alone would be a multicast packet's), waits
// until then without being granted anything. Not inlined: the loop over arrivals keeps
// more in registers without it.
//
//go:noinline
func (d *Domain) discard(head *Queued) {
	head.Hop = 1 << 16
	d.doomed = append(d.doomed, head.Packet>>PacketBits)
}

// touchPackets reads the records of some packets all at once. The sum keeps it
// from being left out.
func (d *Domain) touchPackets(batch []Flit) (sum int32) {
	for i := range batch {
		sum += d.Packet(batch[i].Packet >> PacketBits).Flits
	}
	return sum
}
