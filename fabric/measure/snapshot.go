package measure

import (
	"errors"

	"github.com/weft-sim/weft/sim/snapshot"
)

// This file writes runs and goes on from them: how far a run has come, what it has
// measured, the workload, the network.

// state writes the run between two slices, which are all the same for any number of threads.
func (r *runner) state(a *snapshot.Archive) error {
	r.archive(a)
	archiveKept(a, r.statistics.source)
	r.watch.ArchiveNetwork(a)
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
		if r.change == nil {
			return errors.New("the snapshot is of a run in which another workload has taken over")
		}
		r.change.begin(r.statistics.origin)
	}
	if r.phase >= draining {
		r.conclude()
	}
	archiveKept(a, r.statistics.source)
	return a.Err()
}

func (r *runner) archive(a *snapshot.Archive) {
	a.Mark("run")
	snapshot.Value(a, &r.course)
	r.statistics.archive(a)
	snapshot.Value(a, r.result)
	if a.Reading() && r.phase >= draining && r.statistics.series != nil {
		r.result.Series = &r.statistics.series.Series
	}
}

// archive archives what has been counted. A series is written as the plan asks for one.
func (s *statistics) archive(a *snapshot.Archive) {
	snapshot.Value(a, s)
	s.meter.archive(a)
	snapshot.Value(a, s.progress)
	has := s.series != nil
	if snapshot.Bool(a, &has); has {
		if s.series == nil {
			s.series = &seriesRecorder{f: s.f}
		}
		snapshot.Value(a, s.series)
	}
}

// archive archives a meter with what its parts have measured, which it takes over.
func (m *Meter) archive(a *snapshot.Archive) {
	if !a.Reading() {
		m.gather()
	}
	snapshot.Value(a, m)
}
