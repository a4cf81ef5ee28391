package experiments

import (
	"context"
	"math"
	"sort"

	"github.com/weft-sim/weft/fabric/traffic"
)

// findSaturation looks for the highest load at which the network keeps up,
// among the multiples of measure.load_precision up to the highest load that
// the process can offer, by bisection: the load found keeps up, and the next
// one does not. If even the lowest does not, the outcome is that of the lowest,
// which says so. The loads tried are written to search.csv.
//
// Bisection takes for granted that a network which keeps up at some load does
// so below; where noise makes both answers possible at neighbouring loads, it
// ends at one of the changes. Cost: about log2(1/load_precision) points.
func (c *trafficConfig) findSaturation(ctx context.Context, run *Run) (*trafficOutcome, error) {
	t := run.Table("search", "step", "offered_load", "accepted_load", "latency_mean_ns", "saturated")
	clock := c.Fabric.Clock.Nanoseconds()
	steps := 0
	try := func(k int) (*trafficOutcome, error) {
		o, err := c.atLoad(c.searchLoad(k)).replicate(ctx, run)
		if err == nil {
			t.Add(steps, o.offered, o.accepted.Mean(), o.mean.Mean()*clock, o.saturated)
			steps++
		}
		return o, err
	}
	return bisect(c.highestStep(), try, func(o *trafficOutcome) bool { return !o.saturated })
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
	return roundDecimal(float64(k) * c.Measure.LoadPrecision)
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
