package mpi

import (
	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
)

// Phased is a schedule that comes in phases (set-up, iterations), which are
// timed apart.
type Phased interface {
	collectives.Schedule
	// Phases is their number.
	Phases() int
	// Phase is the one to which a round belongs; it does not sink from one
	// round to the next. Rounds of phase -1 are not timed.
	Phase(rank, round int) int
}

// Iterated runs a body several times; every time is a phase.
type Iterated struct {
	collectives.Schedule          // the body
	rounds               []uint32 // of the body, per rank; divisions are faster without a sign
	times                int
}

// Iterate runs a body the given number of times.
func Iterate(body collectives.Schedule, times int) *Iterated {
	s := &Iterated{body, make([]uint32, body.Ranks()), times}
	for r := range s.rounds {
		s.rounds[r] = uint32(body.Rounds(r))
	}
	return s
}

// Run starts a run on a machine with the given time unit.
func (s *Iterated) Run(unit sim.Time, costs Costs) Workload { return RunSchedule(s, costs, unit) }

func (s *Iterated) Rounds(rank int) int       { return s.times * int(s.rounds[rank]) }
func (s *Iterated) Phases() int               { return s.times }
func (s *Iterated) Phase(rank, round int) int { return int(uint32(round) / s.rounds[rank]) }
func (s *Iterated) Round(rank, round int, dst []collectives.Op) []collectives.Op {
	return s.Schedule.Round(rank, int(uint32(round)%s.rounds[rank]), dst)
}
