package core

import (
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
)

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
