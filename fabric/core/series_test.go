package core_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// checkSeries: the intervals lie in order and fill the window, and what they
// carried adds up to what the window did.
func checkSeries(t *testing.T, f *core.Fabric, r *measure.Result) {
	t.Helper()
	s := r.Series
	last := int64(0)
	for _, end := range s.Ends {
		simtest.ErrorIf(t, end <= last, "intervals end at %v", s.Ends)
		last = end
	}
	simtest.ErrorIf(t, last != r.Window || len(s.Flits) != len(s.Ends),
		"%d intervals of flits end at %v, the window at %d", len(s.Flits), s.Ends, r.Window)
	sum := make([]uint32, len(r.ChannelFlits)/f.VCs())
	want := make([]uint32, len(sum))
	for i, n := range r.ChannelFlits {
		want[i/f.VCs()] += n
	}
	for _, flits := range s.Flits {
		for i, n := range flits {
			sum[i] += n
		}
	}
	simtest.ErrorIf(t, !slices.Equal(sum, want), "the intervals do not add up to the window")
}

// TestSeries: a window of given length is divided to the cycle, one that is found into n to 2n
// intervals of equal length, with a shorter one at the end. Neither changes the run.
func TestSeries(t *testing.T) {
	n := dragonflyNetwork(t, "ugal-l", 2, 4, 2)
	_, off := n.run(t, fabric.DefaultConfig(), 0.4, 2, measure.Plan{Warmup: 200, Window: 1000})
	f, on := n.run(t, fabric.DefaultConfig(), 0.4, 2, measure.Plan{Warmup: 200, Window: 1000, Series: 7})
	checkSeries(t, f, on)
	// floor(1000*i/7)
	if want := []int64{142, 285, 428, 571, 714, 857, 1000}; !slices.Equal(on.Series.Ends, want) {
		t.Errorf("intervals end at %v, want %v", on.Series.Ends, want)
	}
	simtest.ErrorIf(t, off.Series != nil || off.MeanLatency() != on.MeanLatency() || !reflect.DeepEqual(off.ChannelFlits, on.ChannelFlits),
		"the series changes the run")
	// More intervals than cycles: one each.
	f, short := n.run(t, fabric.DefaultConfig(), 0.4, 2, measure.Plan{Warmup: 200, Window: 5, Series: 50})
	checkSeries(t, f, short)
	if want := []int64{1, 2, 3, 4, 5}; !slices.Equal(short.Series.Ends, want) {
		t.Errorf("intervals end at %v", short.Series.Ends)
	}

	n = newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{3, 3}, 1 })
	plan := measure.Plan{Precision: 0.004, Budget: 12_000}
	_, off = n.run(t, fabric.DefaultConfig(), 0.3, 2, plan)
	for _, intervals := range []int{1, 3, 10, 400} {
		plan.Series = intervals
		f, on = n.run(t, fabric.DefaultConfig(), 0.3, 2, plan)
		checkSeries(t, f, on)
		ends := on.Series.Ends
		simtest.ErrorIf(t, ends[0]%4 != 0 || intervals < 400 && (len(ends) < intervals || len(ends) > 2*intervals),
			"%d intervals asked for, %d: %v", intervals, len(ends), ends)
		for i, end := range ends[:len(ends)-1] {
			simtest.ErrorIf(t, end != ends[0]*int64(i+1), "intervals end at %v", ends)
		}
		simtest.ErrorIf(t, off.Window != on.Window || off.Window < 1000 || off.MeanLatency() != on.MeanLatency(),
			"window of %d, with a series %d", off.Window, on.Window)
	}
}
