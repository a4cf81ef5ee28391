package measure

import (
	"math"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// TestMeterSums: of four packets of a window [100, 200),
//
//	birth  inject  tail  hops  path
//	 100    103    110    2    minimal      latency 10, in the network  7
//	 120    120    140    3    not minimal          20                 20
//	 150    160    171    4    not minimal          21                 11
//	 199    200    212    2    minimal              13                 12
//
// the mean latency is (10+20+21+13)/4 = 16, in the network (7+20+11+12)/4 = 12.5, the
// mean of the hops (2+3+4+2)/4 = 2.75, and 2 of 4 took a minimal path. Packets born
// before and after count for nothing. It is the same with the packets divided among
// the meters of two domains.
func TestMeterSums(t *testing.T) {
	packets := []fabric.Delivery{
		{Birth: 99, Inject: 99, Cycle: 1000, Hops: 9, NonMinimal: true},
		{Birth: 100, Inject: 103, Cycle: 110, Hops: 2},
		{Birth: 120, Inject: 120, Cycle: 140, Hops: 3, NonMinimal: true},
		{Birth: 150, Inject: 160, Cycle: 171, Hops: 4, NonMinimal: true},
		{Birth: 199, Inject: 200, Cycle: 212, Hops: 2},
		{Birth: 200, Inject: 205, Cycle: 220, Hops: 8},
	}
	for name, domains := range map[string]int{"alone": 0, "two domains": 2} {
		m := NewMeter(10)
		to := []*Meter{m}
		if domains > 0 {
			to = to[:0]
		}
		for range domains {
			to = append(to, m.Part())
		}
		m.Open(100)
		m.Close(200)
		for i := range packets {
			to[i%len(to)].Deliver(&packets[i])
		}
		m.gather()
		m.gather() // nothing is counted twice
		for _, c := range []struct {
			what      string
			got, want float64
		}{
			{"packets", float64(m.Packets()), 4},
			{"mean latency", m.MeanLatency(), 16},
			{"mean latency in the network", m.MeanNetworkLatency(), 12.5},
			{"mean hops", m.MeanHops(), 2.75},
			{"minimal fraction", m.MinimalFraction(), 0.5},
			{"largest latency", float64(m.Latency().Max()), 21},
		} {
			if c.got != c.want {
				t.Errorf("%s: %s is %v, want %v", name, c.what, c.got, c.want)
			}
		}
	}
}

// TestLearned: switches that learn have learned when the last quarter of 40, 80, 160 or so
// slices is like the one before, in latency within 10 % and in hops within 1 %.
func TestLearned(t *testing.T) {
	same := func(n int, x float64) []float64 { return slices.Repeat([]float64{x}, n) }
	ends := func(n int, first, last float64) []float64 { return append(same(n-n/4, first), same(n/4, last)...) }
	gap := same(40, 20)
	gap[39] = math.Inf(1) // nothing was delivered
	for _, c := range []struct {
		name          string
		latency, hops []float64
		want          bool
	}{
		{"too short", same(39, 20), same(39, 3), false},
		{"level", same(40, 20), same(40, 3), true},
		{"between lengths", same(60, 20), same(60, 3), false},
		{"three lengths", same(120, 20), same(120, 3), false},
		{"level for longer", same(160, 20), same(160, 3), true},
		{"latency falls by a ninth", ends(80, 20, 17.8), same(80, 3), false},
		{"by a twelfth", ends(80, 20, 18.3), same(80, 3), true},
		{"hops rise by 2 %", same(80, 20), ends(80, 3, 3.06), false},
		{"an empty slice", gap, slices.Clone(gap), true},
	} {
		r := &runner{course: course{slices: c.latency, hops: c.hops}}
		if got := r.hasSettled(true); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestStatesAreWhole: no field is forgotten in snapshots, of types whose state is more than their fields. What is named here is
// no part of the state, for the reason given.
func TestStatesAreWhole(t *testing.T) {
	snapshottest.Names[runner](t, "f", "plan", "ctx", "watch", "statistics", "result", "course", "write", "trace")
	snapshottest.Names[OpenLoop](t, "sources", "pattern", "process", "sizes", "stop")
	snapshottest.Names[openSource](t, "next", "births", "contents", "state")
}
