package core

import (
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
)

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
