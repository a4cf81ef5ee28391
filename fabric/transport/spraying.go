package transport

import "github.com/weft-sim/weft/sim"

// spraying chooses the entropies of a connection's packets, below n, a power of 2.
type spraying struct {
	n        uint32
	turn, by uint32 // index, and what it is mixed with
	upper    uint16 // of all entropies
	stream   sim.Stream
	penalty  []uint8  // by entropy; nil unless bitmap
	good     []uint16 // entropies of unmarked acknowledgements, oldest first
	first    int      // of good
	reps     bool
	recycles bool
	frozen   int64 // reps: until
}

const (
	mostPenalty   = 15
	repsRing      = 8
	repsFrozenFor = 10_000_000_000 // ps
)

func newSpraying(kind string, n int, seed uint64, connection int) spraying {
	s := spraying{n: uint32(n), stream: sim.NewStream(seed, "spraying", connection)}
	x := s.stream.Uint64()
	s.by, s.upper = uint32(x)&(s.n-1), uint16(x>>32)&^uint16(n-1)
	switch kind {
	case "single":
		s.n = 1
		s.upper = uint16(x >> 32)
	case "bitmap":
		s.penalty = make([]uint8, n)
	case "reps":
		s.reps, s.recycles = true, true
	case "mixed":
		s.penalty, s.recycles = make([]uint8, n), true
	}
	return s
}

// next is the entropy of the next packet.
func (s *spraying) next(now int64) uint16 {
	if s.n == 1 {
		return s.upper
	}
	if s.first < len(s.good) {
		e := s.good[s.first]
		if s.reps && now < s.frozen {
			s.good = append(s.good[1:], e)
			return e
		}
		if s.first++; s.first > 64 && s.first > len(s.good)/2 {
			s.good = append(s.good[:0], s.good[s.first:]...)
			s.first = 0
		}
		return e
	}
	if s.reps {
		return s.upper | uint16(s.stream.IntN(int(s.n)))
	}
	e := s.inTurn()
	if s.penalty == nil {
		return s.upper | uint16(e)
	}
	lowered := false
	for range s.n {
		if s.penalty[e] == 0 {
			break
		}
		if !lowered {
			s.penalty[e]--
			lowered = true
		}
		e = s.inTurn()
	}
	return s.upper | uint16(e)
}

func (s *spraying) inTurn() uint32 {
	e := s.turn ^ s.by
	if s.turn++; s.turn == s.n {
		s.turn, s.by = 0, uint32(s.stream.Uint64())&(s.n-1)
	}
	return e
}

// Signals that come back about an entropy.
const (
	pathGood = iota
	pathMarked
	pathTrimmed
	pathTrimmedLast // at the queue to the terminal, which no other path avoids
)

func (s *spraying) heard(entropy uint16, signal int) {
	if s.n == 1 {
		return
	}
	if s.penalty != nil {
		p := &s.penalty[uint32(entropy)&(s.n-1)]
		switch signal {
		case pathMarked:
			*p = min(*p+1, mostPenalty)
		case pathTrimmed:
			*p = min(*p+4, mostPenalty)
		}
	}
	if s.recycles && (signal == pathGood || signal == pathTrimmedLast) {
		if s.reps && len(s.good)-s.first >= repsRing {
			s.first++
		}
		s.good = append(s.good, entropy)
	}
}

// expired takes a timeout, which tells nothing of an entropy.
func (s *spraying) expired(now int64) {
	if s.penalty != nil {
		s.penalty[0] = mostPenalty
	}
	if s.reps {
		s.frozen = now + repsFrozenFor
	}
}
