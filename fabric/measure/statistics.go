package measure

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
)

// statistics is what is counted and measured while a network runs: the packets of the
// window, in the meter; the whole run in slices, which the verdict is found from; and the
// flits on channels.
type statistics struct {
	f        *core.Fabric    `snap:"-"`
	source   fabric.Workload `snap:"-"`
	meter    *Meter          `snap:"-"`
	progress *progress       `snap:"-"`
	last     slice           // of the slice of cycles that ended last
	useful   int64           // flits delivered or given up, when it ended
	entered  int64           // flits that had entered the network, when it ended
	origin   int64           // cycle in which the workload that is measured began
	before   core.Counters   // then

	start     int64           // cycle in which the window opened
	delivered int64           // useful flits, then
	held      int64           // flits in the network, then
	sent      []uint32        // flits on every virtual channel, then
	series    *seriesRecorder `snap:"-"` // nil: off
}

func newStatistics(f *core.Fabric, source fabric.Workload) *statistics {
	return &statistics{f: f, source: source, meter: NewMeter(sliceCycles), progress: newProgress()}
}

// note enters the last cycles into the progress of the run.
func (s *statistics) note(cycles int64) {
	slice, useful := s.meter.takeSlice(), s.f.UsefulFlits()+s.f.FaultTally().GivenUpFlits
	s.progress.add(progressSlice{
		end: s.f.Cycle() - s.origin, cycles: cycles, latency: slice.latency, packets: slice.packets,
		delivered: useful - s.useful, entered: s.f.InjectedFlits - s.entered, behind: s.behindBy() * float64(cycles),
	})
	s.last, s.useful, s.entered = slice, useful, s.f.InjectedFlits
}

// behindBy is how far the terminals are behind: see [fabric.Workload.BehindBy].
func (s *statistics) behindBy() float64 {
	by := s.source.BehindBy(s.f.Cycle())
	if !s.source.Closed() {
		by = max(by, s.f.LanesBehindBy(s.f.Cycle()))
	}
	return by
}

// open opens the window at the present cycle, with a series of so many intervals; 0: of
// none.
func (s *statistics) open(intervals int) {
	s.start = s.f.Cycle()
	s.meter.Open(s.start)
	s.delivered, s.held, s.sent = s.f.UsefulFlits(), s.f.FlitsInside(), s.f.ChannelFlits()
	if intervals > 0 {
		s.series = newSeriesRecorder(s.f, intervals)
	}
}

// close ends the window at the present cycle, for now, and enters what it has seen.
func (s *statistics) close(r *Result) {
	end := s.f.Cycle()
	s.meter.Close(end)
	s.meter.gather()
	r.Window = end - s.start
	delivered := float64(s.f.UsefulFlits() - s.delivered)
	terminals := float64(s.f.Graph().Terminals())
	r.Accepted = delivered / float64(r.Window) / terminals
	r.ChannelFlits = s.f.ChannelFlits()
	for i, before := range s.sent {
		r.ChannelFlits[i] -= before
	}
}

// follow begins again with a workload that has taken over in the present cycle.
func (s *statistics) follow(w fabric.Workload) {
	s.source, s.origin, s.before, s.progress = w, s.f.Cycle(), s.f.Counters, newProgress()
}

// meanFlits is the mean length of the packets delivered since.
func (s *statistics) meanFlits() float64 {
	flits, packets := s.f.DeliveredFlits-s.before.DeliveredFlits, s.f.Packets-s.before.Packets
	return float64(flits) / float64(max(1, packets))
}

// evidence is what the verdict on the run so far is found from: the window, and the
// second half of the run if the window is shorter than that.
func (s *statistics) evidence(r *Result, bound float64) Evidence {
	e := Evidence{Offered: r.Offered, Bound: bound, Packets: s.meter.Packets()}
	slices := s.progress.since(min(s.start-s.origin, (s.f.Cycle()-s.origin)/2))
	e.measure(slices, s.f.Graph().Terminals(), s.f.IdleLatency(r.ChannelFlits, s.meanFlits()))
	if e.Offered > 0 {
		e.fill(float64(s.held), float64(s.f.FlitsInside()), s.meanFlits(), e.Offered*float64(r.Window)*float64(s.f.Graph().Terminals()))
		e.missing = estimate{mean: 1 - r.Accepted/e.Offered, runs: 1}
	}
	return e
}
