package collectives

import "github.com/weft-sim/weft/sim"

// Sequence runs schedules one after another; a rank enters the next when it is
// through with the one before. All have the same number of ranks.
func Sequence(parts ...Schedule) Schedule {
	for _, p := range parts {
		if p.Ranks() != parts[0].Ranks() {
			panic("collectives: a sequence of schedules with different numbers of ranks")
		}
	}
	s := &sequence{parts, make([]int, len(parts))}
	for i, p := range parts {
		s.rounds[i] = p.Rounds(0)
		for r := 1; r < p.Ranks() && s.rounds[i] != differ; r++ {
			if p.Rounds(r) != s.rounds[i] {
				s.rounds[i] = differ
			}
		}
	}
	return s
}

type sequence struct {
	parts  []Schedule
	rounds []int // of each part, if they are the same for all ranks, or differ
}

const differ = -1

func (s *sequence) Ranks() int { return s.parts[0].Ranks() }

// roundsOf is the number of rounds of a rank in part i.
func (s *sequence) roundsOf(i, rank int) int {
	if n := s.rounds[i]; n != differ {
		return n
	}
	return s.parts[i].Rounds(rank)
}

func (s *sequence) Rounds(rank int) int {
	n := 0
	for i := range s.parts {
		n += s.roundsOf(i, rank)
	}
	return n
}

func (s *sequence) Round(rank, round int, dst []Op) []Op {
	for i, p := range s.parts {
		n := s.roundsOf(i, rank)
		if round < n {
			return p.Round(rank, round, dst)
		}
		round -= n
	}
	panic("collectives: round out of range")
}

// Work is a schedule of one round in which every rank computes for a time.
func Work(ranks int, t sim.Time) Schedule {
	return &program{ranks: ranks, rounds: always(1), round: func(_, _ int, dst []Op) []Op {
		return append(dst, Op{Kind: Compute, Time: t})
	}}
}

// Split runs a schedule in every one of equal groups of ranks at once, as on a
// communicator that was split. Locate tells in which group a rank is and at
// which index; Member is the inverse.
func Split(s Schedule, ranks int, locate func(rank int) (group, index int), member func(group, index int) int) Schedule {
	return &split{s, ranks, locate, member}
}

type split struct {
	part   Schedule
	ranks  int
	locate func(rank int) (group, index int)
	member func(group, index int) int
}

func (s *split) Ranks() int { return s.ranks }

func (s *split) Rounds(rank int) int {
	_, index := s.locate(rank)
	return s.part.Rounds(index)
}

func (s *split) Round(rank, round int, dst []Op) []Op {
	group, index := s.locate(rank)
	start := len(dst)
	dst = s.part.Round(index, round, dst)
	for i := start; i < len(dst); i++ {
		if dst[i].Kind == Send || dst[i].Kind == Recv {
			dst[i].Peer = int32(s.member(group, int(dst[i].Peer)))
		}
	}
	return dst
}
