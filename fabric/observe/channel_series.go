package observe

import (
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/sim/snapshot"
)

// ChannelSeries observes what the channels carry from the first cycle on, in a run of unknown
// length: in intervals of [leastInterval] at first, which are joined by twos when there are
// four times as many as wanted. Every domain keeps its own channels; intervals end at the same
// cycles in all of them. Cost: a pass over the virtual channels per interval.
type ChannelSeries struct {
	core.Unobserved
	parts  []*ChannelSeries // of the domains, with the network's first; in that only
	f      *core.Fabric
	wanted int
	each   int64     // cycles of an interval
	ends   int64     // of the intervals taken
	flits  core.Rows // what channels, numbered as state.out, have sent in them
}

// Series is what the channels of a network carried in the intervals of a window.
type Series struct {
	// Ends are the intervals' ends, in cycles from the window's start; each begins where the one
	// before ends, the first at 0.
	Ends []int64
	// Flits counts the flits sent in each interval on each channel, over its virtual channels (len
	// = intervals, each ports+terminals): by switch port, then by terminal.
	Flits [][]uint32
}

// leastInterval is the least length of an interval, in cycles.
const leastInterval = 100

// StartSeries makes the fabric record channels in so many intervals, or fewer than twice as many.
// Call it before Attach.
func StartSeries(f *core.Fabric, intervals int) *ChannelSeries {
	s := &ChannelSeries{f: f, wanted: intervals, each: leastInterval}
	f.Observe(s)
	return s
}

// Part implements observer.
func (s *ChannelSeries) Part(d *core.Domain) core.Observer {
	p := s
	if len(s.parts) > 0 {
		p = &ChannelSeries{f: s.f, wanted: s.wanted, each: s.each}
	}
	s.parts = append(s.parts, p)
	for _, sw := range d.Mine {
		for port := range d.Switches[sw].Ports {
			p.flits.Places = append(p.flits.Places, d.Switches[sw].Port0+port)
		}
	}
	for _, t := range d.Ends {
		p.flits.Places = append(p.flits.Places, d.TerminalOut0+t)
	}
	p.flits.Open()
	return p
}

// Begins implements observer: what has been sent until now was sent in the intervals that are over.
func (s *ChannelSeries) Begins(d *core.Domain) { s.upTo(d.Cycle) }

// upTo takes the intervals that end at a cycle or before.
func (s *ChannelSeries) upTo(cycle int64) {
	for s.ends+s.each <= cycle {
		s.take()
		s.ends += s.each
		if len(s.flits.All) == 4*s.wanted {
			s.join()
		}
	}
}

// join makes one interval of two.
func (s *ChannelSeries) join() {
	s.each *= 2
	s.flits.All = Joined(s.flits.All)
}

// Joined are rows added by twos.
func Joined(rows [][]uint32) [][]uint32 {
	for i := 1; i < len(rows); i += 2 {
		for k, n := range rows[i] {
			rows[i-1][k] += n
		}
		rows[i/2] = rows[i-1]
	}
	if n := len(rows); n%2 > 0 {
		rows[n/2] = rows[n-1]
	}
	return rows[:(len(rows)+1)/2]
}

// take keeps what has been sent since the last interval.
func (s *ChannelSeries) take() {
	row := make([]uint32, len(s.flits.Places))
	for i, channel := range s.flits.Places {
		now := s.f.FlitsSent(channel)
		row[i] = now - s.flits.Before[i]
		s.flits.Before[i] = now
	}
	s.flits.All = append(s.flits.All, row)
}

// Series is what was recorded before cycle end, in fewer than twice the intervals wanted; no flit
// is sent from then on, and nothing recorded afterwards. When the last credits come back does not
// show.
func (s *ChannelSeries) Series(end int64) *Series {
	out := &Series{}
	for _, p := range s.parts {
		p.upTo(end)
		p.take() // what the interval that has begun has
		for end >= 2*int64(p.wanted)*p.each {
			p.join()
		}
		for i := range min(int64(len(p.flits.All)), (end+p.each-1)/p.each) {
			if i == int64(len(out.Flits)) {
				out.Flits = append(out.Flits, make([]uint32, len(s.f.Out)))
				out.Ends = append(out.Ends, min(end, (i+1)*p.each))
			}
			p.flits.AddTo(out.Flits[i], int(i))
		}
	}
	return out
}

// Archive implements observer: the intervals of all channels, whichever domains they belong to.
func (s *ChannelSeries) Archive(x *core.Archiver) {
	a := x.Archive
	a.Mark("series")
	for _, p := range s.parts {
		if !a.Reading() {
			p.upTo(x.Fabric.Cycle())
		}
	}
	snapshot.Int(a, &s.each)
	snapshot.Int(a, &s.ends)
	parts := make([]*core.Rows, len(s.parts))
	for i, p := range s.parts {
		p.each, p.ends = s.each, s.ends
		parts[i] = &p.flits
	}
	core.ArchiveRows(a, parts, len(x.Fabric.Out))
}
