package mpi

import (
	"math"
	"reflect"
	"testing"

	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/mpi/adapters"
	"github.com/weft-sim/weft/sim/simtest"
)

// Where the network is not contended, the fabric and LogGP agree. Flits of 8 B at 2 ns make a link
// of 32 Gb/s. A packet takes a cycle from its birth to the channel, 50 cycles on it, 2 steps of a
// switch with speedup 2, 50 cycles on the second channel: 102 cycles, LogGP's latency of 204 ns.
// What remains is rounding, each to less than a cycle: births, arrivals, flits that are not full;
// on a message of several packets nothing adds up, as each is born when the engine comes to it. A
// round trip has two messages, with rendezvous of four stages each.
func TestFabricAndLogGPAgree(t *testing.T) {
	o := enginetest.OutcomeOf(t, "", "kind=mpi", "job.ranks=2", "placement.per_node=1", "topology.terminals=2",
		"fabric.flit_bytes=8B", "fabric.clock=2ns", "switch.buffer_flits=512",
		"channel.terminal.latency=100ns", "loggp.latency=204ns",
		`sweep.workload.bytes=["1B", "64B", "1500B", "2KiB", "8KiB", "64KiB", "300000B"]`,
		"sweep.job.machine=[loggp, fabric]")
	trips := enginetest.Numbers(t, o.Results, "steady_iteration_s")
	for i := 0; i < len(trips); i += 2 {
		loggp, fabric := trips[i], trips[i+1]
		simtest.ErrorIf(t, math.Abs(loggp-fabric) > 2*4*2*2e-9,
			"size %d: a round trip takes %v s over LogGP, %v s through the fabric", i/2, loggp, fabric)
	}
}

// Giving up the orders of queue pairs without messages under way changes nothing, also
// where packets overtake each other, and where the receiver's part works on them meanwhile.
func TestOrdersAreBegunAnew(t *testing.T) {
	enginetest.DivideAlways(t)
	run := func(threads int) *results.Table {
		return enginetest.Execute(t, enginetest.Load(t, "kind = \"mpi\"\n"+enginetest.HalfFly, "job.ranks=32", "job.machine=fabric",
			"placement.per_node=2", "workload.type=osu-alltoall", "workload.bytes=12KiB",
			"workload.iterations=2"), engine.Execution{Threads: threads}).Results
	}
	want := run(1)
	defer func(n int) { adapters.FewOrders = n }(adapters.FewOrders)
	adapters.FewOrders = 1
	for _, threads := range []int{1, 3} {
		got := run(threads)
		simtest.ErrorIf(t, !reflect.DeepEqual(got, want), "%d threads: %v, want %v", threads, got.Rows, want.Rows)
	}
}
