package core

import (
	"math"

	"github.com/weft-sim/weft/fabric"
)

// IntervalShift is the fixed-point precision of departure times: rates that
// do not divide the clock keep their mean to one part in a million. It is the precision of
// [fabric.ChannelTiming], too.
const IntervalShift = 20

// WholeCycle is the first cycle that begins at a fixed-point time or later.
func WholeCycle(t int64) int64 { return (t + 1<<IntervalShift - 1) >> IntervalShift }

// intervalOf is the time that a flit occupies a channel, in cycles << IntervalShift.
func intervalOf(t fabric.ChannelTiming) int64 {
	return int64(math.Round(t.CyclesPerFlit * (1 << IntervalShift)))
}

// stepTimes places the steps of the switch core on the flit clock. With
// speedup s, cycle c holds the steps floor(c*s) to floor((c+1)*s)-1. What is
// ready at the beginning of step k can use the flit clock from the first cycle
// that begins no earlier.
type stepTimes struct {
	speedup         float64
	Whole           int64 // speedup, if it is a whole number, otherwise 0
	alloc, Traverse int64 // steps of switch allocation; of it and the crossbar
	allocCycles     int64 // the longest that switch allocation takes, in cycles
	crossCycles     int64 // with the crossbar
	cycle           int64 // the present one
	First           int64 // step with which it begins
	n               int   // steps in the present cycle
	at              [MaxSpeedup + 1]StepTime
}

// StepTime is what a step means on the flit clock.
type StepTime struct {
	Number uint32 // of the step, modulo 2^32
	credit int64  // when the credit of a flit granted the crossbar may leave, in cycles << intervalShift
	Depart int64  // when the flit may use the channel, in cycles << intervalShift
}

const MaxSpeedup = 16

func newStepTimes(c *fabric.SwitchConfig) stepTimes {
	s := stepTimes{speedup: c.Speedup, alloc: int64(c.SwitchAllocCycles), Traverse: int64(c.SwitchAllocCycles + c.CrossbarCycles)}
	s.allocCycles, s.crossCycles = int64(math.Ceil(float64(s.alloc)/c.Speedup)), c.CrossingCycles()
	if c.Speedup == math.Trunc(c.Speedup) {
		s.Whole = int64(c.Speedup)
	}
	return s
}

// set prepares the steps of cycle c.
func (s *stepTimes) set(c int64) {
	if s.Whole != 0 && s.n > 0 { // all moves on alike
		cycles := c - s.cycle
		s.cycle = c
		s.First += cycles * s.Whole
		for i := range s.n {
			at := &s.at[i]
			at.Number += uint32(cycles * s.Whole)
			at.credit += cycles << IntervalShift
			at.Depart += cycles << IntervalShift
		}
		return
	}
	s.cycle = c
	s.First = s.FirstStep(c)
	s.n = int(s.FirstStep(c+1) - s.First)
	for i := range s.n {
		k := s.First + int64(i)
		s.at[i] = StepTime{Number: uint32(k), credit: s.CycleFrom(k+s.alloc) << IntervalShift, Depart: s.CycleFrom(k+s.Traverse) << IntervalShift}
	}
}

func (s *stepTimes) FirstStep(c int64) int64 {
	if s.Whole != 0 {
		return c * s.Whole
	}
	return int64(float64(c) * s.speedup)
}

// CycleFrom is the first cycle that begins with step k or a later one.
func (s *stepTimes) CycleFrom(k int64) int64 {
	if s.Whole != 0 {
		return (k + s.Whole - 1) / s.Whole
	}
	c := int64(float64(k) / s.speedup)
	for s.FirstStep(c) < k {
		c++
	}
	return c
}

// Wide is a step of the present cycle or soon after without its modulus.
func (s *stepTimes) Wide(step uint32) int64 { return s.First + int64(int32(step-uint32(s.First))) }

// CycleOf is the cycle that step k belongs to.
func (s *stepTimes) CycleOf(k int64) int64 {
	if s.Whole != 0 {
		return k / s.Whole
	}
	c := s.CycleFrom(k)
	if s.FirstStep(c) > k {
		c--
	}
	return c
}
