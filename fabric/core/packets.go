package core

import (
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

const (
	chunkBits    = 10
	chunkPackets = 1 << chunkBits
)

// recordIDs numbers records, for several domains, a chunk of them at a time.
type recordIDs struct{ chunks atomic.Int32 }

// ids is the number of records; ids are below.
func (r *recordIDs) ids() int { return int(r.chunks.Load()) * chunkPackets }

// more lists the ids of another chunk in unused, the low ones to be taken first: from the end.
func (r *recordIDs) more(unused []int32) []int32 {
	end := r.chunks.Add(1) * chunkPackets
	for i := range int32(chunkPackets) {
		unused = append(unused, end-1-i)
	}
	return unused
}

// PacketRecords holds what the network, or somebody beside it, keeps of each packet, in chunks
// that never move. A record belongs to the domain that its
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
// the domain of the packet's terminal before a flit of the packet leaves that: the
// domain that made the chunk of packets then makes the chunk of records; others find it.
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

// Each visits all records that there are, also of numbers that are not in use.
func (r *PacketRecords[T]) Each(visit func(*T)) {
	for _, chunk := range r.chunks {
		if chunk != nil {
			for i := range chunk {
				visit(&chunk[i])
			}
		}
	}
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

// sourcePacketTable holds source packets.
type sourcePacketTable struct {
	recordIDs
	PacketRecords[sourcePacket]
}

// more makes further source packets, and lists them in unused.
func (t *sourcePacketTable) more(unused []int32) []int32 {
	unused = t.recordIDs.more(unused)
	for _, id := range unused[len(unused)-chunkPackets:] {
		t.Open(id).Spec.Birth = fabric.Never
	}
	return unused
}

// oldestBirth is the earliest birth among the packets whose end is not known.
func (t *sourcePacketTable) oldestBirth() int64 {
	oldest := fabric.Never
	for id := range int32(t.ids()) {
		if l := t.At(id); !l.delivered {
			oldest = min(oldest, l.Spec.Birth)
		}
	}
	return oldest
}

// Packet is what the end points need to know of a packet; switches do not
// touch it, but for its size under cut-through and what they count in more. 32 bytes.
type Packet struct {
	Birth int64  // cycle
	tag   uint64 `snap:"-"` // the source's own
	Wait  uint32 // cycles from birth until the head entered the network, below 2^31, and wentAround
	Src   topology.TerminalID
	Flits int32
	more  int32 // of a multicast packet, copies in the network beside the first; else switches crossed beyond MaxHops, by the tail
}

// WentAround marks in packet.wait that the head, which alone is routed, came by a
// non-minimal path, for when the tail comes.
const WentAround = 1 << 31

// maxChunks bounds the packets in a divided network: 2^26.
const maxChunks = 1 << 16
