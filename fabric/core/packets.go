package core

import "sync/atomic"

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
