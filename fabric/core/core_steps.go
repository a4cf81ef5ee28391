package core

import (
	"math"

	"github.com/weft-sim/weft/fabric"
)

// stepTimes places the steps of the switch core on the flit clock. With
// speedup s, cycle c holds the steps floor(c*s) to floor((c+1)*s)-1. What is
// ready at the beginning of step k can use the flit clock from the first cycle
// that begins no earlier.
type stepTimes struct {
	speedup         float64
	whole           int64 // speedup, if it is a whole number, otherwise 0
	alloc, traverse int64 // steps of switch allocation; of it and the crossbar
	allocCycles     int64 // the longest that switch allocation takes, in cycles
	crossCycles     int64 // with the crossbar
	cycle           int64 // the present one
	first           int64 // step with which it begins
	n               int   // steps in the present cycle
	at              [maxSpeedup + 1]stepTime
}

// stepTime is what a step means on the flit clock.
type stepTime struct {
	number uint32 // of the step, modulo 2^32
	credit int64  // when the credit of a flit granted the crossbar may leave, in cycles << intervalShift
	depart int64  // when the flit may use the channel, in cycles << intervalShift
}

const maxSpeedup = 16

func newStepTimes(c *fabric.SwitchConfig) stepTimes {
	s := stepTimes{speedup: c.Speedup, alloc: int64(c.SwitchAllocCycles), traverse: int64(c.SwitchAllocCycles + c.CrossbarCycles)}
	s.allocCycles, s.crossCycles = int64(math.Ceil(float64(s.alloc)/c.Speedup)), c.CrossingCycles()
	if c.Speedup == math.Trunc(c.Speedup) {
		s.whole = int64(c.Speedup)
	}
	return s
}

// set prepares the steps of cycle c.
func (s *stepTimes) set(c int64) {
	if s.whole != 0 && s.n > 0 { // all moves on alike
		cycles := c - s.cycle
		s.cycle = c
		s.first += cycles * s.whole
		for i := range s.n {
			at := &s.at[i]
			at.number += uint32(cycles * s.whole)
			at.credit += cycles << intervalShift
			at.depart += cycles << intervalShift
		}
		return
	}
	s.cycle = c
	s.first = s.firstStep(c)
	s.n = int(s.firstStep(c+1) - s.first)
	for i := range s.n {
		k := s.first + int64(i)
		s.at[i] = stepTime{number: uint32(k), credit: s.cycleFrom(k+s.alloc) << intervalShift, depart: s.cycleFrom(k+s.traverse) << intervalShift}
	}
}

func (s *stepTimes) firstStep(c int64) int64 {
	if s.whole != 0 {
		return c * s.whole
	}
	return int64(float64(c) * s.speedup)
}

// cycleFrom is the first cycle that begins with step k or a later one.
func (s *stepTimes) cycleFrom(k int64) int64 {
	if s.whole != 0 {
		return (k + s.whole - 1) / s.whole
	}
	c := int64(float64(k) / s.speedup)
	for s.firstStep(c) < k {
		c++
	}
	return c
}

// wide is a step of the present cycle or soon after without its modulus.
func (s *stepTimes) wide(step uint32) int64 { return s.first + int64(int32(step-uint32(s.first))) }

// cycleOf is the cycle that step k belongs to.
func (s *stepTimes) cycleOf(k int64) int64 {
	if s.whole != 0 {
		return k / s.whole
	}
	c := s.cycleFrom(k)
	if s.firstStep(c) > k {
		c--
	}
	return c
}
