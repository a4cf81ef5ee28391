package mpi

import (
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// own archives the argument of an event of the runtime: a message and, for the sake of
// looking ahead, a rank.
func (x *archiver) own(e *sim.Event) (part int) {
	id, peer := int32(e.Arg>>32), int32(e.Arg)
	snapshot.Int(x.Archive, &id)
	snapshot.Int(x.Archive, &peer)
	e.Arg = int64(id)<<32 | int64(uint32(peer))
	if !x.Reading() {
		return 0
	}
	r := e.Target
	if x.Check(e.Kind <= evCopied && x.isRank(r), "an event %d of rank %d", e.Kind, r); x.Err() != nil {
		return 0
	}
	switch e.Kind {
	case evStep:
		x.steps[r] = min(2, x.steps[r]+1)
		x.Check(id == x.all.ranks[r].posting, "rank %d is at work on message %d, not %d", r, x.all.ranks[r].posting, id)
	case evCopy, evCopied:
		x.moves[r] = min(2, x.moves[r]+1)
		x.Check(x.all.parts[0].copies != nil && id < 0, "a copy of rank %d, whose memory has no limit", r)
	case evWritten:
		if x.seeWritten(id) {
			x.Check(x.all.messages.At(id).from == r, "message %d is not of rank %d", id, r)
		}
	default:
		if x.see(id, travelling) {
			m := x.all.messages.At(id)
			from, to := m.ends()
			of := m.hop
			if e.Kind == evPost {
				of = from
			}
			x.Check(of == r && (e.Kind != evRelay || to != r), "message %d is not at rank %d", id, r)
		}
	}
	x.Check(id < 0 || x.isRank(peer), "a message of rank %d", peer)
	return int(x.all.partOf[x.all.nodeOf[r]])
}
