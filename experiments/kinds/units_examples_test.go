package kinds

import (
	"context"
	"slices"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestUnitsSame: examples whose times are all whole cycles measure the same with flits and with packets
// as the unit, under switches that hold their ports, for groups.
func TestUnitsSame(t *testing.T) {
	for _, c := range []struct {
		name    string
		set     []string
		columns []string
	}{
		{"multicast-packets", []string{"messages.count=3", "messages.warmup=1"}, []string{"latency_mean_ns", "latency_p99_ns", "latency_max_ns", "unicast_latency_mean_ns", "deliveries", "redundant"}},
		{"multicast-torus", []string{"switch.hold=true", "messages.count=3"}, []string{"latency_mean_ns", "latency_p99_ns", "latency_max_ns", "unicast_latency_mean_ns", "deliveries", "redundant"}},
	} {
		var got [2][][]float64
		for i, unit := range []string{"flit", "packet"} {
			f, err := experiments.Open("examples/"+c.name, experiments.Options{Quick: true, Set: append(slices.Clone(c.set), "fabric.unit="+unit)})
			if err != nil {
				t.Fatal(err)
			}
			outcome, err := f.Execute(context.Background(), experiments.Execution{})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range c.columns {
				column, err := outcome.Results.Numbers(name)
				if err != nil {
					t.Fatal(err)
				}
				got[i] = append(got[i], column)
			}
		}
		for k, name := range c.columns {
			same := func(a, b float64) bool { return a == b || a != a && b != b }
			if !slices.EqualFunc(got[0][k], got[1][k], same) {
				t.Errorf("%s: %s of flits %v, of packets %v", c.name, name, got[0][k], got[1][k])
			}
		}
	}
}
