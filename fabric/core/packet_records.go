package core

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
