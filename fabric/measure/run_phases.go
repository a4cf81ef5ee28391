package measure

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/stats"
)

// warmUp runs until the mean latency of delivered packets has settled, slice by slice.
// The slices are then all before the window.
func (r *runner) warmUp() error {
	if r.plan.Warmup > 0 {
		r.warm = true
		return r.advanceTo(r.plan.Warmup)
	}
	learns := r.f.Learns()
	if r.f.Cycle() == 0 {
		r.limit = r.slicesLeft(warmupSlices)
		if learns {
			r.limit = int(r.budget() / 2 / sliceCycles)
		}
	}
	for !r.warm && len(r.slices) < r.limit {
		before := r.f.Counters
		if err := r.slice(fabric.Never); err != nil {
			return err
		}
		if r.statistics.last.packets == 0 && len(r.slices) == 0 {
			r.limit--
			continue
		}
		r.slices = append(r.slices, float64(r.statistics.last.latency)/float64(r.statistics.last.packets))
		if learns {
			r.hops = append(r.hops, float64(r.f.FlitHops-before.FlitHops)/float64(r.f.DeliveredFlits-before.DeliveredFlits))
		}
		r.warm = r.hasSettled(learns)
	}
	return nil
}

// hasSettled looks whether the warm-up is over: the truncation rule puts it into the
// first half of the slices seen. Where switches learn, latency can fall slowly all the
// time, and the rule sees no end or a false one. There it is over when latency and hops
// in the last quarter of the slices are those of the quarter before.
func (r *runner) hasSettled(learns bool) bool {
	n := len(r.slices)
	if learns {
		return n >= 40 && bits.OnesCount(uint(n/40)) == 1 && n%40 == 0 &&
			alike(withoutGaps(r.slices), 0.1) && alike(withoutGaps(r.hops), 0.01)
	}
	if n%5 != 0 || n < 20 {
		return false
	}
	_, settled := stats.TruncationPoint(withoutGaps(r.slices))
	return settled
}

// alike tells whether the mean of the last quarter of a series is that of the quarter
// before, but for a part of it.
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

// open opens the window.
func (r *runner) open() error {
	r.f.WarmedUp()
	r.result.Warmup = r.f.Cycle()
	r.statistics.open(r.plan.Series)
	r.until = r.statistics.start + leastSlices*sliceCycles
	return nil
}

// withoutGaps replaces slices without deliveries by their predecessor.
func withoutGaps(series []float64) []float64 {
	for i, x := range series {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			series[i] = series[i-1]
		}
	}
	return series
}

// slicesLeft is the number of slices that the budget leaves, at most n.
func (r *runner) slicesLeft(n int) int {
	if r.plan.Budget == 0 {
		return n
	}
	return min(n, max(0, int((r.plan.Budget-r.f.Cycle())/sliceCycles)))
}

// measure extends the window until the network proves saturated, or steady with a
// confidence interval that is narrow enough, or the budget ends.
func (r *runner) measure() error {
	start := r.statistics.start
	if series := r.statistics.series; series != nil {
		defer func() { r.result.Series = series.finish() }()
	}
	if r.plan.Window > 0 {
		if err := r.advanceThrough(start, r.plan.Window); err != nil {
			return err
		}
		r.close()
		return nil
	}
	budget := r.budget()
	for {
		for r.f.Cycle() < r.until {
			if err := r.slice(r.until); err != nil {
				return err
			}
			if r.statistics.series != nil {
				r.statistics.series.slice()
			}
		}
		r.close()
		if r.result.Settled && r.result.State == Steady || r.result.State == Saturated || r.f.Cycle() >= budget {
			return nil
		}
		r.result.Close(fabric.Never)
		r.until += max(1, (r.f.Cycle()-start)/sliceCycles/4) * sliceCycles
	}
}

// budget is the most cycles of warm-up and window where they are found.
func (r *runner) budget() int64 { return cmp.Or(r.plan.Budget, DefaultBudget) }

// DefaultBudget is the most cycles of warm-up and window where the plan does not
// say.
const DefaultBudget = 100_000

// close ends the window at the present cycle, and judges the run so far.
func (r *runner) close() {
	r.statistics.close(r.result)
	precise := r.plan.Window > 0 || r.result.HalfWidth() <= r.plan.Precision*r.result.MeanLatency()
	r.result.Evidence, r.result.Settled = r.statistics.evidence(r.result, r.plan.Bound), r.warm && precise
	r.conclude()
}

func (r *runner) conclude() {
	r.result.State, r.result.Reason = r.result.Evidence.Judge()
}

// drain goes on, with traffic, until the packets of the window have arrived.
// A network that needs far longer than its window is saturated.
func (r *runner) drain() error {
	if r.result.State == Saturated {
		return nil
	}
	end := r.result.to
	limit := end + 2*r.result.Window + 10*r.f.LongestLatency() + r.f.Patience()
	for r.statistics.source.Behind(end) || r.f.OldestBirth() < end {
		if r.f.Cycle() > limit {
			r.result.Evidence.Stuck = true
			r.conclude()
			return nil
		}
		if err := r.slice(fabric.Never); err != nil {
			return err
		}
	}
	r.result.gather()
	r.result.Evidence.Packets = r.result.Packets()
	r.conclude()
	return nil
}

// finish empties the network and audits it.
func (r *runner) finish() error {
	if err := r.keep(true); err != nil {
		return err
	}
	r.result.Cycles = r.f.Cycle()
	r.statistics.source.Stop(0)
	r.f.ClearLanes()
	for !r.f.Settled() || r.f.CreditsUnderWay() {
		if err := r.goOn(); err != nil {
			return err
		}
	}
	r.result.gather()
	r.result.Faults = r.f.FaultTally()
	return r.f.Audit()
}
