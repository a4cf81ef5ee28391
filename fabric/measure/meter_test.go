package measure

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
	"github.com/weft-sim/weft/sim/stats"
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
// before and after count for nothing. Three of all six arrive in the window, at 110, 140 and 171, whenever
// born: 9 flits of a pair's; of intervals of 50 cycles the first has two, not minimal one of them, the second one. It is the
// same with the packets divided among the meters of two domains.
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
		m.tellPairs([]Pair{{AnyTerminal, AnyTerminal}})
		m.lapse.Every = 50
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
			packets[i].Flits = 3
			to[i%len(to)].Deliver(&packets[i])
		}
		m.gather()
		m.gather() // nothing is counted twice
		pair, steps := m.Pairs()[0], m.Lapse()
		if len(steps) != 2 || steps[0].Packets != 2 || steps[0].NonMinimal != 1 || steps[0].Latency != 30 || steps[1].Packets != 1 || steps[1].NonMinimal != 1 || steps[1].Flits != 3 {
			t.Errorf("%s: intervals %+v", name, steps)
		}
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
			{"packets of the pair", float64(pair.Packets), 4},
			{"latencies of the pair", float64(pair.Sum), 64},
			{"flits of the pair", float64(pair.Flits), 9},
		} {
			simtest.ErrorIf(t, c.got != c.want, "%s: %s is %v, want %v", name, c.what, c.got, c.want)
		}
	}
}

// TestEstimate: six slices with a packet of latency 10 and four with three of 30 have the mean
// (60 + 360)/18 = 70/3. The interval is of what slices have beyond that: 10 - 70/3 = -40/3 and
// 90 - 70 = 20, times the ten slices over 18 packets, whichever slice has the packets; and
// wider by five times its share of the mean; where a channel is full 2.5 times as wide. Packets born later, or in slices that are not over,
// count for nothing.
func TestEstimate(t *testing.T) {
	m := NewMeter(10)
	m.Open(100)
	var beyond []float64
	for i := range int64(11) {
		packets, latency := int64(1), int64(10)
		if i%4 >= 2 {
			packets, latency = 3, 30
		}
		for range packets {
			m.Deliver(&fabric.Delivery{Birth: 100 + 10*i, Inject: 100 + 10*i, Cycle: 100 + 10*i + latency})
		}
		if i < 10 {
			beyond = append(beyond, (float64(packets*latency)-70.0/3*float64(packets))*10/18)
		}
	}
	m.Close(210)
	want := stats.MeanInterval(beyond, 0.95, 5)
	want *= 1 + 5*want/(70.0/3)
	if mean, half, of := m.estimate(205, 5); math.Abs(mean-70.0/3) > 1e-12 || math.Abs(half-want) > 1e-9 || of != 5 || !(want > 1) {
		t.Errorf("%v +- %v by %d batches, want %v +- %v by 5", mean, half, of, 70.0/3, want)
	}
	m.full = true
	if _, half, _ := m.estimate(205, 5); math.Abs(half-2.5*want) > 1e-9 {
		t.Errorf("%v beside a full channel, want %v", half, 2.5*want)
	}
	if mean, half, _ := m.estimate(105, 0); !math.IsNaN(mean) || !math.IsInf(half, 1) {
		t.Errorf("%v +- %v without a slice", mean, half)
	}
}

// TestStatesAreWhole: no field is forgotten in snapshots, of types whose state is more than their fields. What is named here is
// no part of the state, for the reason given.
func TestStatesAreWhole(t *testing.T) {
	snapshottest.Names[runner](t, "f", "plan", "ctx", "watch", "statistics", "result", "course", "write", "trace")
	snapshottest.Names[OpenLoop](t, "sources", "pattern", "process", "sizes", "stop")
	snapshottest.Names[openSource](t, "next", "births", "contents", "state")
}
