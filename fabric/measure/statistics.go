package measure

import (
	"math"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/stats"
)

// statistics is what a running network counts: the window's packets, in the meter; the whole run in
// slices, for the verdict; and the flits on channels.
type statistics struct {
	f        *core.Fabric           `snap:"-"`
	source   fabric.Workload        `snap:"-"`
	meter    *Meter                 `snap:"-"`
	progress *progress              `snap:"-"`
	timings  []fabric.ChannelTiming `snap:"-"` // by class of channels
	useful   int64                  // flits delivered or given up, when the last slice ended
	entered  int64                  // flits that had entered the network, then
	hops     int64                  // switches that flits had crossed, then

	start     int64           // cycle in which the window opened
	delivered int64           // useful flits, then
	held      int64           // flits in the network, then
	sent      []uint32        // flits on every virtual channel, then
	series    *seriesRecorder `snap:"-"` // nil: off
}

// note enters the last cycles into the progress of the run.
func (s *statistics) note(cycles int64) {
	slice, useful := s.meter.takeSlice(), s.f.UsefulFlits()+s.f.FaultTally().GivenUpFlits
	s.progress.add(progressSlice{
		end: s.f.Cycle(), cycles: cycles, latency: slice.latency, packets: slice.packets,
		delivered: useful - s.useful, entered: s.f.InjectedFlits - s.entered, hops: s.f.FlitHops - s.hops, behind: s.behindBy() * float64(cycles),
	})
	s.useful, s.entered, s.hops = useful, s.f.InjectedFlits, s.f.FlitHops
}

// behindBy is how far the terminals are behind: see [fabric.Workload.BehindBy].
func (s *statistics) behindBy() float64 {
	by := s.source.BehindBy(s.f.Cycle())
	if !s.source.Closed() {
		by = max(by, s.f.LanesBehindBy(s.f.Cycle()))
	}
	return by
}

// open opens the window, of a known length or 0, now, perhaps anew, with a series of intervals (0:
// none), in slices of so many cycles.
func (s *statistics) open(intervals int, window, slice int64) {
	s.start = s.f.Cycle()
	s.meter.open(s.start, slice)
	s.delivered, s.held, s.sent = s.f.UsefulFlits(), s.f.FlitsInside(), s.f.ChannelFlits()
	if intervals > 0 {
		s.series = &seriesRecorder{f: s.f, intervals: intervals, start: s.f.Cycle(), window: window, each: slice, ended: s.f.Cycle(), before: s.f.ChannelFlits()}
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
	r.AcceptedHalf = s.acceptance()
	r.ChannelFlits = s.f.ChannelFlits()
	for i, before := range s.sent {
		r.ChannelFlits[i] -= before
	}
	s.meter.full = !r.Closed && hasFull(s.f.Graph(), s.timings, r.ChannelFlits, r.Window)
}

// fullFrom is the share of its capacity from which on a channel is full.
const fullFrom = 0.99

// hasFull tells whether a channel between switches is full, by the flits sent on each virtual
// channel in a window.
func hasFull(g *topology.Graph, timings []fabric.ChannelTiming, flits []uint32, window int64) bool {
	vcs := len(flits) / (g.NumPorts() + g.Terminals())
	for p, class := range g.PortClass {
		sent := lists.Sum(flits[p*vcs:(p+1)*vcs], func(n uint32) float64 { return float64(n) })
		if _, ends := g.PeerTerminal(topology.PortID(p)); !ends && sent*timings[class].CyclesPerFlit >= fullFrom*float64(window) {
			return true
		}
	}
	return false
}

// meanFlits is the mean length of the packets delivered so far.
func (s *statistics) meanFlits() float64 {
	return float64(s.f.DeliveredFlits) / float64(max(1, s.f.Packets))
}

// acceptance is half the 95 % confidence interval of a terminal's delivered flits a cycle, by few
// batches where slices are correlated for long: rates differ little.
func (s *statistics) acceptance() float64 {
	delivered := lists.Map(s.progress.since(s.start), progressSlice.rate)
	batches := stats.Batches(delivered)
	if len(delivered) >= 2*stats.LeastBatches {
		batches = max(stats.LeastBatches, batches)
	}
	return stats.MeanInterval(delivered, 0.95, batches) / float64(s.f.Graph().Terminals())
}

// evidence is what the verdict on the run so far is found from: the window, or the run's second
// half if that is longer.
func (s *statistics) evidence(r *Result, plan *Plan) Evidence {
	now, terminals := s.f.Cycle(), s.f.Graph().Terminals()
	idle := s.f.IdleLatency(r.ChannelFlits, s.meanFlits())
	e := Evidence{Offered: r.Offered, Bound: plan.Bound, Packets: s.meter.Packets()}
	e.worth = math.Min(float64(now)/(windowPackets*packetTime(plan.Longest, r.Offered)), float64(now)/(judgedIdle*idle))
	e.measure(s.progress.since(min(s.start, now/2)), terminals, idle)
	if e.Offered > 0 {
		e.fill(float64(s.held), float64(s.f.FlitsInside()), s.meanFlits(), e.Offered*float64(r.Window)*float64(terminals))
		e.missing = estimate{mean: 1 - r.Accepted/e.Offered, runs: 1}
	}
	return e
}

// progress keeps how a run went from its first cycle on, in slices, for the verdict: between half
// of mostSlices and mostSlices. When full, neighbours are joined, and slices are twice as long from
// then on.
type progress struct {
	slices []progressSlice
	each   int64 // cycles of a slice
	open   progressSlice
}

// progressSlice is what happened in the cycles up to end. Slices are joined by adding them up.
type progressSlice struct {
	end       int64   // cycle
	cycles    int64   // in it
	latency   int64   // of the packets delivered in it
	packets   int64   // delivered in it
	delivered int64   // flits that were worth it, or have been given up
	entered   int64   // flits that entered the network
	hops      int64   // switches that flits crossed
	behind    float64 // sum over its cycles of how far sources are behind: see [fabric.Workload.BehindBy]
}

// rate is the flits delivered in a cycle.
func (s progressSlice) rate() float64 { return float64(s.delivered) / float64(s.cycles) }

const mostSlices = 128

// left is the number of cycles until the slice ends.
func (p *progress) left() int64 { return p.each - p.open.cycles }

// add enters what happened since the last call.
func (p *progress) add(s progressSlice) {
	p.open.join(s)
	if p.open.cycles < p.each {
		return
	}
	if len(p.slices) == mostSlices {
		for i := range mostSlices / 2 {
			p.slices[i] = p.slices[2*i]
			p.slices[i].join(p.slices[2*i+1])
		}
		p.slices = p.slices[:mostSlices/2]
		p.each *= 2
	}
	if p.open.cycles >= p.each { // otherwise the first half of a longer one
		p.slices = append(p.slices, p.open)
		p.open = progressSlice{}
	}
}

func (s *progressSlice) join(o progressSlice) {
	s.end = o.end
	s.cycles += o.cycles
	s.latency += o.latency
	s.packets += o.packets
	s.delivered += o.delivered
	s.entered += o.entered
	s.hops += o.hops
	s.behind += o.behind
}

// since lists the whole slices that begin at a cycle or later.
func (p *progress) since(cycle int64) []progressSlice {
	for i, s := range p.slices {
		if s.end-s.cycles >= cycle {
			return p.slices[i:]
		}
	}
	return nil
}

// rate is the flits delivered a cycle in the whole slices between two cycles; not ok without one.
func (p *progress) rate(from, to int64) (rate float64, ok bool) {
	var all progressSlice
	for _, s := range p.slices {
		if s.end-s.cycles >= from && s.end <= to {
			all.join(s)
		}
	}
	return float64(all.delivered) / float64(max(1, all.cycles)), all.cycles > 0
}

// seriesRecorder collects a Series. Cost: a pass over virtual channels an interval; memory: four
// bytes an interval and channel.
type seriesRecorder struct {
	observe.Series
	f         *core.Fabric `snap:"-"`
	intervals int
	start     int64    // of the window
	window    int64    // its length; 0: as long as it takes
	each      int64    // cycles of an interval, where the window is as long as it takes
	ended     int64    // cycle in which the last interval did
	before    []uint32 // flits sent then, by virtual channel
}

// take ends an interval at the present cycle.
func (s *seriesRecorder) take() {
	now := s.f.ChannelFlits()
	vcs := s.f.VCs()
	flits := make([]uint32, len(now)/vcs)
	for i := range now {
		flits[i/vcs] += now[i] - s.before[i]
	}
	s.before, s.ended = now, s.f.Cycle()
	s.Ends = append(s.Ends, s.f.Cycle()-s.start)
	s.Flits = append(s.Flits, flits)
}

// left is the number of cycles until the interval ends. A window of known length is divided evenly.
func (s *seriesRecorder) left() int64 {
	if s.window > 0 {
		return s.start + s.window*int64(len(s.Ends)+1)/min(int64(s.intervals), s.window) - s.f.Cycle()
	}
	return s.ended + s.each - s.f.Cycle()
}

// note ends an interval. At twice the intervals asked for, in a window of unknown length,
// neighbours are joined, and intervals are twice as long from then on.
func (s *seriesRecorder) note() {
	s.take()
	if s.window > 0 || len(s.Ends) < 2*s.intervals {
		return
	}
	for i := range s.intervals {
		s.Ends[i] = s.Ends[2*i+1]
	}
	s.Ends, s.Flits = s.Ends[:s.intervals], observe.Joined(s.Flits)
	s.each *= 2
}

// finish ends the last interval with the window.
func (s *seriesRecorder) finish() *observe.Series {
	if s.f.Cycle() > s.ended {
		s.take()
	}
	return &s.Series
}
