package mpi

import (
	"math"

	"github.com/weft-sim/weft/sim"
)

// A library may send an eager message in pieces of a buffer each, so that copies at both ends
// and the wire work side by side: the SAR of libfabric's ofi_rxm, the fragments of UCX. The
// sender's CPU makes one piece after another; the first finds the receive of all.

// pieces count the pieces of a message: all (0: it goes whole), what the sender has made, what the
// transport has, and what the receiver has taken in.
type pieces struct{ all, made, sent, taken uint16 }

// unmatched is the receive of a message in pieces that has found none.
const unmatched = -1

// cutUp makes pieces of a new message, if it goes in pieces.
func (rt *runtime) cutUp(m *message) {
	p := &rt.Protocols
	if m.bytes <= int64(p.EagerSegment) || m.stage != stageEager || m.shared || !p.copiesOut(m.bytes) || p.EagerAcknowledged || rt.connect.proxied(m.from, m.to) {
		return
	}
	each := rt.pieceSize(m)
	m.pieces.all, m.recvID = uint16((m.bytes+each-1)/each), unmatched
}

func (rt *runtime) pieceSize(m *message) int64 {
	return max(int64(rt.Protocols.EagerSegment), (m.bytes+math.MaxUint16-1)/math.MaxUint16)
}

// pieceBytes is the size of the piece of a number, from 0 on; of a message that goes whole, that of all.
func (rt *runtime) pieceBytes(m *message, number uint16) int64 {
	if m.pieces.all == 0 { // inlined
		return m.bytes
	}
	return rt.pieceSized(m, number)
}

// pieceSized is pieceBytes of a message in pieces.
func (rt *runtime) pieceSized(m *message, number uint16) int64 {
	each := rt.pieceSize(m)
	return min(each, m.bytes-int64(number)*each)
}

// postPiece posts the piece that the sender's CPU has made, and tells whether there are more to make. The first
// finds the way; until it has a connection the others wait with it.
func (rt *runtime) postPiece(i int32, m *message, now sim.Time) (more bool) {
	m.pieces.made++
	more = m.pieces.made < m.pieces.all
	switch {
	case m.pieces.made == 1:
		rt.post(i, m, now)
	case m.pieces.sent > 0:
		rt.transmit(i, m, m.from, m.to)
	}
	return more
}

func (rt *runtime) sendPieces(m *message, t Transfer) {
	for m.pieces.sent++; m.pieces.sent < m.pieces.made; m.pieces.sent++ {
		t.Bytes = rt.pieceBytes(m, m.pieces.sent)
		rt.transport.Send(t)
	}
}

// inMemory is how much of a message the receiver has taken in.
func (rt *runtime) inMemory(m *message) int64 {
	if m.pieces.all == 0 {
		return m.bytes
	}
	return min(m.bytes, int64(m.pieces.taken)*rt.pieceSize(m))
}

// unpacked completes a message that has been copied out of the unexpected queue, unless pieces are to come.
func (rt *runtime) unpacked(id int32, m *message, at sim.Time) {
	if m.pieces.taken == m.pieces.all {
		rt.complete(id, m, at)
	}
}
