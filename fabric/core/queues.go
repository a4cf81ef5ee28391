package core

import (
	"sync/atomic"
	"unsafe"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/mem"
)

// append puts a flit behind its queue's others and returns the decision for the last flit's packet,
// if this one belongs to it.
func (d *Domain) append(v *InVC, e *Flit) (hop uint32) {
	// Queues' last flits are often far from the caches: written here, and read for bodies only.
	if e.Packet&HeadFlit != 0 {
		*check.At(d.came, uint32(e.Queue)) = arrival{e.dst, e.State}
	} else if hop = v.Hop; v.Count > 1 {
		hop = d.Pool.At(v.Last).Hop
	}
	if v.Count == 1 {
		v.Last = d.Pool.open()
		*check.At(d.seconds, uint32(e.Queue)) = v.Last
	} else if v.Last++; v.Last%chunkPlaces == chunkFlits {
		next := d.Pool.open()
		*d.Pool.follows(v.Last), v.Last = next, next
	}
	*d.Pool.At(v.Last) = Queued{e.Packet, e.dst, e.State, hop}
	return hop
}

// open is the first place of a chunk that was free.
func (p *flitPool) open() int32 {
	n := p.free
	if n == 0 {
		n = int32(len(p.chunks) * chunkPlaces)
		p.chunks = append(p.chunks, [chunkPlaces]Queued{})
	} else {
		p.free = *p.follows(n)
	}
	return n
}

// advance brings the second flit of a queue to its front.
func (d *Domain) advance(queue int32, v *InVC, step uint32) {
	second := check.At(d.seconds, uint32(queue))
	n := *second
	b := d.Pool.At(n)
	v.Ready = step + 1
	if v.Packet&TailFlit != 0 {
		v.Hop = b.Hop
		v.Ready += d.RouteDelay
	}
	v.Packet, v.dst, v.State = b.Packet, b.dst, b.State
	if *second = n + 1; (n+1)%chunkPlaces == chunkFlits || v.Count == 1 {
		follows := d.Pool.follows(n)
		*second, *follows = *follows, d.Pool.free
		d.Pool.free = n &^ (chunkPlaces - 1)
	}
}

// At is a place of the pool.
func (p *flitPool) At(place int32) *Queued {
	return &check.At(p.chunks, uint32(place)/chunkPlaces)[uint32(place)%chunkPlaces]
}

// follows is the first place of the chunk behind that of a place.
func (p *flitPool) follows(place int32) *int32 { return &p.At(place | chunkFlits).Packet }

// Second is the flit behind the front of a queue, which has one.
func (d *Domain) Second(queue int32) *Queued { return d.Pool.At(d.seconds[queue]) }

// next is the place behind another of the same queue.
func (p *flitPool) next(place int32) int32 {
	if place++; place%chunkPlaces == chunkFlits {
		place = *p.follows(place)
	}
	return place
}

func (d *Domain) refill(queue int32, flits []Queued) {
	v := &d.Queues[queue]
	if v.Count > 1 {
		*d.Pool.follows(v.Last), d.Pool.free = d.Pool.free, d.seconds[queue]&^(chunkPlaces-1)
	}
	v.Count = 0
	for _, q := range flits {
		if v.Count == 0 {
			v.Queued = q
		} else {
			d.append(v, &Flit{Queue: queue, Packet: q.Packet, dst: q.dst, State: q.State})
			d.Pool.At(v.Last).Hop = q.Hop
		}
		v.Count++
	}
}

// EachQueued visits the flits of a queue from the front.
func (d *Domain) EachQueued(queue int32, visit func(*Queued)) {
	v := &d.Queues[queue]
	if v.Count > 0 {
		visit(&v.Queued)
	}
	if v.Count < 2 {
		return
	}
	for n, left := d.seconds[queue], v.Count-1; left > 0; n, left = d.Pool.next(n), left-1 {
		visit(d.Pool.At(n))
	}
}

// holdsVC tells whether a queue's front packet, or one whose later flits are to come, holds an
// output virtual channel.
func (d *Domain) holdsVC(sw *SwitchState, local uint32, v *InVC) bool {
	return v.Out >= 0 && sw.outVC(uint32(v.Out)).owner == sw.Queue0+int32(local)
}

// headFrom is the place of the first head from one on, behind a queue's front, and the flits before
// it.
func (p *flitPool) headFrom(place int32) (head, before int32) {
	for p.At(place).Packet&HeadFlit == 0 {
		place, before = p.next(place), before+1
	}
	return place, before
}

// checkCredits checks that an output virtual channel's credits are within 0 and its room.
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

// checkSwitch checks, behind a cycle's last step, that a switch's masks fit its queues, and that
// virtual channels no packet holds are free.
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

// EndsPacket tells whether a queue's front is its packet's last flit; with packets as the unit, its
// head.
func (d *Domain) EndsPacket(packet int32) bool {
	return packet&TailFlit != 0 && (d.Unit == nil || d.inflow(packet>>PacketBits).flits == 1)
}

// copyPacket makes a copy of a packet's record.
func (d *Domain) copyPacket(id int32) int32 {
	made := d.takePacket()
	*d.Packet(made) = *d.Packet(id)
	return made
}

// releaseCopy ends a copy of a multicast packet, and with the last one the packet. Any domain
// counts copies. The count cannot reach 0 too early: a copy counts while it is copied, and its own
// copies before they go on.
func (d *Domain) releaseCopy(id int32) {
	p := d.Packet(id)
	if atomic.AddInt32(&p.more, -1) < 0 {
		p.more = 0
		d.freePacket(id)
	}
}

// whole tells whether a queue's front packet, whose head is there, has come entirely.
func (d *Domain) whole(v *InVC) bool {
	id := v.Packet >> PacketBits
	if d.Unit != nil {
		return d.inflow(id).tail <= d.Cycle
	}
	return v.Count >= d.Packet(id).Flits
}

// countHop counts a switch beyond MaxHops that a tail crosses. Copies of multicast packets share
// their record, and count no further.
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

// Route implements [fabric.Routing]: for the packet that came last in its queue.
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

// discard stops a head for which the routing has no way: the rest of its packet is discarded in the
// next cycle. A decision of no virtual channels, here of port 1 (0 alone would be a multicast
// packet's), waits until then without being granted anything. Not inlined: the loop over arrivals
// keeps more in registers without it.
//
//go:noinline
func (d *Domain) discard(head *Queued) {
	head.Hop = 1 << 16
	d.doomed = append(d.doomed, head.Packet>>PacketBits)
}

// Only tests change from how many chunks on flits behind fronts, and from how many packets on their records, do not
// fit into the caches of one core: 1 MiB and 512 KiB.
var deepPool, manyPackets = 1 << 13, 1 << 14

// prefetchSeconds asks for the flits that come to queues' fronts if requests win.
func (d *Domain) prefetchSeconds(sw *SwitchState, requests []Request) {
	for _, r := range requests { // no branches: of a queue of one flit a place that was its second's
		mem.Prefetch(unsafe.Pointer(d.Pool.At(*check.At(d.seconds, uint32(sw.Queue0)+r.Local()))))
	}
}

// touchPackets reads some packets' records at once. The sum keeps the reads from being optimized
// away.
func (d *Domain) touchPackets(batch []Flit) (sum int32) {
	for i := range batch {
		sum += d.Packet(batch[i].Packet >> PacketBits).Flits
	}
	return sum
}
