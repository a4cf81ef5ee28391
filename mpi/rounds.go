package mpi

import (
	"fmt"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
)

// Costs says what the local work of a schedule takes, in picoseconds per byte.
type Costs struct {
	Copy    float64 // moving data inside a rank's memory
	Combine float64 // reducing received data
}

// RunSchedule returns a workload in which every rank runs its program of a
// schedule. unit is the time unit of the machine that runs it: sim.Nanosecond
// for LogGOPS, sim.Picosecond for the runtime; local work is rounded down to
// whole units. Memory: 32 bytes a rank.
func RunSchedule(s collectives.Schedule, costs Costs, unit sim.Time) *ScheduleRun {
	w := &ScheduleRun{s: s, costs: costs, unit: unit, ranks: make([]rankProgress, s.Ranks()), left: int64(s.Ranks())}
	if w.phased, _ = s.(Phased); w.phased != nil {
		w.phaseEnd = make([]int64, w.phased.Phases())
	}
	return w
}

type rankProgress struct {
	round   int32
	open    int32 // operations of the round that are under way
	ready   int64 // when the last one so far was done
	combine int64 // bytes that the round has received to be reduced
	_       int64 // none lies in two cache lines
}

// ScheduleRun is the state of one run of a schedule.
type ScheduleRun struct {
	s     collectives.Schedule
	costs Costs
	unit  sim.Time
	ranks []rankProgress
	ops   []collectives.Op
	left  int64

	phased   Phased // nil if the schedule has no phases
	phaseEnd []int64
	// phaseOver, if not nil, is called when a rank is through with a phase.
	phaseOver func(rank int32, now int64)
	parts     []*ScheduleRun
}

// Part implements [Divisible].
func (w *ScheduleRun) Part() Workload {
	p := *w
	p.ops, p.left, p.phaseEnd = nil, 0, make([]int64, len(w.phaseEnd))
	w.parts = append(w.parts, &p)
	return &p
}

// PhaseEnds are the times, in the machine's unit, at which the last rank left
// each phase of a schedule that is Phased.
func (w *ScheduleRun) PhaseEnds() []int64 {
	for _, p := range w.parts {
		for i, end := range p.phaseEnd {
			w.phaseEnd[i] = max(w.phaseEnd[i], end)
		}
	}
	return w.phaseEnd
}

func (w *ScheduleRun) Ranks() int { return w.s.Ranks() }
func (w *ScheduleRun) CPUs() int  { return 1 }
func (w *ScheduleRun) NICs() int  { return 1 }
func (w *ScheduleRun) Unreleased() int64 {
	left := w.left
	for _, p := range w.parts { // which count down from 0
		left += p.left
	}
	return left
}

func (w *ScheduleRun) Where(rank, id int32) string { return fmt.Sprintf("round %d", id) }

func (w *ScheduleRun) Start(rank int32, dst []Op) []Op { return w.enter(rank, dst) }

// Started releases nothing: a round starts as a whole.
func (w *ScheduleRun) Started(_, _ int32, _ int64, dst []Op) []Op { return dst }

func (w *ScheduleRun) Done(rank, _ int32, now int64, dst []Op) []Op {
	p := &w.ranks[rank]
	p.open--
	p.ready = max(p.ready, now)
	if p.open > 0 {
		return dst
	}
	if p.combine > 0 {
		cost := int64(float64(p.combine) * w.costs.Combine / float64(w.unit))
		if p.combine = 0; cost > 0 {
			p.open = 1
			return append(dst, Op{ID: p.round, Kind: Calc, Size: cost, Ready: p.ready})
		}
	}
	if w.phased != nil {
		w.timePhase(rank, p)
	}
	p.round++
	return w.enter(rank, dst)
}

// timePhase notes that rank is through with a round.
func (w *ScheduleRun) timePhase(rank int32, p *rankProgress) {
	phase := w.phased.Phase(int(rank), int(p.round))
	if phase < 0 {
		return
	}
	w.phaseEnd[phase] = max(w.phaseEnd[phase], p.ready)
	if w.phaseOver != nil && w.phased.Phase(int(rank), int(p.round)+1) != phase {
		w.phaseOver(rank, p.ready)
	}
}

// enter releases the first round from the present one on that has work.
func (w *ScheduleRun) enter(rank int32, dst []Op) []Op {
	p := &w.ranks[rank]
	for rounds := w.s.Rounds(int(rank)); int(p.round) < rounds; p.round++ {
		w.ops = w.s.Round(int(rank), int(p.round), w.ops[:0])
		before := len(dst)
		for i := range w.ops {
			dst = w.convert(p, &w.ops[i], dst)
		}
		if p.open = int32(len(dst) - before); p.open > 0 {
			return dst
		}
	}
	w.left--
	return dst
}

// convert appends an operation of the schedule as one of the machine, unless it
// takes no time.
func (w *ScheduleRun) convert(p *rankProgress, o *collectives.Op, dst []Op) []Op {
	dst = append(dst, Op{})
	op := &dst[len(dst)-1]
	// Field by field: what has just been written that way is not copied faster.
	op.ID, op.Peer, op.Tag, op.Size, op.Protocol, op.Segment, op.Control, op.Ready = p.round, o.Peer, o.Tag, o.Bytes, o.Protocol, o.Segment, o.Control, p.ready
	switch o.Kind {
	case collectives.Send:
		op.Kind = Send
	case collectives.Recv:
		op.Kind = Recv
		if o.Combine {
			p.combine += o.Bytes
		}
	case collectives.Compute:
		op.Kind, op.Size = Calc, int64(o.Time/w.unit)
	case collectives.Copy:
		op.Kind, op.Copy, op.Size = Calc, true, int64(float64(o.Bytes)*w.costs.Copy/float64(w.unit))
		if op.Size <= 0 {
			return dst[:len(dst)-1]
		}
	}
	return dst
}
