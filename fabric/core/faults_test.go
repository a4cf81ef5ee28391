package core_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// ring lays n switches with a terminal each in a ring, by cables of latency 10;
// two switches are joined by two cables. Port 0 of a switch is the terminal's;
// of two switches, ports 1 and 2 are those of the cables in order.
func ring(n int) topology.Topology {
	b := topology.NewBuilder(n, topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "link", Latency: 10})
	for s := range n {
		b.AddTerminal(topology.SwitchID(s), 0)
	}
	for s := range n {
		b.AddLink(topology.SwitchID(s), topology.SwitchID((s+1)%n), 1)
	}
	return topology.NewFileNetwork(b.Freeze())
}

// between lists the ports of a switch that lead to another.
func between(g *topology.Graph, from, to topology.SwitchID) (ports []topology.PortID) {
	for p, end := g.Ports(from); p < end; p++ {
		if peer, ok := g.PeerPort(p); ok && g.PortSwitch[peer] == to {
			ports = append(ports, p)
		}
	}
	return ports
}

// faulty is a network in which faults come and go by a plan.
func faulty(t testing.TB, g *topology.Graph, config fabric.Config, plan *fabric.FaultPlan) *core.Fabric {
	t.Helper()
	f := simtest.Must(core.New(g, config, plan.Routing[0], 1))(t)
	simtest.Check(t, f.SetFaults(plan))
	return f
}

// runFaults sends the packets of a script from terminal 0 to terminal 1 with
// the default switch, whose stages take one cycle, and audits what is left.
func runFaults(t *testing.T, topo topology.Topology, failures []topology.Failure, s *script, set func(*fabric.FaultPlan)) *core.Fabric {
	t.Helper()
	plan := tablePeriods(t, topo, failures)
	if set != nil {
		set(plan)
	}
	f := faulty(t, topo.Graph(), fabric.DefaultConfig(), plan)
	simtest.Check(t, measure.RunToEnd(t.Context(), f, fabric.Ends{Source: s, Sink: s}, measure.ToEnd{}))
	return f
}

func births(flits int32, cycles ...int64) *script {
	s := &script{}
	for _, c := range cycles {
		s.send(0, fabric.PacketSpec{Birth: c, Dst: 1, Flits: flits, Tag: uint64(c)})
	}
	return s
}

// TestFaultOnRing: from switch 0 to switch 1 of a ring of four, a packet takes 1 cycle to enter its
// channel, 1 on it, 1 + 10 for each switch on the way and 1 + 1 for the last: 15 by the direct
// cable, 37 the other way round. The cable is down in cycles 100 to 199, and the routing goes by it
// 50 cycles late: what is sent from 100 to 149 is dropped at switch 0, which it reaches 2 cycles
// after its birth; from 150 to 249 packets go the long way.
func TestFaultOnRing(t *testing.T) {
	topo := ring(4)
	cable := between(topo.Graph(), 0, 1)
	s := births(1, 0, 80, 90, 97, 110, 147, 148, 180, 220, 247, 248)
	f := runFaults(t, topo, []topology.Failure{{Links: cable, At: 100, Until: 200}}, s, func(p *fabric.FaultPlan) { p.Reroute = 50 })
	// Born in 90, a packet is on the cable from cycle 93 to 103; born in 80, from 83 to 93. Born in
	// 97 it is at the switch in 99, and its channel from 100 on.
	want := map[uint64]int64{0: 15, 80: 15, 148: 37, 180: 37, 220: 37, 247: 37, 248: 15}
	for _, d := range s.delivered {
		latency := d.Cycle - d.Birth
		simtest.ErrorIf(t, want[d.Tag] != latency, "born in %d: latency %d, want %d", d.Tag, latency, want[d.Tag])
		delete(want, d.Tag)
	}
	simtest.ErrorIf(t, len(want) > 0, "not delivered: %v", want)
	got := f.FaultTally()
	simtest.ErrorIf(t, got != (fabric.FaultTally{Dropped: 4, Lost: 4, GivenUpFlits: 4}), "%+v", got)
}

// TestFaultAgainstRetry follows one packet from switch 0 to switch 1, which a
// fault of both cables from cycle 8 to 29 takes from the cable. Sent in cycle 0
// it would arrive in 15. Its timer ends every 20 cycles.
func TestFaultAgainstRetry(t *testing.T) {
	topo := ring(2)
	cut := []topology.Failure{{Links: between(topo.Graph(), 0, 1), At: 8, Until: 30}}
	for _, c := range []struct {
		name     string
		retries  int
		timeout  int64
		reroute  int64
		failures []topology.Failure
		arrives  int64 // 0: never
		want     fabric.FaultTally
	}{
		{"no retries", 0, 20, 0, cut, 0, fabric.FaultTally{Dropped: 1, Lost: 1, GivenUpFlits: 1}},
		// In cycle 20 no path is known.
		{"one retry", 1, 20, 0, cut, 0, fabric.FaultTally{Dropped: 1, Unreachable: 1, GivenUpFlits: 1}},
		// In cycle 40 there is one again.
		{"two retries", 2, 20, 0, cut, 55, fabric.FaultTally{Dropped: 1, Retransmitted: 1}},
		// The routing has learnt nothing by cycle 20.
		{"two retries, routing late", 2, 20, 1000, cut, 55, fabric.FaultTally{Dropped: 2, Retransmitted: 2}},
		{"one retry, routing late", 1, 20, 1000, cut, 0, fabric.FaultTally{Dropped: 2, Retransmitted: 1, Lost: 1, GivenUpFlits: 1}},
		// Nothing is dropped; arrived in 15 after 14 in the network, the packet
		// is acknowledged in 29, and not in time for a timer that ends in 28.
		{"acknowledged in time", 1, 29, 0, nil, 15, fabric.FaultTally{}},
		{"acknowledged late", 1, 28, 0, nil, 15, fabric.FaultTally{Retransmitted: 1, Duplicates: 1, WastedFlits: 1}},
		// The first switch itself: its terminal cannot send until it is back.
		{"switch down", 2, 20, 0, []topology.Failure{{Switches: []topology.SwitchID{0}, At: 8, Until: 30}}, 55, fabric.FaultTally{Dropped: 1, Retransmitted: 1}},
		{"switch down after arrival", 5, 20, 0, []topology.Failure{{Switches: []topology.SwitchID{0}, At: 16}}, 15, fabric.FaultTally{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			failures := c.failures
			if failures == nil {
				failures = []topology.Failure{{At: 1000}}
			}
			s := births(1, 0)
			f := runFaults(t, topo, failures, s, func(p *fabric.FaultPlan) {
				p.Retries, p.Timeout, p.Reroute = c.retries, c.timeout, c.reroute
			})
			arrived := int64(0)
			for _, d := range s.delivered {
				arrived = d.Cycle
			}
			if arrived != c.arrives || f.FaultTally() != c.want {
				t.Errorf("arrived in cycle %d, want %d; %+v, want %+v", arrived, c.arrives, f.FaultTally(), c.want)
			}
		})
	}
}

// TestFaultInPacket cuts packets of 8 flits in two. Flit i enters its terminal's channel in cycle
// 1+i, switch 0 in 2+i, the cable in 3+i, switch 1 in 13+i and terminal 1 in 15+i.
func TestFaultInPacket(t *testing.T) {
	for _, c := range []struct {
		at                           int64
		injected, delivered, dropped int64
	}{
		{5, 4, 0, 4},  // flits 0 to 3 have been sent
		{18, 8, 3, 5}, // flits 0 to 2 have arrived
		{20, 8, 5, 3}, // the last flit arrives in switch 1 in this cycle: too late
		{21, 8, 8, 0}, // all are across
	} {
		topo := ring(2)
		s := births(8, 0, 40)
		f := runFaults(t, topo, []topology.Failure{{Links: between(topo.Graph(), 0, 1), At: c.at, Until: 35}}, s, nil)
		// The second packet, of 8 flits more, finds the cable as it was.
		if f.InjectedFlits != c.injected+8 || f.DeliveredFlits != c.delivered+8 || f.DiscardedFlits != c.dropped {
			t.Errorf("cut in cycle %d: %+v, want %d injected, %d delivered, %d dropped, and 8 more", c.at, f.Counters, c.injected, c.delivered, c.dropped)
		}
		last := s.delivered[len(s.delivered)-1]
		simtest.ErrorIf(t, last.Cycle != 40+15+7, "the second packet arrives in cycle %d, want 62", last.Cycle)
	}
}

// TestParallelLinks: of two cables one is left, and all packets take it; with
// both, the hash of the pair has chosen one for all.
func TestParallelLinks(t *testing.T) {
	topo := ring(2)
	for _, cable := range between(topo.Graph(), 0, 1) {
		s := births(1, 0, 1, 2, 3, 20)
		f := runFaults(t, topo, []topology.Failure{{Links: []topology.PortID{cable}}}, s, nil)
		if len(s.delivered) != 5 || f.FaultTally() != (fabric.FaultTally{}) {
			t.Errorf("%d of 5 packets, %+v", len(s.delivered), f.FaultTally())
		}
	}
}

// TestFaultsRefused: what faults during the run cannot be combined with.
func TestFaultsRefused(t *testing.T) {
	topo := ring(2)
	plan := tablePeriods(t, topo, []topology.Failure{{At: 5, Switches: []topology.SwitchID{0}}})
	config := fabric.DefaultConfig()
	config.Switch.CreditSensing = "on"
	f := simtest.Must(core.New(topo.Graph(), config, plan.Routing[0], 1))(t)
	simtest.Fail(t, f.SetFaults(plan), "credit sensing")
}

// TestTableAroundFaults: an open-loop run on a torus with cables down, audited,
// whose packets make no hop more than the shortest paths that are left.
func TestTableAroundFaults(t *testing.T) {
	topo := simtest.Must(param.Make(topology.Registry, "torus", struct{}{}, func(c *topology.GridConfig) { c.Dims = []int{4, 4} }))(t)
	g := topo.Graph()
	down := topology.NewDown(g)
	for _, p := range g.RandomLinks(0.2, 1) {
		down.FailLink(p)
	}
	r := simtest.Must(param.Make[routing.TableConfig](routing.Registry, "table", routing.Env{Topology: topo, Down: down}, nil))(t)
	f := simtest.Must(core.New(g, fabric.DefaultConfig(), r, 1))(t)
	hops := shortestHops{t, g, g.NeighborsWithout(down), 0}
	source := network{topo, r}.traffic(0.3, 1)
	source.Stop(1000)
	simtest.Check(t, measure.RunToEnd(t.Context(), f, fabric.Ends{Source: source, Sink: &hops}, measure.ToEnd{}))
	simtest.ErrorIf(t, hops.packets == 0, "no packets")
}

// shortestHops is a sink that wants shortest paths.
type shortestHops struct {
	t         *testing.T
	graph     *topology.Graph
	neighbors *topology.Neighbors
	packets   int
}

func (s *shortestHops) Deliver(d *fabric.Delivery) {
	s.packets++
	distance := s.neighbors.DistancesFrom(s.graph.TerminalSwitch(d.Src), nil)
	if want := int(distance[s.graph.TerminalSwitch(d.Dst)]) + 1; d.Hops != want {
		s.t.Errorf("from %d to %d over %d switches, want %d", d.Src, d.Dst, d.Hops, want)
	}
}

// TestFaultFreesOthers: a packet of 20 flits from terminal 0 at switch 0 to switch 2 holds the only
// virtual channel of its class from switch 0 to switch 1 when the cable from switch 1 to switch 2
// fails in cycle 20: its head left switch 0 in cycle 4, two cycles after its arrival
// (virtual-channel allocation is a stage of its own here), and switch 1 in cycle 16. Another, from
// terminal 1 to switch 1, has waited for that virtual channel since cycle 7. It is freed in cycle
// 20: the packet leaves switch 0 in 22, arrives in 32, leaves in 34 and is there in 35.
func TestFaultFreesOthers(t *testing.T) {
	b := topology.NewBuilder(3, topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "link", Latency: 10})
	for _, s := range []topology.SwitchID{0, 0, 1, 2} {
		b.AddTerminal(s, 0)
	}
	b.AddLink(0, 1, 1)
	b.AddLink(1, 2, 1)
	topo := topology.NewFileNetwork(b.Freeze())
	plan := tablePeriods(t, topo, []topology.Failure{{Links: between(topo.Graph(), 1, 2), At: 20}})
	f := faulty(t, topo.Graph(), pipelined(), plan)
	s := &script{}
	s.send(0, fabric.PacketSpec{Dst: 3, Flits: 20})
	s.send(1, fabric.PacketSpec{Birth: 5, Dst: 2, Flits: 1})
	simtest.Check(t, measure.RunToEnd(t.Context(), f, fabric.Ends{Source: s, Sink: s}, measure.ToEnd{}))
	simtest.ErrorIf(t, len(s.delivered) != 1 || s.delivered[0].Src != 1 || s.delivered[0].Cycle != 35,
		"%+v, want a packet from terminal 1 in cycle 35", s.delivered)
}
