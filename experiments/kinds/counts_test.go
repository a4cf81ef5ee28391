package kinds

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// accepted_load counts what arrives within the window, packets_measured what is born in
// it. On a fat tree of 16 terminals the sources draw the same packets whatever the channels are. Where a
// channel to a terminal takes 1,000 cycles, a packet takes L = 2,000 and some more; of
// the window of cycles 1,000 to 4,000 the first L - 1,000 see none arrive, so that
// (4,000 - L)/3,000 of the load is accepted.
func TestAcceptedLoadOfAWindowThatFills(t *testing.T) {
	o := execute(t, load(t, `
kind = "traffic"
[topology]
type = "fat-tree"
k = 4
n = 3
[routing]
type = "nca"
[fabric]
clock = "1ns"
[switch]
buffer_flits = 4000
[traffic]
load = 0.8
[measure]
warmup = 1000
window = 3000
[sweep]
"channel.terminal.latency" = ["1ns", "1us"]
`, experiments.Options{}), experiments.Execution{}).Results
	accepted, measured, latency := numbers(t, o, "accepted_load"), numbers(t, o, "packets_measured"), numbers(t, o, "latency_mean_ns")
	if measured[0] != measured[1] || math.Abs(measured[0]/(0.8*16*3000)-1) > 0.01 {
		t.Errorf("%v packets measured, want %v of both", measured, 0.8*16*3000)
	}
	for i, want := range []float64{0.8, 0.8 * (4000 - latency[1]) / 3000} {
		if math.Abs(accepted[i]-want) > 0.008 {
			t.Errorf("accepted load %v, want %v", accepted[i], want)
		}
	}
}

// A saturated run ends before the last packets of its window have arrived: those that
// are measured are fewer than were born, and fewer than arrived within the window, among
// which are packets from before it.
func TestPacketsMeasuredWhenSaturated(t *testing.T) {
	o := execute(t, load(t, `
kind = "traffic"
[topology]
type = "mesh"
[routing]
type = "dor"
[traffic]
load = 0.8
[measure]
warmup = 1000
window = 3000
`, experiments.Options{}), experiments.Execution{}).Results
	accepted, measured := numbers(t, o, "accepted_load")[0]*64*3000, numbers(t, o, "packets_measured")[0]
	if born := 0.8 * 64 * 3000; accepted > 0.9*born || measured > accepted {
		t.Errorf("of %v packets of the window %v are measured, while %v arrived in it", born, measured, accepted)
	}
}

// In lockstep the first iteration of a ring of 64 KiB blocks is not like the others, which
// begin as a barrier lets the ranks go. Where ranks begin out of step, or the barrier lets
// all go at once, as with 8 nodes of 8 ranks, all iterations take the same time.
func TestRingOutOfStep(t *testing.T) {
	ring := func(ranks, perNode, skew string) float64 {
		o := execute(t, load(t, `
kind = "mpi"
[job]
ranks = `+ranks+`
[placement]
per_node = `+perNode+`
[workload]
type = "osu-alltoall"
bytes = "64KiB"
algorithm = "alltoall-ring"
iterations = 3
[hca]
quantum = "4KiB"
[noise]
start_skew = "`+skew+`"
`, experiments.Options{}), experiments.Execution{}).Results
		return numbers(t, o, "steady_iteration_s")[0] / numbers(t, o, "first_iteration_s")[0]
	}
	if r := ring("96", "12", "0us"); r < 1.1 || r > 1.2 {
		t.Errorf("in lockstep later iterations take %v times as long as the first, want 1.14", r)
	}
	for _, c := range [][3]string{{"96", "12", "1us"}, {"64", "8", "0us"}} {
		if r := ring(c[0], c[1], c[2]); math.Abs(r-1) > 0.03 {
			t.Errorf("%v: later iterations take %v times as long as the first", c, r)
		}
	}
}
