package core

import (
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
)

// letter is a packet of the source in a network with faults. It is in use until it is
// delivered or given up, no transmission of it is under way and no timer runs for it. It
// belongs to the domain of its terminal, but for what says otherwise.
type letter struct {
	spec      fabric.PacketSpec
	acked     int64 // cycle in which the acknowledgement is back, once delivered
	tries     int32 // to send it
	sent      int32 // those that found a path: transmissions
	landed    int32 // transmissions delivered or discarded, as far as is known
	timed     bool  // in a sender's list
	delivered bool  // likewise known
	noPath    bool  // at the last try
	heard     bool  // the destination's: it has been delivered
}

// letterTable holds letters, in chunks that never move, as [packetTable] does packets.
type letterTable struct {
	chunks []*[chunkPackets]letter
	used   atomic.Int32
}

func (t *letterTable) at(id int32) *letter { return &t.chunks[id>>chunkBits][id&(chunkPackets-1)] }

// more makes further letters, and lists them in unused.
func (t *letterTable) more(unused []int32) []int32 {
	n := t.used.Add(1)
	if int(n) > len(t.chunks) {
		t.chunks = append(t.chunks, nil)
	}
	chunk := new([chunkPackets]letter)
	for i := range chunk {
		chunk[i].spec.Birth = fabric.Never
	}
	t.chunks[n-1] = chunk
	for i := n*chunkPackets - 1; i >= (n-1)*chunkPackets; i-- {
		unused = append(unused, i)
	}
	return unused
}

// oldestBirth is the earliest birth among the packets whose end is not known.
func (t *letterTable) oldestBirth() int64 {
	oldest := fabric.Never
	for _, chunk := range t.chunks[:t.used.Load()] {
		for i := range chunk {
			if l := &chunk[i]; !l.delivered {
				oldest = min(oldest, l.spec.Birth)
			}
		}
	}
	return oldest
}
