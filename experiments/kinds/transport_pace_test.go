package kinds

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
)

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
	f, err := core.New(n.graph, config, n, 1)
	if err != nil {
		t.Fatal(err)
	}
	k := sim.NewKernel()
	sink := &laneArrivals{k, map[int32]sim.Time{}}
	adapters, err := newFabricNetwork(f, 64, adapter, 2)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := adapters.Transport(0, k, sink)
	if err != nil {
		t.Fatal(err)
	}
	return k, sink, transport
}
