package measure

import (
	"math"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/stats"
)

// open opens the window, perhaps anew.
func (r *runner) open() {
	r.f.WarmedUp()
	again := r.result.from != fabric.Never
	r.result.Warmup = r.f.Cycle()
	each := max(1, r.each/finer)
	if r.plan.Window > 0 {
		each = max(1, r.plan.Window/mostSlices)
	}
	r.statistics.open(r.plan.Series, r.plan.Window, each)
	if again {
		if r.result.Blame != nil {
			r.result.Blame.Restart()
		}
		if r.trace != nil {
			r.trace.Restart()
		}
		r.f.RestartProbes()
	}
}

// measure extends the window until the network proves saturated, or steady with a narrow enough
// confidence interval, or the budget ends. It looks whenever the window has grown by a quarter.
//
// A narrow interval by chance goes with a low mean by chance. So it must be narrow enough at two
// looks, or very narrow; earlier looks count for nothing.
func (r *runner) measure() error {
	if series := r.statistics.series; series != nil {
		defer func() { r.result.Series = series.finish() }()
	}
	start := r.statistics.start
	if r.plan.Window > 0 {
		if err := r.advanceTo(start + r.plan.Window); err != nil {
			return err
		}
		r.close()
		return nil
	}
	for r.result.State != Saturated { // otherwise found in the warm-up
		if r.until == 0 {
			r.until = r.slicesFrom(min(start+r.leastWindow(), max(r.result.Budget, r.plan.Least)))
		}
		if err := r.advanceTo(r.until); err != nil {
			return err
		}
		r.close()
		if r.hasEnough() || r.isSaturated() || r.f.Cycle() >= r.result.Budget {
			return nil
		}
		r.result.Close(fabric.Never)
		r.result.State = Undecided
		more := (r.f.Cycle() - start) / 4
		if r.grown > 0 {
			more /= 2 // the verdict wants to be seen again
		}
		r.until = r.slicesFrom(min(r.f.Cycle()+max(r.each, more), r.result.Budget))
	}
	return nil
}

// leastWindow is the least number of cycles of the run's window.
func (r *runner) leastWindow() int64 {
	idle := r.f.IdleLatency(r.f.ChannelFlits(), r.statistics.meanFlits())
	if math.IsNaN(idle) {
		idle = 0
	}
	return max(r.plan.Least, leastWindow(r.first, r.plan.Longest, r.result.Offered, idle))
}

// slicesFrom is the end of a slice, the present cycle or a later one, at or behind a cycle.
func (r *runner) slicesFrom(cycle int64) int64 {
	now, each := r.f.Cycle(), r.statistics.progress.each
	return now + max(0, (cycle-now+each-1)/each)*each
}

// veryNarrow is the share of the precision asked for at which an interval is believed at once.
const veryNarrow = 0.2

// steadyLooks is how often in a row a run that only decides must be steady, its window doubling.
const steadyLooks = 4

// hasEnough tells whether the run may end with what it knows of its mean latency.
func (r *runner) hasEnough() bool {
	mean, half, batches := r.result.estimate(r.arrived(), 0)
	steady, wanted := r.result.State == Steady, r.plan.Precision*mean
	if steady {
		r.result.batches = batches // the interval of all packets has as many
	}
	r.result.Settled = steady && r.warm && half <= wanted
	return r.suffices(steady, half, wanted, r.plan.Decide)
}

// suffices tells whether a steady run's interval is as narrow as wanted at two looks, or far
// narrower, or the run was steady for long where only a verdict is asked for.
func (c *course) suffices(steady bool, half, wanted float64, decide bool) bool {
	if !steady {
		c.narrow, c.stood = 0, 0
		return false
	}
	c.stood++
	if c.narrow++; !(half <= wanted) {
		c.narrow = 0
	}
	return c.narrow >= 2 || half <= veryNarrow*wanted || decide && c.stood >= steadyLooks
}

// arrived is a cycle, at the end of a slice of the window, before which all packets born have
// arrived.
func (r *runner) arrived() int64 {
	m := r.result.Meter
	slices := (min(r.f.OldestBirth(), r.f.Cycle()) - m.from) / m.slice
	waits := func(slices int64) bool { return r.statistics.source.Behind(m.from + slices*m.slice) }
	low := int64(0)
	for high := slices; low < high; { // the largest number at whose end nothing waits
		if middle := (low + high + 1) / 2; waits(middle) {
			high = middle - 1
		} else {
			low = middle
		}
	}
	return m.from + max(0, min(low, slices))*m.slice
}

// close ends the window at the present cycle, and judges the run so far.
func (r *runner) close() {
	r.statistics.close(r.result)
	r.result.Evidence = r.statistics.evidence(r.result, &r.plan)
	r.result.Settled = r.warm && r.plan.Window > 0
	r.conclude()
	if r.result.State == Saturated && r.plan.Window == 0 {
		r.result.AcceptedHalf = halfWhenFull(r.result.AcceptedHalf, r.drift(), r.swing(), r.precision()*r.result.Accepted)
	}
}

// halfWhenFull is half the interval of what a saturated network accepts: of the window's batches,
// but at least three swings or the half-width wanted (runs end when batches happen to agree); plus
// twice the drift.
func halfWhenFull(batches, drift, swing, wanted float64) float64 {
	return math.Max(batches, math.Min(wanted, 3*swing)) + 2*drift
}

// drift is by how much more or less was accepted before the window, in the second half of what came
// before: a slowly filling network's. 0 if nothing came before.
func (r *runner) drift() float64 {
	before, ok := r.statistics.progress.rate(r.statistics.start/2, r.statistics.start)
	if !ok {
		return 0
	}
	return math.Abs(before/float64(r.f.Graph().Terminals()) - r.result.Accepted)
}

// swing is the standard deviation of what a slice of the window accepts. A full network swings as
// much over thousands of cycles, longer than a run that proves saturated.
func (r *runner) swing() float64 {
	rates := stats.Of(lists.Map(r.statistics.progress.since(r.statistics.start), progressSlice.rate))
	return math.Sqrt(rates.Variance()) / float64(r.f.Graph().Terminals())
}

func (r *runner) conclude() { r.result.State, r.result.Reason = r.result.Evidence.Judge() }

// The least window of a run that has proved saturated, so that it accepts no moment's flits:
// exchanges of the flits inside, or flits delivered in a large network.
const (
	leastResidences = 4
	leastDelivered  = 50_000
)

// isSaturated tells whether the run has proved saturated.
func (r *runner) isSaturated() bool {
	return r.proves(r.result.State, r.result.Reason, r.f.Cycle()) && r.holdsEnough()
}

// holdsEnough tells whether what the window accepts is more than that of a moment.
func (r *runner) holdsEnough() bool {
	delivered := r.result.Accepted * float64(r.result.Window) * float64(r.f.Graph().Terminals())
	return isLong(delivered, float64(r.f.FlitsInside()))
}

// isLong tells whether a window of so many flits is long beside a residence, which exchanges the
// flits inside once (Little 1961).
func isLong(delivered, inside float64) bool {
	return delivered >= math.Min(leastResidences*inside, leastDelivered)
}

// proves tells whether a verdict at a cycle proves the run saturated: growth only if it holds at
// all looks until the run is two fifths longer (near capacity, backlogs grow for long and go),
// anything else at once.
func (c *course) proves(state State, reason string, now int64) bool {
	switch {
	case state != Saturated:
		c.grown = 0
		return false
	case c.grown == 0:
		c.grown = now
	}
	return reason != ByGrowth || 5*now >= 7*c.grown
}

// drain goes on, with traffic, until the window's packets have arrived; far longer than the window
// means saturated.
func (r *runner) drain() error {
	if r.result.State == Saturated {
		return nil
	}
	end := r.result.to
	limit := end + 2*r.result.Window + 10*r.f.LongestLatency() + r.f.Patience() + emptyingCycles
	waits := func() bool { return r.statistics.source.Behind(end) || r.f.OldestBirth() < end }
	if err := r.advanceUntil(func() bool { return !waits() || r.f.Cycle() > limit }, fabric.Never); err != nil {
		return err
	}
	if r.result.Evidence.Stuck = waits(); r.result.Evidence.Stuck {
		r.conclude()
		return nil
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
