package fabric

import (
	"math"

	"github.com/weft-sim/weft/sim/stats"
)

// warmUp runs until the mean latency of delivered packets has settled: slice
// by slice, until the truncation rule puts the warm-up into the first half of
// the slices seen. All of them are then before the window.
func (r *runner) warmUp() error {
	if r.plan.Warmup > 0 {
		if err := r.advance(r.plan.Warmup); err != nil {
			return err
		}
		r.result.Warmup, r.warm = r.plan.Warmup, true
		return nil
	}
	var series []float64
	limit := r.slicesLeft(warmupSlices)
	for !r.warm && len(series) < limit {
		if err := r.advance(sliceCycles); err != nil {
			return err
		}
		if r.statistics.last.packets > 0 || len(series) > 0 {
			series = append(series, float64(r.statistics.last.latency)/float64(r.statistics.last.packets))
		} else {
			limit--
		}
		if len(series)%5 == 0 && len(series) >= 20 {
			_, r.warm = stats.TruncationPoint(withoutGaps(series))
		}
	}
	r.result.Warmup = r.f.Cycle()
	return nil
}

// withoutGaps replaces slices without deliveries by their predecessor.
func withoutGaps(series []float64) []float64 {
	for i, x := range series {
		if math.IsNaN(x) {
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

// measure opens the window and extends it until the network proves saturated, or
// steady with a confidence interval that is narrow enough, or the budget ends.
func (r *runner) measure() error {
	r.statistics.open(r.plan.Series)
	if series := r.statistics.series; series != nil {
		defer func() { r.result.Series = series.finish() }()
	}
	if r.plan.Window > 0 {
		if err := r.advanceWindow(r.plan.Window); err != nil {
			return err
		}
		r.close()
		return nil
	}
	budget := r.plan.Budget
	if budget == 0 {
		budget = DefaultBudget
	}
	for next := int64(leastSlices); ; next = max(1, (r.f.Cycle()-r.statistics.start)/sliceCycles/4) {
		if err := r.advanceWindow(next * sliceCycles); err != nil {
			return err
		}
		r.close()
		if r.result.Settled && r.result.State == Steady || r.result.State == Saturated || r.f.Cycle() >= budget {
			return nil
		}
		r.result.Close(Never)
	}
}

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
	limit := end + 2*r.result.Window + 10*r.f.longestLatency() + r.f.patience()
	for r.source.Behind(end) || r.f.oldestBirth() < end {
		if r.f.Cycle() > limit {
			r.result.Evidence.Stuck = true
			r.conclude()
			return nil
		}
		if err := r.advance(sliceCycles); err != nil {
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
	r.result.Cycles = r.f.Cycle()
	r.source.Stop(0)
	if r.f.faults == nil { // which know of every packet that they have been given
		r.f.clearLanes()
	}
	for !r.f.settled() || r.f.creditsUnderWay() {
		if err := r.advance(sliceCycles); err != nil {
			return err
		}
	}
	r.result.gather()
	r.result.Faults = r.f.FaultTally()
	return r.f.Audit()
}
