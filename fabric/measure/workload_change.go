package measure

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/snapshot"
)

// workloadChange is two workloads, the second of which takes over from the first in the course of
// a run: the packets that were born of that one are sent first, in their order, but it hears of
// nothing any more. It is a [fabric.Responder] and a [fabric.LossListener] for those of the two that are.
type workloadChange struct {
	fabric.Workload // the present one, which is measured
	before, after   fabric.Workload
	at              int64  // first cycle of after; Never: it is not known yet
	through         []bool // by terminal: all packets of before have been sent
	engine          func(topology.TerminalID) fabric.Engine
}

func newWorkloadChange(before, after fabric.Workload) *workloadChange {
	return &workloadChange{Workload: before, before: before, after: after, at: fabric.Never, through: make([]bool, after.Terminals())}
}

// begin lets the second workload take over in a cycle.
func (s *workloadChange) begin(at int64) {
	s.before.Stop(at)
	s.after.Begin(at)
	s.Workload, s.at = s.after, at
}

// Next implements [fabric.Source].
func (s *workloadChange) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	if !s.through[t] {
		if s.before.Next(t, until, spec) {
			return true
		}
		if s.at == fabric.Never || spec.Birth < fabric.Never { // before s.at
			return false
		}
		s.through[t] = true
	}
	return s.after.Next(t, until, spec)
}

// Prefetch implements [fabric.Prefetcher].
func (s *workloadChange) Prefetch(terminals []int32) {
	if p, ok := s.Workload.(fabric.Prefetcher); ok {
		p.Prefetch(terminals)
	}
}

// Stop implements [fabric.Workload].
func (s *workloadChange) Stop(c int64) {
	s.before.Stop(min(c, s.at))
	s.after.Stop(c)
}

// isOfPresent tells whether a packet is born of the present workload.
func (s *workloadChange) isOfPresent(birth int64) bool { return s.at == fabric.Never || birth >= s.at }

// Deliver implements [fabric.Responder].
func (s *workloadChange) Deliver(d *fabric.Delivery) {
	if r, ok := s.Workload.(fabric.Responder); ok && s.isOfPresent(d.Birth) {
		r.Deliver(d)
	}
}

// BearsLosses implements [fabric.LossListener].
func (s *workloadChange) BearsLosses() bool { return fabric.BearsLosses(s.Workload) }

// Lost implements [fabric.LossListener].
func (s *workloadChange) Lost(t topology.TerminalID, spec *fabric.PacketSpec) {
	if w, ok := s.Workload.(fabric.LossListener); ok && s.isOfPresent(spec.Birth) {
		w.Lost(t, spec)
	}
}

// Start implements [fabric.Responder]: in a run that goes on, that of both.
func (s *workloadChange) Start(engine func(t topology.TerminalID) fabric.Engine) {
	s.engine = engine
	start(s.before, engine)
	if s.at < fabric.Never {
		start(s.after, engine)
	}
}

// start starts a workload, if it is one that hears of arrivals.
func start(w fabric.Workload, engine func(t topology.TerminalID) fabric.Engine) {
	if r, ok := w.(fabric.Responder); ok {
		r.Start(engine)
	}
}

// Alarm implements [fabric.Responder].
func (s *workloadChange) Alarm(t topology.TerminalID) {
	if r, ok := s.Workload.(fabric.Responder); ok {
		r.Alarm(t)
	}
}

// Measures implements [fabric.Responder].
func (s *workloadChange) Measures() []string {
	if r, ok := s.Workload.(fabric.Responder); ok {
		return r.Measures()
	}
	return nil
}

// AppendState implements [fabric.Workload]: before the change, the state of the first workload.
func (s *workloadChange) AppendState(b []byte) []byte {
	if s.at == fabric.Never {
		return s.before.AppendState(b)
	}
	a := snapshot.Writer()
	s.archive(a)
	return append(b, a.Bytes()...)
}

// RestoreState implements [fabric.Workload]. The change, if there was one, has been begun.
func (s *workloadChange) RestoreState(b []byte) error {
	if s.at == fabric.Never {
		return s.before.RestoreState(b)
	}
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
	r.handed = true
	r.change.begin(r.f.Cycle())
	r.statistics.follow()
	start(r.change.after, r.change.engine)
	for t := range r.f.Terminals {
		r.f.WakeAt(topology.TerminalID(t), core.WholeCycle(r.f.Out[r.f.TerminalOut0+int32(t)].NextFree))
	}
}
