package adapters

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// What is on its way from the engine to the network, for send_latency, does not hold up the engine. On an idle network
// whose link is as fast as the engine, 1 MiB goes at the rate of the engine however long the latency is, and small
// messages follow each other at the pace of the engine: so many request times and bytes. Flits of 64 bytes take a
// nanosecond; a message is there after the latencies of sending (the sweep), the network (a cycle to enter, 50 on each
// channel and 2 in the switch) and receiving. Births are rounded up to cycles, as is the flit that is not full; so a
// message is up to two cycles late.
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

// TestEnoughWaits: an engine waits for the network where so many packets wait in front of it as the link, 64 ns a
// packet, takes in the time from the engine to the network, rounded up, and one at least; a lane's where one more does. With two, of
// packets born in cycles 10, 20 and 30, the network is behind once it could have taken the second of those that wait,
// a nanosecond a cycle and the cycles to enter it later.
func TestEnoughWaits(t *testing.T) {
	for latency, want := range map[sim.Time]int{0: 1, 10: 1, 64: 1, 65: 2, 128: 2, 129: 3, 500: 8} {
		adapter := lanesAdapter()
		adapter.SendLatency = latency * sim.Nanosecond
		for _, lanes := range []string{"", "0:64,1:64"} {
			_, _, made := paceTransport(t, "flit", lanes, &adapter)
			n := &made.(*transport).nodes[0]
			simtest.ErrorIf(t, n.enough != want || lanes != "" && n.lanes.enough != int32(want+1), "%d ns, lanes %q: %d packets are enough, of a lane %+v, want %d and one more", latency, lanes, n.enough, n.lanes, want)
		}
	}
	adapter := lanesAdapter()
	_, _, made := paceTransport(t, "flit", "", &adapter)
	p := made.(*transport)
	n := sender{enough: 2, packets: []outgoing{{birth: 10}, {birth: 20}, {birth: 30}}}
	for _, c := range []struct {
		head int
		at   sim.Time // less the cycles to enter
		want bool
	}{{0, 20, false}, {0, 21, true}, {1, 30, false}, {1, 31, true}, {2, 1000, false}} {
		n.head = c.head
		got := p.behind(&n, (c.at+sim.Time(p.delay))*sim.Nanosecond)
		simtest.ErrorIf(t, got != c.want || p.delay == 0, "head %d, at %d and %d cycles more: behind %v, want %v", c.head, c.at, p.delay, got, c.want)
	}
}

// TestMessagesOfAPairStayInOrder: the packets of three messages between two QPs arrive in cycles 300, 400 and
// 100, those of the third first, as by another way. It is told of behind the second.
func TestMessagesOfAPairStayInOrder(t *testing.T) {
	adapter := lanesAdapter()
	k, sink, made := paceTransport(t, "packet", "", &adapter)
	p := made.(*transport)
	order := p.orderFor(qpPair{5, 7})
	var ids [3]int32
	for m := range ids {
		ids[m] = p.newFlight()
		*p.flights.At(ids[m]) = flight{id: int32(m), to: 1, order: order, number: uint32(m), peer: 7, missing: 64}
	}
	for _, d := range []struct{ message, cycle int64 }{{2, 100}, {0, 300}, {1, 400}} {
		p.Deliver(&fabric.Delivery{Tag: uint64(ids[d.message])<<32 | 64, Cycle: d.cycle})
	}
	k.Run(sim.MaxTime - 1)
	for m, cycle := range []sim.Time{300, 400, 400} {
		simtest.Equal(t, sink.at[int32(m)], cycle*sim.Nanosecond+adapter.RecvLatency, "message %d at", m)
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
	adapters := simtest.Must(New(f, 64, adapter, 2, nil))(t)
	transport := simtest.Must(adapters.Transport(0, k, sink))(t)
	return k, sink, transport
}

// TestTransportStateIsWhole: no field of transfers under way is forgotten in snapshots. What
// is named here is no part of the state, for the reason given.
func TestTransportStateIsWhole(t *testing.T) {
	snapshottest.Names[Network](t, "fabric", "nodes", "flights", "orders", "parts",
		"adapter", "clock", "delay", "flit", "full", "at", "nodeAt", "partOf", // of the settings
		"tracer",       // of a timeline, of which no state is kept
		"jobs",         // kind jobs writes none
		"state", "Ran") // writes it, and tells how far the run is
	snapshottest.Names[transport](t, "Network", "adapters", "orderOf",
		"number", "kernel", "handler", "sink", // made before
		"passages",        // of a timeline
		"last", "latency", // the network's, of all parts; kind jobs
		"free", "order", "over", "manyOrders") // of records that nobody uses
	snapshottest.Names[sender](t, "HCA", "packets", "head", "waking", "lanes",
		"enough") // of the settings
	snapshottest.Names[senderLanes](t, "arbiter", "turns", "waiting",
		"tables", "enough") // likewise
	snapshottest.Names[outgoing](t, "birth", "tag", "dst", "flits") // follow from the tag
	snapshottest.Names[qpOrder](t, "sent", "expected", "ahead")
}

// laneStar is a switch with terminals: packets to terminal t take lane t modulo 2 from their terminal on.
type laneStar struct{ graph *topology.Graph }

func newLaneStar(terminals int) *laneStar {
	b := topology.NewBuilder(1, topology.Class{Name: "terminal", Latency: 50})
	for range terminals {
		b.AddTerminal(0, 0)
	}
	return &laneStar{b.Freeze()}
}

func (n *laneStar) Graph() *topology.Graph { return n.graph }

func (n *laneStar) VCs() int { return 2 }

func (n *laneStar) InjectionVCs(int) uint32 { return 3 }

func (n *laneStar) Needs() fabric.Needs { return fabric.Needs{Departs: true} }

func (n *laneStar) Depart(_ *fabric.View, h *fabric.Head) uint32 { return 1 << (h.Dst & 1) }

func (n *laneStar) Route(_ *fabric.View, h *fabric.Head) fabric.Hop {
	return fabric.Hop{Port: n.graph.TerminalPort[h.Dst], VCs: 1 << (h.Dst & 1)}
}

// laneArrivals is a sink that notes when messages arrive, by their number.
type laneArrivals struct {
	kernel *sim.Kernel
	at     map[int32]sim.Time
}

func (a *laneArrivals) Delivered(id int32) { a.at[id] = a.kernel.Now() }

func (a *laneArrivals) Written(id int32, now sim.Time) { a.at[id] = now }

// lanesAdapter is an adapter whose engine is as fast as its link, a flit of 64 bytes a
// nanosecond, so that the link is what fills up.
func lanesAdapter() hca.Config {
	c := hca.HDR
	c.LinkRate, c.DMARate = 512e9, 512e9
	c.RequestTime, c.PacketTime, c.ContextEntries = 0, 0, 0
	return c
}

func lanesTransport(t *testing.T, terminals int, low string) (*sim.Kernel, *laneArrivals, mpi.Transport) {
	t.Helper()
	n := newLaneStar(terminals)
	config := fabric.DefaultConfig()
	config.Switch.FlowControl, config.Switch.BufferFlits = "cut-through", 256
	config.Terminal.VLArbLow = low
	f := simtest.Must(core.New(n.graph, config, n, 1))(t)
	k := sim.NewKernel()
	sink := &laneArrivals{k, map[int32]sim.Time{}}
	adapter := lanesAdapter()
	adapters := simtest.Must(New(f, 64, &adapter, terminals, nil))(t)
	transport := simtest.Must(adapters.Transport(0, k, sink))(t)
	return k, sink, transport
}

// An adapter with messages on two lanes that each could fill its link divides it by the weights,
// message by message of many packets of an MTU of 4,096 bytes, and among the QPs of a lane evenly.
func TestAdapterDividesItsLink(t *testing.T) {
	for _, c := range []struct {
		low   string
		ratio float64
	}{
		{"0:192,1:64", 3},
		{"0:3,1:1", 1},
		{"0:64,1:255,1:1", 1. / 5}, // 255 units are four packets of 64, and a unit is one more
	} {
		k, sink, transport := lanesTransport(t, 6, c.low)
		const messages, size = 400, 64 << 10
		for m := range int32(messages) {
			for to := range int32(4) { // lanes 0, 1, 0, 1
				transport.Send(mpi.Transfer{ID: 4*m + to, From: 4, To: to, Bytes: size, QP: hca.QP(to), PeerQP: 7})
			}
		}
		k.Run(sim.Time(messages) * 1024 * sim.Nanosecond) // a quarter of all; a message takes 1,024 flits
		var got [4]float64
		for id := range sink.at {
			got[id%4]++
		}
		lane0, lane1 := got[0]+got[2], got[1]+got[3]
		all := lane0 + lane1
		simtest.ErrorIf(t, math.Abs(lane0/all-c.ratio/(1+c.ratio)) > 0.01 || all < 0.98*messages, "%s: %v messages on lane 0 and %v on lane 1, want %v to 1", c.low, lane0, lane1, c.ratio)
		simtest.ErrorIf(t, math.Abs(got[0]-got[2]) > 1 || math.Abs(got[1]-got[3]) > 1, "%s: QPs of a lane have sent %v messages", c.low, got)
	}
}

// Five adapters send to one on lane 0 without end. One of them sends a small message on
// lane 1 now and then: it takes within 5 % of what it takes alone where the adapter has lanes.
// Where it has none, it waits for the burst that is at a standstill.
func TestAdapterLanesDoNotWaitForEachOther(t *testing.T) {
	const gap, small = 20_000 * sim.Nanosecond, 1 << 20
	mean := func(low string, congested bool) sim.Time {
		k, sink, transport := lanesTransport(t, 8, low)
		if congested {
			for from := range int32(5) {
				for m := range int32(40) {
					transport.Send(mpi.Transfer{ID: from*40 + m, From: from + 1, To: 0, Bytes: 256 << 10, QP: 3, PeerQP: hca.QP(from)})
				}
			}
		}
		var began []sim.Time
		for m := range 20 {
			k.Run(sim.Time(m+1) * gap)
			began = append(began, k.Now())
			transport.Send(mpi.Transfer{ID: small + int32(m), From: 2, To: 7, Bytes: 512, QP: 9, PeerQP: 9})
		}
		k.Run(30 * gap)
		sum := sim.Time(0)
		for m, from := range began {
			at, ok := sink.at[small+int32(m)]
			simtest.FatalIf(t, !ok, "message %d of lane 1 has not arrived", m)
			sum += at - from
		}
		return sum / sim.Time(len(began))
	}
	alone, beside, fifo := mean("0:64,1:64", false), mean("0:64,1:64", true), mean("", true)
	simtest.ErrorIf(t, beside > alone+alone/20 || fifo < 2*alone, "%v alone, %v beside a congested lane, %v without lanes", alone, beside, fifo)
}
