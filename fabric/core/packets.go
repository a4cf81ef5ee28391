package core

import (
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
)

// packetTable holds the packets in the network, in chunks that never move: its
// domains share it.
type packetTable struct {
	chunks  []*packetChunk
	inflows []*inflowChunk // by chunk; nil unless packets are the unit
	used    atomic.Int32   // chunks
}

type packetChunk [chunkPackets]Packet

const (
	chunkBits    = 10
	chunkPackets = 1 << chunkBits
)

// Packet is the record of a packet in the network.
func (s *state) Packet(id int32) *Packet {
	return &s.packets.chunks[id>>chunkBits][id&(chunkPackets-1)]
}

// ids is the number of records; ids are below.
func (p *packetTable) ids() int { return int(p.used.Load()) * chunkPackets }

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

// addChunk makes further records, those with low numbers to be taken first.
func (d *Domain) addChunk() {
	n := d.packets.used.Add(1)
	if int(n) > len(d.packets.chunks) {
		d.packets.chunks = append(d.packets.chunks, nil)
	}
	d.packets.chunks[n-1] = new(packetChunk)
	if d.Unit != nil {
		d.packets.openInflows(int(n - 1))
	}
	for i := n*chunkPackets - 1; i >= (n-1)*chunkPackets; i-- {
		d.packetFree = append(d.packetFree, i)
	}
}

// PacketRecords holds what somebody beside the network keeps of each packet, in chunks
// that never move, as [packetTable] has them. A record belongs to the domain that its
// packet, or the part of it that the record is about, is in. Where there are several
// domains, each has a copy of the list, made once that is divided.
type PacketRecords[T any] struct {
	chunks []*[chunkPackets]T
}

// Divided makes room for all chunks that there can be: the list of them must not move
// while several domains use it.
func (r *PacketRecords[T]) Divided() {
	r.chunks = append(make([]*[chunkPackets]T, 0, maxChunks), r.chunks...)[:maxChunks]
}

// At is the record of a packet that has been opened.
func (r *PacketRecords[T]) At(id int32) *T { return &r.chunks[id>>chunkBits][id&(chunkPackets-1)] }

// Open makes the record of a packet, if there is none, and returns it. It is called in
// the domain of the packet's terminal before a flit of the packet leaves that: whoever
// made the chunk of packets then makes the chunk of records, and others find it.
func (r *PacketRecords[T]) Open(id int32) *T {
	chunk := int(id >> chunkBits)
	for chunk >= len(r.chunks) {
		r.chunks = append(r.chunks, nil)
	}
	if r.chunks[chunk] == nil {
		r.chunks[chunk] = new([chunkPackets]T)
	}
	return r.At(id)
}

// LookUp is the record of a packet, nil if there is none.
func (r *PacketRecords[T]) LookUp(id int32) *T {
	if chunk := int(id >> chunkBits); chunk >= len(r.chunks) || r.chunks[chunk] == nil {
		return nil
	}
	return r.At(id)
}

// sourcePacket is a packet of the source in a network with faults. It is in use until it is
// delivered or given up, no transmission of it is under way and no timer runs for it. It
// belongs to the domain of its terminal, but for what says otherwise.
type sourcePacket struct {
	Spec      fabric.PacketSpec
	acked     int64 // cycle in which the acknowledgement is back, once delivered
	tries     int32 // to send it
	sent      int32 // those that found a path: transmissions
	landed    int32 // transmissions delivered or discarded, as far as is known
	timed     bool  // in a sender's list
	delivered bool  // likewise known
	noPath    bool  // at the last try
	heard     bool  // the destination's: it has been delivered
}

// sourcePacketTable holds source packets, in chunks that never move, as [packetTable] does packets.
type sourcePacketTable struct {
	chunks []*[chunkPackets]sourcePacket
	used   atomic.Int32
}

func (t *sourcePacketTable) At(id int32) *sourcePacket {
	return &t.chunks[id>>chunkBits][id&(chunkPackets-1)]
}

// more makes further source packets, and lists them in unused.
func (t *sourcePacketTable) more(unused []int32) []int32 {
	n := t.used.Add(1)
	if int(n) > len(t.chunks) {
		t.chunks = append(t.chunks, nil)
	}
	chunk := new([chunkPackets]sourcePacket)
	for i := range chunk {
		chunk[i].Spec.Birth = fabric.Never
	}
	t.chunks[n-1] = chunk
	for i := n*chunkPackets - 1; i >= (n-1)*chunkPackets; i-- {
		unused = append(unused, i)
	}
	return unused
}

// oldestBirth is the earliest birth among the packets whose end is not known.
func (t *sourcePacketTable) oldestBirth() int64 {
	oldest := fabric.Never
	for _, chunk := range t.chunks[:t.used.Load()] {
		for i := range chunk {
			if l := &chunk[i]; !l.delivered {
				oldest = min(oldest, l.Spec.Birth)
			}
		}
	}
	return oldest
}
