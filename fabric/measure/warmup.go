package measure

import (
	"cmp"
	"math"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/stats"
)

// Units of evidence: the packet time (the longest packet's flits over a terminal's load) and an
// idle network's latency. The least slice, the least budget and the first look at a network that
// learns are fixed cycles.
const (
	leastSlice    = 16 // cycles
	leastBudget   = 100_000
	warmupSlices  = 32   // between two looks at a warm-up; the first half of them may belong to it
	windowSlices  = 40   // of the first length, of a window that is found, at least
	finer         = 4    // slices of an interval are as many times shorter than those of the run
	windowPackets = 100  // packet times of a window that is found, and of a run that is judged
	windowIdle    = 20   // latencies of an idle network, of a window that is found
	budgetPackets = 4000 // packet times, of warm-up and window where the plan does not say
	budgetIdle    = 200  // latencies of the slowest channel, likewise
	warmupPackets = 5    // packet times before the window
	warmupIdle    = 3    // latencies of an idle network, or of the slowest channel, before the window
	learning      = 4000 // cycles of the first look at a network that learns
)

// packetTime is the cycles of a terminal for a longest packet (0: 1 flit) at an offered load; a
// closed workload, of load 0, sends at full rate.
func packetTime(longest int, offered float64) float64 {
	return float64(max(1, longest)) / cmp.Or(offered, 1)
}

// unit is the cycles of the first slices of a run; latency is that of the slowest channel.
func unit(longest int, offered float64, latency int64) int64 {
	before := max(warmupPackets*packetTime(longest, offered), warmupIdle*float64(latency))
	return max(leastSlice, int64(math.Ceil(before/(warmupSlices/2))))
}

// LeastCycles are the least cycles of a warm-up and a window that are found; latency is the slowest
// channel's, idle an idle network's mean.
func LeastCycles(longest int, offered float64, latency int64, idle float64) (warmup, window int64) {
	first := unit(longest, offered, latency)
	return warmupSlices / 2 * first, leastWindow(first, longest, offered, idle)
}

// leastWindow is the least cycles of a window that is found: slices for an interval, many packet
// times, and many latencies of an idle network.
func leastWindow(first int64, longest int, offered, idle float64) int64 {
	return max(windowSlices*first, int64(windowPackets*packetTime(longest, offered)), int64(windowIdle*idle))
}

// DefaultBudget is the most cycles of warm-up and window by default: 100,000, more for long
// packets, low loads or slow channels.
func DefaultBudget(longest int, offered float64, latency int64) int64 {
	return max(leastBudget, int64(budgetPackets*packetTime(longest, offered)), budgetIdle*latency)
}

// budget is the most cycles of warm-up and window where they are found.
func (r *runner) budget() int64 {
	return cmp.Or(r.plan.Budget, DefaultBudget(r.plan.Longest, r.result.Offered, r.f.LongestLatency()))
}

// warmUp runs until the mean latency of delivered packets has settled, and opens the window.
//
// A warm-up that is found is looked at after 32 slices, and after twice as many cycles each time.
// The window is open in the second half of them, tentatively: where the network has settled in
// the first half, what has been measured is kept. It is not kept in networks that learn or in
// which something fails behind the warm-up, nor where the window is given.
//
// A saturated network goes on until it has filled, looked at more often, with a window in the last
// half to ninth of the cycles.
func (r *runner) warmUp() error {
	if r.plan.Warmup > 0 {
		r.warm = true
		if err := r.advanceTo(r.plan.Warmup); err != nil {
			return err
		}
		r.open()
		return nil
	}
	longest := max(2, r.result.Budget/2)
	if r.look == 0 {
		r.look = r.each * warmupSlices
		if r.f.Learns() {
			r.look = learning
		}
		r.look = min(r.look, longest)
	}
	keeps := !r.f.Learns() && r.f.Faults == nil && r.plan.Window == 0
	for {
		if !r.opened {
			if err := r.advanceTo(r.look / 2); err != nil {
				return err
			}
			if keeps {
				r.open()
			}
			r.opened = true
		}
		if err := r.advanceTo(r.look); err != nil {
			return err
		}
		r.warm = r.hasSettled()
		if keeps {
			r.close()
			proven := r.isSaturated()
			if r.result.State == Saturated && r.look < longest {
				if proven && !r.fills() {
					return nil
				}
				r.result.Close(fabric.Never)
				if proven && r.look >= 2*r.statistics.start {
					r.open()
				}
				r.look = min(r.slicesFrom(r.look+r.look/8), longest)
				continue
			}
			r.warm = r.warm && r.result.State != Saturated
			r.result.Close(fabric.Never)
			r.result.State = Undecided
		}
		if r.warm || r.look >= longest {
			if !keeps {
				r.open()
			}
			return nil
		}
		r.opened = false
		r.look = min(2*r.look, longest)
		r.each *= 2
	}
}

// hasSettled looks whether the warm-up is over in the middle of the run so far.
func (r *runner) hasSettled() bool {
	slices := r.statistics.progress.slices
	latency := make([]float64, 0, len(slices))
	hops := make([]float64, 0, len(slices))
	for _, s := range slices {
		if s.packets == 0 && len(latency) == 0 {
			continue // the first packets are on their way
		}
		latency = append(latency, float64(s.latency)/float64(s.packets))
		hops = append(hops, float64(s.hops)/float64(s.delivered))
	}
	if r.f.Learns() {
		return r.look >= learning && hasLearned(latency, hops)
	}
	idle := r.f.IdleLatency(r.f.ChannelFlits(), r.statistics.meanFlits())
	return settles(latency) && float64(r.look) >= 2*warmupIdle*idle
}

// settles tells whether a series of mean latencies settles in its first half: the truncation rule
// ends the warm-up there, and the second half is long beside the slices' correlation.
func settles(latency []float64) bool {
	latency = stats.Joined(withoutGaps(latency), warmupSlices)
	_, settled := stats.TruncationPoint(latency)
	second := latency[len(latency)/2:]
	return settled && float64(len(second)) >= 2*stats.CorrelationTime(max(0, stats.NeighbourCorrelation(second)))
}

// hasLearned tells whether switches that learn have learned. Latency can fall slowly all the time,
// without an end or with a false one by the truncation rule. They have when latency and hops in the
// last quarter of the slices are the quarter before's, within 10 % and 1 %.
func hasLearned(latency, hops []float64) bool {
	return alike(withoutGaps(latency), 0.1) && alike(withoutGaps(hops), 0.01)
}

// filling is the share of the delivered flits by which a filled network's flits may change in the
// window.
const filling = 0.01

// fills tells whether a network that does not keep up goes on filling, or the interval of what it
// accepts is not known.
func (r *runner) fills() bool {
	if r.result.Evidence.worth < 1 {
		return true
	}
	delivered := r.result.Accepted * float64(r.result.Window) * float64(r.f.Graph().Terminals())
	if math.Abs(float64(r.f.FlitsInside()-r.statistics.held)) > filling*delivered {
		return true
	}
	rates := lists.Map(r.statistics.progress.slices, progressSlice.rate)
	_, settled := stats.TruncationPoint(stats.Joined(rates, warmupSlices))
	return !settled || !(r.result.AcceptedHalf <= 2*r.precision()*r.result.Accepted)
}

// precision is the relative half-width of intervals at which a run ends.
func (r *runner) precision() float64 { return cmp.Or(r.plan.Precision, 0.05) }

// alike tells whether a series' last quarter has the mean of the quarter before, but for a part of
// it.
func alike(series []float64, part float64) bool {
	n := len(series)
	var before, last stats.Running
	for i, x := range series[n/2:] {
		if i < n/4 {
			before.Add(x)
		} else {
			last.Add(x)
		}
	}
	return math.Abs(last.Mean()-before.Mean()) <= part*before.Mean()
}

// withoutGaps replaces slices without deliveries by their predecessor.
func withoutGaps(series []float64) []float64 {
	for i, x := range series {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			series[i] = series[max(i, 1)-1]
		}
	}
	return series
}
