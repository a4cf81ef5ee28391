package kinds

import (
	"context"
	"math"
	"sort"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/traffic"
)

// findSaturation looks for the highest load at which the network is steady, among
// the multiples of measure.load_precision up to the highest load that the process
// can offer and the channels can carry, by bisection: the load found is steady,
// and the next one is not. If even the lowest is not, the outcome is that of the
// lowest, which says so. The runs are written to search.csv.
//
// A load that a window of measure.window leaves undecided is run again with one
// four times as long, up to measure.budget, so that the load found does not hang
// on the window. What is undecided even then counts as not steady.
//
// Bisection takes for granted that a network which is steady at some load is so
// below; where noise makes both answers possible at neighbouring loads, it ends at
// one of the changes. Cost: about log2(1/load_precision) points.
func (c *trafficConfig) findSaturation(ctx context.Context, run *experiments.Run) (*trafficOutcome, error) {
	t := run.Table("search", "step", "offered_load", "accepted_load", "latency_mean_ns", "window_cycles", "state", "state_reason")
	clock := c.Fabric.Clock.Nanoseconds()
	bound, err := c.atLoad(c.searchLoad(1)).LoadBound(run.Seed)
	if err != nil {
		return nil, err
	}
	steps := 0
	try := func(k int) (*trafficOutcome, error) {
		at := c.atLoad(c.searchLoad(k))
		for longest := at.longestWindow(); ; at.Measure.Window = min(4*at.Measure.Window, longest) {
			o, err := at.replicate(ctx, run)
			if err != nil {
				return nil, err
			}
			state, reason := o.evidence.Judge()
			t.Add(steps, o.offered, o.accepted.Mean(), o.mean.Mean()*clock, o.window, state.String(), reason)
			steps++
			if state != measure.Undecided || at.Measure.Window == 0 || at.Measure.Window >= longest {
				return o, nil
			}
		}
	}
	highest := c.highestStep()
	if bound > 0 {
		highest = max(1, min(highest, int(math.Floor(bound/c.Measure.LoadPrecision+1e-9))))
	}
	return bisect(highest, try, (*trafficOutcome).steady)
}

// longestWindow is what findSaturation lengthens a window to.
func (c *trafficConfig) longestWindow() int64 {
	if c.Measure.Budget > 0 {
		return c.Measure.Budget
	}
	return measure.DefaultBudget
}

// searchedLoads lists the loads that a search tries if the network keeps up to
// the bound and not beyond.
func (c *trafficConfig) searchedLoads(bound float64) []float64 {
	var loads []float64
	try := func(k int) (float64, error) {
		loads = append(loads, c.searchLoad(k))
		return c.searchLoad(k), nil
	}
	_, _ = bisect(c.highestStep(), try, func(load float64) bool { return load <= bound }) // try does not fail
	return loads
}

// searchLoad is the load of step k, as a decimal fraction.
func (c *trafficConfig) searchLoad(k int) float64 {
	return experiments.RoundDecimal(float64(k) * c.Measure.LoadPrecision)
}

// highestStep is the last step whose load the process can offer, at least 1.
func (c *trafficConfig) highestStep() int {
	sizes, err := traffic.NewSizes(c.Traffic.PacketFlits, c.Traffic.PacketWeights)
	if err != nil {
		return 1 // building the point reports it
	}
	all := int(math.Floor(1/c.Measure.LoadPrecision + 1e-9))
	return 1 + sort.Search(all-1, func(i int) bool {
		_, err := c.Traffic.Process.Build(traffic.ProcessEnv{Load: c.searchLoad(i + 2), MeanFlits: sizes.Mean()})
		return err != nil
	})
}

// bisect finds the largest k from 1 to n whose value is good, where those of
// all smaller ones are; value 1 if none is. No k is tried twice.
func bisect[T any](n int, try func(k int) (T, error), good func(T) bool) (T, error) {
	var best T
	low, high := 0, n+1
	for high-low > 1 {
		k := low + (high-low)/2
		value, err := try(k)
		if err != nil {
			return value, err
		}
		switch {
		case good(value):
			low, best = k, value
		default:
			high = k
			if k == 1 {
				best = value
			}
		}
	}
	return best, nil
}
