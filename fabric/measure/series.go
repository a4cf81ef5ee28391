package measure

import (
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/observe"
)

// seriesRecorder collects a Series. Cost: a pass over the virtual channels per
// interval; memory: four bytes per interval and channel.
type seriesRecorder struct {
	observe.Series
	f         *core.Fabric `snap:"-"`
	intervals int
	start     int64    // of the window
	slices    int64    // of an interval, where the window is as long as it takes
	pending   int64    // slices since the last interval ended
	before    []uint32 // flits sent when it did, by virtual channel
}

func newSeriesRecorder(f *core.Fabric, intervals int) *seriesRecorder {
	return &seriesRecorder{f: f, intervals: intervals, start: f.Cycle(), slices: 1, before: f.ChannelFlits()}
}

// take ends an interval at the present cycle.
func (s *seriesRecorder) take() {
	now := s.f.ChannelFlits()
	vcs := s.f.VCs()
	flits := make([]uint32, len(now)/vcs)
	for i := range now {
		flits[i/vcs] += now[i] - s.before[i]
	}
	s.before, s.pending = now, 0
	s.Ends = append(s.Ends, s.f.Cycle()-s.start)
	s.Flits = append(s.Flits, flits)
}

// slice notes that a slice of a window of unknown length is over. When there
// are twice as many intervals as asked for, neighbours are joined, and
// intervals are twice as long from then on.
func (s *seriesRecorder) slice() {
	if s.pending++; s.pending < s.slices {
		return
	}
	s.take()
	if len(s.Ends) < 2*s.intervals {
		return
	}
	for i := range s.intervals {
		s.Ends[i] = s.Ends[2*i+1]
	}
	s.Ends, s.Flits = s.Ends[:s.intervals], observe.Joined(s.Flits)
	s.slices *= 2
}

// advanceThrough simulates a window of known length from its start on, or what is left of
// it. A series divides it evenly, to the cycle.
func (r *runner) advanceThrough(start, window int64) error {
	s := r.statistics.series
	if s == nil {
		return r.advanceTo(start + window)
	}
	for n := min(int64(s.intervals), window); int64(len(s.Ends)) < n; s.take() {
		if err := r.advanceTo(start + window*int64(len(s.Ends)+1)/n); err != nil {
			return err
		}
	}
	return nil
}

// finish ends the last interval with the window.
func (s *seriesRecorder) finish() *observe.Series {
	if s.pending > 0 {
		s.take()
	}
	return &s.Series
}
