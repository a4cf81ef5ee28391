package fabric

import "sync/atomic"

// packetTable holds the packets in the network, in chunks that never move: those
// of a network that several threads simulate share it.
type packetTable struct {
	chunks []*packetChunk
	trains []*trainChunk // by chunk; nil unless packets are the unit
	used   *atomic.Int32 // chunks
}

type packetChunk [chunkPackets]packet

const (
	chunkBits    = 10
	chunkPackets = 1 << chunkBits
)

// packet is the record of a packet in the network.
func (f *Fabric) packet(id int32) *packet {
	return &f.packets.chunks[id>>chunkBits][id&(chunkPackets-1)]
}

// packetIDs is the number of records; ids are below.
func (f *Fabric) packetIDs() int { return int(f.packets.used.Load()) * chunkPackets }

// takePacket finds a free record.
func (f *Fabric) takePacket() int32 {
	if len(f.packetFree) == 0 {
		f.addChunk()
	}
	id := f.packetFree[len(f.packetFree)-1]
	f.packetFree = f.packetFree[:len(f.packetFree)-1]
	return id
}

// freePacket frees the record of a packet that has left the network.
func (f *Fabric) freePacket(id int32) { f.packetFree = append(f.packetFree, id) }

// freeLists are those of f and its shards.
func (f *Fabric) freeLists() [][]int32 {
	lists := [][]int32{f.packetFree}
	if f.shards != nil {
		for _, shard := range f.shards.all {
			lists = append(lists, shard.packetFree)
		}
	}
	return lists
}

// addChunk makes further records, those with low numbers to be taken first.
func (f *Fabric) addChunk() {
	n := f.packets.used.Add(1)
	if int(n) > len(f.packets.chunks) {
		f.packets.chunks = append(f.packets.chunks, nil)
	}
	f.packets.chunks[n-1] = new(packetChunk)
	if f.unit != nil {
		f.packets.openTrains(int(n - 1))
	}
	for i := n*chunkPackets - 1; i >= (n-1)*chunkPackets; i-- {
		f.packetFree = append(f.packetFree, i)
	}
}
