package core

import (
	"math"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/wheel"
)

// inflow is how a packet comes by its present channel: flit i arrives in the first cycle that
// begins at head + i*slope(pace), tail - (flits-1-i)*slope(slow), or later. 32 bytes.
type inflow struct {
	head  int64 // cycles << intervalShift
	tail  int64 // cycle
	flits int32
	pace  uint8 // of the channel
	slow  uint8 // of the channel that the tail has been late from
}

func (p *inflow) limit(u *packetUnit, r *flitSchedule, after int64) {
	r.limit(u, p.tail<<IntervalShift-int64(p.flits-1)*u.slopes[p.slow]+after, p.slow)
	if p.slow != p.pace {
		r.limit(u, p.head+1<<IntervalShift-1+after, p.pace) // from the cycle on that begins next
	}
}

// event is what happens at a queue or a port. 12 bytes.
type event struct {
	number int32 // of the queue, or of the port as of Fabric.out
	port   int32 // that a tail crosses to
	kind   eventKind
}

type eventKind uint8

const (
	tailCrosses eventKind = iota // of the packet at the front of a queue
	queueWakes                   // what it waits for has happened by itself
	creditsCome                  // to a port: those that somebody waits for
)

// streams says which of 64 queues have a packet between its head's and its tail's crossing, and
// whose tail crosses in this cycle.
type streams struct{ under, tail uint64 }

// packetUnit makes the packet the unit of the simulation: the same switches, decisions and
// allocators, with the same state, as for flits under switch.hold. The queues hold packets, each
// standing for its head. When a head is granted the crossbar, the times of all of its packet's
// flits follow ([Domain.crossPackets]), as nothing comes between them:
//
//   - the head arrives at the next switch: an event there, as for flits;
//   - the tail crosses: an event here, which releases input, output and virtual
//     channel and brings the next packet to the front;
//   - credits go back: one event at the sender for the first of them, which hands
//     over a [flitSchedule] for all.
//
// A head that cannot bid sleeps, in a list of what it waits for: a switch is visited when something
// can.
//
// Times of decisions are whole cycles, times of channels have flits' binary digits. If these do not
// divide the clock, a packet's middle flits are off by up to a cycle a hop; heads and tails are as
// for flits otherwise.
type packetUnit struct {
	slopes     []int64 // of schedules: by pace, then those below
	creditRate uint8   // slope of what is stored on the credits' wires
	stepRate   uint8   // slope of what is stored in the core
	step       int     // of the present cycle, while a switch is evaluated
	tails      int     // that are still to cross in the present cycle at the switch that is evaluated
	timed      bool    // ports are held up to a step
	swept      int64   // cycle of the last sweep, where they are

	credits []portCredits // by port, then by terminal
	streams []streams     // by mask word
	flows   [][]flow      // by port; nil unless watched
	quiet   []int64       // likewise: nothing of a port moves before this cycle

	Followed *followed // nil without observers

	schedules [256]*wheel.Wheel[flitSchedule] // as links.credits
	events    *wheel.Wheel[event]
}

// followed is what observers want beyond a [packetUnit]'s own records: they are told the same as
// with flits as the unit, but for flits between head and tail.
type followed struct {
	passing []passing          // by queue; of all domains
	tails   *wheel.Wheel[Flit] // that arrive in queues
	seen    []Flit             // heads of a batch
	polls   bool               // the heads at the front of queues ask in every step, as flits do: others of their queue may be asleep
}

// passing is a packet between its head's and its tail's crossing of a switch. 16 bytes.
type passing struct {
	granted int64 // step
	first   int64 // when the head leaves by the channel, in cycles << intervalShift
}

// slope adds a slope.
func (u *packetUnit) slope(every int64) uint8 {
	u.slopes = append(u.slopes, every)
	return uint8(len(u.slopes) - 1)
}

// flitSchedule is when each flit of a packet does something, such as cross a switch, or when
// its credit comes back, kept as a few lines in place of an event a flit: flit i does
// it in the cycle in which the largest of at[k] + i*slope(every[k]) falls. Times are
// in cycles << intervalShift. 56 bytes.
//
// A line stands for each limit on the flits of a packet that holds its ports: the core takes stored
// flits, one a step; others come no faster than their channel, or a slower one before it; the
// output takes them no faster than its channel; credits leave no faster than their wires.
type flitSchedule struct {
	at    [scheduleLines]int64
	every [scheduleLines]uint8 // slope, of packetUnit.slopes
	lines int8                 // in use
	flits int32
	done  int32 // flits that have been counted already
	ov    int32 // output virtual channel that it is about; -1: the schedule is of nothing
	port  int32 // of ov, as of Fabric.out, where it is of credits
}

const scheduleLines = 4

// start makes an empty schedule one of so many flits, with a line for the first limit.
func (r *flitSchedule) start(flits, ov int32, at int64, every uint8) {
	r.at[0], r.every[0] = at, every
	r.lines, r.flits, r.ov = 1, flits, ov
}

// copyTo copies a new schedule line by line (see [Domain.crossPackets]), but its port. No two
// neighbours are copied together: the compiler would merge them.
func (r *flitSchedule) copyTo(to *flitSchedule) {
	for k := range to.at {
		to.at[k], to.every[k] = r.at[k], r.every[k]
	}
	to.lines, to.flits, to.ov = r.lines, r.flits, r.ov
	to.done, to.port = 0, 0
}

// limit adds a line, unless one that is there lies above it everywhere.
func (r *flitSchedule) limit(u *packetUnit, at int64, every uint8) {
	last := int64(r.flits - 1)
	end := at + last*u.slopes[every]
	for k := range r.lines {
		if r.at[k] >= at && r.at[k]+last*u.slopes[r.every[k]] >= end {
			return
		}
	}
	if int(r.lines) == scheduleLines {
		panic("core: a packet is limited in more ways than there are")
	}
	r.at[r.lines], r.every[r.lines] = at, every
	r.lines++
}

// time is the cycle of flit i.
func (r *flitSchedule) time(u *packetUnit, i int32) int64 { return r.exact(u, i) >> IntervalShift }

// exact is the time of flit i in cycles << intervalShift.
func (r *flitSchedule) exact(u *packetUnit, i int32) int64 {
	t := r.at[0] + int64(i)*u.slopes[r.every[0]]
	for k := int8(1); k < r.lines; k++ {
		t = max(t, r.at[k]+int64(i)*u.slopes[r.every[k]])
	}
	return t
}

// before is the number of flits before a time in cycles << intervalShift.
func (r *flitSchedule) before(u *packetUnit, time int64) int32 {
	n := int64(r.flits)
	last := time - 1
	for k := range r.lines {
		left, slope := last-r.at[k], u.slopes[r.every[k]]
		if left < 0 {
			return 0
		}
		if n*slope > left {
			if slope == 1<<IntervalShift { // one a cycle, as nearly always
				n = left>>IntervalShift + 1
			} else {
				n = left/slope + 1
			}
		}
	}
	return int32(min(n, int64(r.flits)))
}

// take is the flits before a time that no earlier call has returned.
func (r *flitSchedule) take(u *packetUnit, time int64) int32 {
	n := r.before(u, time)
	fresh := n - r.done
	r.done = n
	return fresh
}

func (r *flitSchedule) delay(time int64) {
	for k := range r.lines {
		r.at[k] += time
	}
}

func (r *flitSchedule) from(u *packetUnit, i int32) {
	for k := range r.lines {
		r.at[k] += int64(i) * u.slopes[r.every[k]]
	}
	r.flits -= i
}

type portCredits struct {
	flitSchedule
	roomAt int64 // cycle of the next creditsCome; Never: none
}

type flow struct {
	flitSchedule
	kind    flowKind
	decided int32 // output virtual channel that the flits are counted under while they wait; -1: none, of a multicast packet
}

// fewFlows is how many a port has room for from the start.
const fewFlows = 4

type flowKind uint8

const (
	arriving flowKind = iota // wait from then on
	crossing                 // take a credit, and are behind the crossbar
	leaving                  // wait no longer
)

// IntervalShift is the fixed-point precision of departure times (and [fabric.ChannelTiming]): rates
// that do not divide the clock keep their mean to one part in a million.
const IntervalShift = 20

// WholeCycle is the first cycle that begins at a fixed-point time or later.
func WholeCycle(t int64) int64 { return (t + 1<<IntervalShift - 1) >> IntervalShift }

// intervalOf is the time that a flit occupies a channel, in cycles << IntervalShift.
func intervalOf(t fabric.ChannelTiming) int64 {
	return int64(math.Round(t.CyclesPerFlit * (1 << IntervalShift)))
}

// stepTimes places the switch core's steps on the flit clock. With speedup s, cycle c holds steps
// floor(c*s) to floor((c+1)*s)-1. What is ready when step k begins uses the first cycle that begins
// no earlier.
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
