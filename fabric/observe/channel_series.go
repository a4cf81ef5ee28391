package observe

import (
	"github.com/weft-sim/weft/fabric"
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
	each   int64      // cycles of an interval
	ends   int64      // of the intervals taken
	own    []int32    // channels, numbered as state.out
	sent   []uint32   // on each of these, until then
	flits  [][]uint32 // len = intervals, each own
}

// Series is what the channels of a network carried in the intervals of a
// window.
type Series struct {
	// Ends are where the intervals end, in cycles from the start of the
	// window; the first begins at 0, each other where the one before ends.
	Ends []int64
	// Flits counts the flits sent in each interval on each channel, all
	// virtual channels together (len = intervals, each ports+terminals): out
	// of each switch port, then out of each terminal.
	Flits [][]uint32
}

// leastInterval is the least length of an interval, in cycles.
const leastInterval = 100

// StartSeries makes the fabric record what channels carry in so many intervals, or fewer than
// twice as many. It must be called before Attach.
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
			p.own = append(p.own, d.Switches[sw].Port0+port)
		}
	}
	for _, t := range d.Ends {
		p.own = append(p.own, d.TerminalOut0+t)
	}
	p.sent = make([]uint32, len(p.own))
	return p
}

// Begins implements observer: what has been sent until now was sent in the intervals that
// are over.
func (s *ChannelSeries) Begins(d *core.Domain) { s.upTo(d.Cycle) }

// upTo takes the intervals that end at a cycle or before.
func (s *ChannelSeries) upTo(cycle int64) {
	for s.ends+s.each <= cycle {
		s.take()
		s.ends += s.each
		if len(s.flits) == 4*s.wanted {
			s.join()
		}
	}
}

// join makes one interval of two.
func (s *ChannelSeries) join() {
	s.each *= 2
	s.flits = joined(s.flits)
}

// joined are rows added by twos.
func joined(rows [][]uint32) [][]uint32 {
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
	row := make([]uint32, len(s.own))
	for i, channel := range s.own {
		now := sentBy(s.f, channel)
		row[i] = now - s.sent[i]
		s.sent[i] = now
	}
	s.flits = append(s.flits, row)
}

// sentBy is the number of flits sent on all virtual channels of a channel, modulo 2^32.
func sentBy(f *core.Fabric, channel int32) (flits uint32) {
	ovs := f.OutVC[int(channel)*f.VCs():][:f.VCs()]
	for i := range ovs {
		flits += ovs[i].Flits
	}
	return flits
}

// Series is what has been recorded before cycle end, in fewer than twice as many intervals as
// wanted; no flit is sent from then on, and nothing can be recorded afterwards. When the last
// credits come back, which is later, does not show.
func (s *ChannelSeries) Series(end int64) *Series {
	out := &Series{}
	for _, p := range s.parts {
		p.upTo(end)
		p.take() // what the interval that has begun has
		for end >= 2*int64(p.wanted)*p.each {
			p.join()
		}
		for i, row := range p.flits[:min(int64(len(p.flits)), (end+p.each-1)/p.each)] {
			if i == len(out.Flits) {
				out.Flits = append(out.Flits, make([]uint32, len(s.f.Out)))
				out.Ends = append(out.Ends, min(end, int64(i+1)*p.each))
			}
			for k, n := range row {
				out.Flits[i][p.own[k]] += n
			}
		}
	}
	return out
}

func (*ChannelSeries) Arrived(*core.Domain, []core.Flit)                                 {}
func (*ChannelSeries) Injected(*core.Domain, int32)                                      {}
func (*ChannelSeries) GrantedVC(*core.Domain, *core.SwitchState, []core.Request, uint32) {}
func (*ChannelSeries) GrantedSwitch(*core.Domain, *core.SwitchState, []core.Request, *core.StepTime) {
}
func (*ChannelSeries) Delivered(*core.Domain, int32, *fabric.Delivery) {}

// Archive implements observer: the intervals of all channels, whichever domains they belong to.
func (s *ChannelSeries) Archive(x *core.Archiver) {
	a := x.Archive
	a.Mark("series")
	for _, p := range s.parts {
		p.upTo(x.Fabric.Cycle())
	}
	intervals := len(s.flits)
	snapshot.Int(a, &intervals)
	snapshot.Int(a, &s.each)
	snapshot.Int(a, &s.ends)
	if a.Err() != nil {
		return
	}
	all := make([]uint32, len(x.Fabric.Out))
	row := func(of func(p *ChannelSeries) []uint32) {
		for _, p := range s.parts {
			for k, n := range of(p) {
				all[p.own[k]] = n
			}
		}
		snapshot.Array(a, "channels", all, snapshot.Int)
		for _, p := range s.parts {
			values := of(p)
			for k := range values {
				values[k] = all[p.own[k]]
			}
		}
	}
	for _, p := range s.parts {
		p.each, p.ends = s.each, s.ends
		for len(p.flits) < intervals {
			p.flits = append(p.flits, make([]uint32, len(p.own)))
		}
	}
	row(func(p *ChannelSeries) []uint32 { return p.sent })
	for i := range intervals {
		row(func(p *ChannelSeries) []uint32 { return p.flits[i] })
	}
}
