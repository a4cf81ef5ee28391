package core

import (
	"errors"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/snapshot"
)

// This file writes runs and goes on from them: how far a run has come, what it has
// measured, the workload, the network.

// state writes the run between two slices, which are all the same for any number of threads.
func (r *runner) state(a *snapshot.Archive) error {
	r.archive(a)
	archiveKept(a, r.statistics.source)
	r.watch.archive(r.f.archive(a))
	return a.Err()
}

// restore reads all but the network, which is left in the archive: that is restored when
// the terminals have been started.
func (r *runner) restore(a *snapshot.Archive) error {
	r.archive(a)
	if a.Err() != nil {
		return a.Err()
	}
	if r.handed {
		if r.plan.After == nil {
			return errors.New("the snapshot is of a run in which another workload has taken over")
		}
		r.statistics.source = succeed(r.statistics.source, r.plan.After, r.statistics.origin)
	}
	if r.phase >= draining {
		r.conclude()
	}
	archiveKept(a, r.statistics.source)
	return a.Err()
}

func (r *runner) archive(a *snapshot.Archive) {
	a.Mark("run")
	r.course.archive(a)
	r.statistics.archive(a)
	r.result.archive(a)
	if a.Reading() && r.phase >= draining && r.statistics.series != nil {
		r.result.Series = &r.statistics.series.Series
	}
}

func (p *course) archive(a *snapshot.Archive) {
	snapshot.Int(a, &p.phase)
	a.Check(p.phase <= emptying, "phase %d of a run", p.phase)
	snapshot.Bool(a, &p.warm)
	snapshot.List(a, &p.slices, snapshot.Float)
	snapshot.List(a, &p.hops, snapshot.Float)
	snapshot.Int(a, &p.limit)
	snapshot.Bool(a, &p.handed)
	snapshot.Int(a, &p.until)
}

func (w *Watchdog) archive(x *archiver) {
	a := x.Archive
	x.counters(&w.moved)
	snapshot.Int(a, &w.movedAt)
	snapshot.Int(a, &w.waitsAt)
	x.Check(max(w.movedAt, w.waitsAt) <= max(0, x.f.cycle), "something moved in cycle %d", max(w.movedAt, w.waitsAt))
	snapshot.List(a, &w.waits, func(_ *snapshot.Archive, wait *Wait) { x.wait(wait) })
}

func (x *archiver) wait(w *Wait) {
	a := x.Archive
	for _, c := range []*topology.Channel{&w.Holds, &w.Wants, &w.Holder} {
		snapshot.Int(a, &c.Port)
		snapshot.Int(a, &c.VC)
		x.Check(c.Port >= 0 && int(c.Port) < len(x.f.in) && int(c.VC) < x.f.vcs, "a packet waits for virtual channel %d of port %d", c.VC, c.Port)
	}
	snapshot.Int(a, &w.Flits)
	snapshot.Int(a, &w.Src)
	snapshot.Int(a, &w.Dst)
	snapshot.Bool(a, &w.Multicast)
	x.packets.idOrNone(a, &w.packet)
}

// archive archives what has been counted. A series is written as the plan asks for one.
func (s *statistics) archive(a *snapshot.Archive) {
	s.meter.archive(a)
	s.progress.archive(a)
	s.last.archive(a)
	snapshot.Int(a, &s.useful)
	snapshot.Int(a, &s.origin)
	snapshot.Int(a, &s.start)
	snapshot.Int(a, &s.delivered)
	snapshot.Int(a, &s.entered)
	snapshot.Int(a, &s.held)
	(&archiver{Archive: a}).counters(&s.before)
	snapshot.List(a, &s.sent, snapshot.Int)
	a.Check(len(s.sent) == 0 || len(s.sent) == len(s.f.outVC), "%d virtual channels are counted", len(s.sent))
	has := s.series != nil
	if snapshot.Bool(a, &has); has {
		if s.series == nil {
			s.series = &seriesRecorder{f: s.f}
		}
		s.series.archive(a)
	}
}

func (s *seriesRecorder) archive(a *snapshot.Archive) {
	snapshot.List(a, &s.Ends, snapshot.Int)
	snapshot.List(a, &s.Flits, func(a *snapshot.Archive, p *[]uint32) { snapshot.List(a, p, snapshot.Int) })
	snapshot.Int(a, &s.intervals)
	snapshot.Int(a, &s.start)
	snapshot.Int(a, &s.slices)
	snapshot.Int(a, &s.pending)
	snapshot.List(a, &s.before, snapshot.Int)
}

func (p *progress) archive(a *snapshot.Archive) {
	snapshot.List(a, &p.slices, func(a *snapshot.Archive, s *progressSlice) { s.archive(a) })
	snapshot.Int(a, &p.each)
	p.open.archive(a)
}

func (s *progressSlice) archive(a *snapshot.Archive) {
	for _, n := range []*int64{&s.end, &s.cycles, &s.latency, &s.packets, &s.delivered, &s.entered} {
		snapshot.Int(a, n)
	}
	snapshot.Float(a, &s.behind)
}

func (s *slice) archive(a *snapshot.Archive) {
	snapshot.Int(a, &s.latency)
	snapshot.Int(a, &s.packets)
}

// archive archives a meter with what its parts have measured, which it takes over.
func (m *Meter) archive(a *snapshot.Archive) {
	if !a.Reading() {
		m.gather()
	}
	snapshot.Int(a, &m.from)
	snapshot.Int(a, &m.to)
	snapshot.Int(a, &m.slice)
	snapshot.List(a, &m.slices, func(a *snapshot.Archive, s *slice) { s.archive(a) })
	m.latency.Archive(a)
	for _, n := range []*int64{&m.network, &m.hops, &m.nonMinimal, &m.packets} {
		snapshot.Int(a, n)
	}
	snapshot.List(a, &m.notes, func(a *snapshot.Archive, n *Measure) { n.archive(a) })
	if m.levels != nil {
		snapshot.Array(a, "service levels", m.levels.tallies[:], func(a *snapshot.Archive, t *LevelTally) { t.archive(a) })
	}
}

func (m *Measure) archive(a *snapshot.Archive) {
	snapshot.String(a, &m.Name)
	m.Cycles.Archive(a)
	snapshot.Int(a, &m.sum)
}

func (t *LevelTally) archive(a *snapshot.Archive) {
	snapshot.Int(a, &t.Packets)
	t.Latency.Archive(a)
	snapshot.Int(a, &t.Sum)
	snapshot.Int(a, &t.Flits)
}

// archive archives what a closed window has left.
func (r *Result) archive(a *snapshot.Archive) {
	snapshot.Int(a, &r.Warmup)
	snapshot.Int(a, &r.Window)
	snapshot.Float(a, &r.Accepted)
	snapshot.List(a, &r.ChannelFlits, snapshot.Int)
	snapshot.Bool(a, &r.Settled)
	r.Evidence.archive(a)
}

func (e *Evidence) archive(a *snapshot.Archive) {
	snapshot.Float(a, &e.Offered)
	snapshot.Float(a, &e.Bound)
	snapshot.Int(a, &e.Packets)
	snapshot.Bool(a, &e.Stuck)
	snapshot.Int(a, &e.runs)
	snapshot.Int(a, &e.measured)
	for _, x := range []*estimate{&e.growing, &e.behind, &e.latency, &e.short, &e.filled, &e.missing} {
		snapshot.Float(a, &x.mean)
		snapshot.Float(a, &x.half)
		snapshot.Float(a, &x.runs)
	}
}
