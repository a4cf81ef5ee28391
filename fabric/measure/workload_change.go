package measure

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/snapshot"
)

// change of workload is a workload that has taken over from another one: the packets that were
// born of that one are sent first, in their order, but it hears of nothing any more.
type workloadChange struct {
	before, after fabric.Workload
	hears         fabric.Responder // after, if it is one
	at            int64            // first cycle of after
	through       []bool           // by terminal: all packets of before have been sent
	started       bool             // before has been
}

// succeed lets a workload take over from another one in a cycle.
func succeed(before, after fabric.Workload, at int64) *workloadChange {
	before.Stop(at)
	after.Begin(at)
	s := &workloadChange{before: before, after: after, at: at, through: make([]bool, after.Terminals())}
	s.hears, _ = after.(fabric.Responder)
	return s
}

// Terminals implements [fabric.Workload], as the methods below do.
func (s *workloadChange) Terminals() int { return s.after.Terminals() }

// Next implements [fabric.Source].
func (s *workloadChange) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	if !s.through[t] {
		if s.before.Next(t, until, spec) {
			return true
		}
		if spec.Birth < fabric.Never { // before s.at
			return false
		}
		s.through[t] = true
	}
	return s.after.Next(t, until, spec)
}

func (s *workloadChange) Prefetch(terminals []int32) {
	if p, ok := s.after.(fabric.Prefetcher); ok {
		p.Prefetch(terminals)
	}
}

// Closed implements [fabric.Workload].
func (s *workloadChange) Closed() bool { return s.after.Closed() }

// Begin implements [fabric.Workload]: each of the two has begun.
func (s *workloadChange) Begin(int64) {}

// Stop implements [fabric.Workload].
func (s *workloadChange) Stop(c int64) {
	s.before.Stop(min(c, s.at))
	s.after.Stop(c)
}

// Behind implements [fabric.Workload].
func (s *workloadChange) Behind(c int64) bool { return s.after.Behind(c) }

// BehindBy implements [fabric.Workload].
func (s *workloadChange) BehindBy(now int64) float64 { return s.after.BehindBy(now) }

// Deliver implements [fabric.Responder].
func (s *workloadChange) Deliver(d *fabric.Delivery) {
	if s.hears != nil && d.Birth >= s.at {
		s.hears.Deliver(d)
	}
}

// BearsLosses implements [fabric.LossListener].
func (s *workloadChange) BearsLosses() bool { return fabric.BearsLosses(s.after) }

// Lost implements [fabric.LossListener].
func (s *workloadChange) Lost(t topology.TerminalID, spec *fabric.PacketSpec) {
	if w, ok := s.after.(fabric.LossListener); ok && spec.Birth >= s.at {
		w.Lost(t, spec)
	}
}

// Start implements [fabric.Responder]: in a run that goes on, that of both.
func (s *workloadChange) Start(engine func(t topology.TerminalID) fabric.Engine) {
	if r, ok := s.before.(fabric.Responder); ok && !s.started {
		r.Start(engine)
	}
	if r, ok := s.after.(fabric.Responder); ok {
		r.Start(engine)
	}
}

// Alarm implements [fabric.Responder].
func (s *workloadChange) Alarm(t topology.TerminalID) {
	if s.hears != nil {
		s.hears.Alarm(t)
	}
}

// Measures implements [fabric.Responder].
func (s *workloadChange) Measures() []string {
	if s.hears == nil {
		return nil
	}
	return s.hears.Measures()
}

// AppendState implements [fabric.Workload].
func (s *workloadChange) AppendState(b []byte) []byte {
	a := snapshot.Writer()
	s.archive(a)
	return append(b, a.Bytes()...)
}

// RestoreState implements [fabric.Workload].
func (s *workloadChange) RestoreState(b []byte) error {
	a := snapshot.Reader(b)
	s.archive(a)
	return a.End()
}

func (s *workloadChange) archive(a *snapshot.Archive) {
	archiveKept(a, s.before)
	archiveKept(a, s.after)
	snapshot.Array(a, "terminals", s.through, snapshot.Bool)
}

// archiveKept writes the state of a workload, or restores it.
func archiveKept(a *snapshot.Archive, w fabric.Kept) {
	var state []byte
	if !a.Reading() {
		state = w.AppendState(nil)
	}
	snapshot.Blob(a, &state)
	if a.Reading() && a.Err() == nil {
		if err := w.RestoreState(state); err != nil {
			a.Fail("%w", err)
		}
	}
}

// handOver lets the plan's second workload take over in the next cycle.
func (r *runner) handOver() {
	s := succeed(r.statistics.source, r.plan.After, r.f.Cycle())
	s.started = true
	r.handed = true
	r.statistics.follow(s)
	r.f.Succeed(s, func(domain int) core.Recorder { return r.result.parts[domain] })
}
