package kinds

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestTrafficTables: what the further tables count agrees with the row.
func TestTrafficTables(t *testing.T) {
	f := load(t, `
kind = "traffic"
[topology]
type = "mesh"
dims = [3, 3]
[routing]
type = "dor"
[traffic]
load = 0.3
[measure]
warmup = 500
window = 2000
links = true
histogram = true
`, experiments.Options{})
	o := execute(t, f, experiments.Execution{})
	row := o.Results
	cell := func(name string) float64 {
		values, err := row.Numbers(name)
		if err != nil {
			t.Fatal(err)
		}
		return values[0]
	}
	// The histogram counts every measured packet.
	counts, err := o.Tables["histogram"].Numbers("packets")
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, n := range counts {
		sum += n
	}
	if sum != cell("packets_measured") {
		t.Errorf("histogram of %v packets, measured %v", sum, cell("packets_measured"))
	}
	// A 3x3 mesh has 12 cables, 24 channels between switches, and 9 terminals
	// with a channel each way. What the terminals' channels carry away in the
	// window is the accepted load; all channels together carry a flit once
	// for each switch that it crosses and once to get in.
	links := o.Tables["links"]
	vcs := len(links.Rows) / (24 + 2*9)
	if vcs*(24+2*9) != len(links.Rows) {
		t.Fatalf("%d rows", len(links.Rows))
	}
	delivered, total := 0.0, 0.0
	for _, r := range links.Rows {
		from, to := r[len(r)-6], r[len(r)-5]
		flits := number(r[len(r)-2])
		total += flits
		if strings.HasPrefix(from, "switch") && strings.HasPrefix(to, "terminal") {
			delivered += flits
		}
	}
	if got, want := delivered/2000/9, cell("accepted_load"); math.Abs(got-want) > 0.002 {
		t.Errorf("channels to terminals carry %v, accepted %v", got, want)
	}
	if got, want := total/2000/9, cell("accepted_load")*(cell("hops_mean")+1); math.Abs(got/want-1) > 0.02 {
		t.Errorf("all channels carry %v a terminal, want %v", got, want)
	}
}
