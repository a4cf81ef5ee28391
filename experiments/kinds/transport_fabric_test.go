package kinds

import (
	"math"
	"reflect"
	"testing"

	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// Where the network is not contended, the fabric and LogGP agree. Flits of 8 B
// at 2 ns make a link of 32 Gb/s. A packet takes a cycle from its birth to the
// channel, 50 cycles on it, 2 steps of a switch with speedup 2, 50 cycles on the
// second channel: 102 cycles, LogGP's latency of 204 ns. What remains is
// rounding, each to less than a cycle: births, arrivals, flits that are not full;
// on a message of several packets nothing adds up, as each is born when the
// engine comes to it. A round trip has two messages, with rendezvous of four
// stages each.
func TestFabricAndLogGPAgree(t *testing.T) {
	o := outcomeOf(t, "", "kind=mpi", "job.ranks=2", "placement.per_node=1", "topology.terminals=2",
		"fabric.flit_bytes=8B", "fabric.clock=2ns", "switch.buffer_flits=512",
		"channel.terminal.latency=100ns", "loggp.latency=204ns",
		`sweep.workload.bytes=["1B", "64B", "1500B", "2KiB", "8KiB", "64KiB", "300000B"]`,
		"sweep.job.machine=[loggp, fabric]")
	trips := numbers(t, o.Results, "steady_iteration_s")
	for i := 0; i < len(trips); i += 2 {
		loggp, fabric := trips[i], trips[i+1]
		if math.Abs(loggp-fabric) > 2*4*2*2e-9 {
			t.Errorf("size %d: a round trip takes %v s over LogGP, %v s through the fabric", i/2, loggp, fabric)
		}
	}
}

// Giving up the orders of queue pairs without messages under way changes nothing, also
// where packets overtake each other, and where the receiver's part works on them meanwhile.
func TestOrdersAreBegunAnew(t *testing.T) {
	divideAlways(t)
	run := func(threads int) *results.Table {
		return execute(t, load(t, "kind = \"mpi\"\n"+halfFly, "job.ranks=32", "job.machine=fabric",
			"placement.per_node=2", "workload.type=osu-alltoall", "workload.bytes=12KiB",
			"workload.iterations=2"), engine.Execution{Threads: threads}).Results
	}
	want := run(1)
	defer func(n int) { fewOrders = n }(fewOrders)
	fewOrders = 1
	for _, threads := range []int{1, 3} {
		if got := run(threads); !reflect.DeepEqual(got, want) {
			t.Errorf("%d threads: %v, want %v", threads, got.Rows, want.Rows)
		}
	}
}

// What is on its way from the engine to the network, for send_latency, does not hold up
// the engine. On an idle network whose link is as fast as the engine, 1 MiB goes at the rate
// of the engine however long the latency is, and small messages follow each other at the
// pace of the engine: so many request times and bytes. Flits of 64 bytes take a nanosecond;
// a message is there after the latencies of sending (the sweep), the network (a cycle to
// enter, 50 on each channel and 2 in the switch) and receiving. Births are rounded up to cycles, as
// is the flit that is not full; so a message is up to two cycles late.
func TestLatencyOfSendingIsNoGap(t *testing.T) {
	for _, network := range []struct{ unit, lanes string }{{"flit", ""}, {"packet", ""}, {"flit", "0:64,1:64"}} {
		for _, latency := range []sim.Time{0, 10, 40, 63, 64, 65, 100, 500, 2000} {
			for _, c := range []struct {
				messages int32
				bytes    int64
				request  sim.Time
			}{
				{1, 1 << 20, 0},       // 64 bursts of 4 packets of 64 flits
				{1, 1<<20 - 4032, 0},  // the last packet is one flit
				{200, 64, 9},          // 10 ns each
				{200, 4096 + 64, 15},  // 80 ns each, the second packet of which takes 1
				{50, 16384 + 640, 34}, // 300 ns each, a burst of 4 packets and one of 10 flits
			} {
				adapter := lanesAdapter()
				adapter.SendLatency, adapter.RequestTime = latency*sim.Nanosecond, c.request*sim.Nanosecond
				k, sink, transport := paceTransport(t, network.unit, network.lanes, &adapter)
				for m := range c.messages {
					transport.Send(mpi.Transfer{ID: m, From: 0, To: 1, Bytes: c.bytes, QP: 5, PeerQP: 7})
				}
				k.Run(sim.MaxTime - 1)
				pace := c.request*sim.Nanosecond + sim.Time(c.bytes/64)*sim.Nanosecond
				for m := range c.messages {
					want := sim.Time(m+1)*pace + adapter.SendLatency + 103*sim.Nanosecond + adapter.RecvLatency
					if got, ok := sink.at[m]; !ok || got < want-2*sim.Nanosecond || got > want+2*sim.Nanosecond {
						t.Errorf("%v, send_latency %d ns, message %d of %d B: there at %v, want %v", network, latency, m, c.bytes, got, want)
						break
					}
				}
			}
		}
	}
}

func paceTransport(t *testing.T, unit, lanes string, adapter *hca.Config) (*sim.Kernel, *laneArrivals, mpi.Transport) {
	t.Helper()
	n := newLaneStar(2)
	config := fabric.DefaultConfig()
	config.Fabric.Unit = unit
	config.Switch.FlowControl, config.Switch.BufferFlits, config.Switch.Hold = "cut-through", 256, unit == fabric.UnitPacket
	config.Fabric.Clock, config.Terminal.VLArbLow = sim.Nanosecond, lanes
	f := simtest.Must(core.New(n.graph, config, n, 1))(t)
	k := sim.NewKernel()
	sink := &laneArrivals{k, map[int32]sim.Time{}}
	adapters := simtest.Must(newFabricNetwork(f, 64, adapter, 2, nil))(t)
	transport := simtest.Must(adapters.Transport(0, k, sink))(t)
	return k, sink, transport
}
