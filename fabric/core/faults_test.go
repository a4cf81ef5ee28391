package core_test

import (
	"fmt"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// ring lays n switches with a terminal each in a ring, by cables of latency 10; two switches are joined by two cables.
// Port 0 of a switch is the terminal's; of two switches, ports 1 and 2 are those of the cables in order.
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
		s.Send(0, fabric.PacketSpec{Birth: c, Dst: 1, Flits: flits, Tag: uint64(c)})
	}
	return s
}

// TestFaultOnRing: from switch 0 to switch 1 of a ring of four, a packet takes 1 cycle to enter its channel, 1 on it, 1
// + 10 for each switch on the way and 1 + 1 for the last: 15 by the direct cable, 37 the other way round. The cable is
// down in cycles 100 to 199, and the routing goes by it 50 cycles late: what is sent from 100 to 149 is dropped at
// switch 0, which it reaches 2 cycles after its birth; from 150 to 249 packets go the long way.
func TestFaultOnRing(t *testing.T) {
	topo := ring(4)
	cable, s := between(topo.Graph(), 0, 1), births(1, 0, 80, 90, 97, 110, 147, 148, 180, 220, 247, 248)
	f := runFaults(t, topo, []topology.Failure{{Links: cable, At: 100, Until: 200}}, s, func(p *fabric.FaultPlan) { p.Reroute = 50 })
	// Born in 90, a packet is on the cable from cycle 93 to 103; born in 80, from 83 to 93. Born in
	// 97 it is at the switch in 99, and its channel from 100 on.
	want := map[uint64]int64{0: 15, 80: 15, 148: 37, 180: 37, 220: 37, 247: 37, 248: 15}
	for _, d := range s.Delivered {
		latency := d.Cycle - d.Birth
		simtest.ErrorIf(t, want[d.Tag] != latency, "born in %d: latency %d, want %d", d.Tag, latency, want[d.Tag])
		delete(want, d.Tag)
	}
	simtest.ErrorIf(t, len(want) > 0, "not delivered: %v", want)
	got := f.FaultTally()
	simtest.ErrorIf(t, got != (fabric.FaultTally{Dropped: 4, Lost: 4, GivenUpFlits: 4}), "%+v", got)
}

// TestFaultAgainstRetry follows one packet from switch 0 to switch 1, which a fault of both cables from cycle 8 to 29
// takes from the cable. Sent in cycle 0 it would arrive in 15. Its timer ends every 20 cycles.
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
			for _, d := range s.Delivered {
				arrived = d.Cycle
			}
			simtest.ErrorIf(t, arrived != c.arrives || f.FaultTally() != c.want,
				"arrived in cycle %d, want %d; %+v, want %+v", arrived, c.arrives, f.FaultTally(), c.want)
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
		topo, s := ring(2), births(8, 0, 40)
		f := runFaults(t, topo, []topology.Failure{{Links: between(topo.Graph(), 0, 1), At: c.at, Until: 35}}, s, nil)
		// The second packet, of 8 flits more, finds the cable as it was.
		simtest.ErrorIf(t, f.InjectedFlits != c.injected+8 || f.DeliveredFlits != c.delivered+8 || f.DiscardedFlits != c.dropped,
			"cut in cycle %d: %+v, want %d injected, %d delivered, %d dropped, and 8 more", c.at, f.Counters, c.injected, c.delivered, c.dropped)
		last := s.Delivered[len(s.Delivered)-1]
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
		simtest.ErrorIf(t, len(s.Delivered) != 5 || f.FaultTally() != (fabric.FaultTally{}), "%d of 5 packets, %+v", len(s.Delivered), f.FaultTally())
	}
}

// TestFaultsRefused: what faults during the run cannot be combined with.
func TestFaultsRefused(t *testing.T) {
	topo := ring(2)
	plan := tablePeriods(t, topo, []topology.Failure{{At: 5, Switches: []topology.SwitchID{0}}})
	for want, set := range map[string]func(*fabric.Config){
		"credit sensing": func(c *fabric.Config) { c.Switch.CreditSensing = "on" }, "packets as the unit": packets,
		"arbitration between lanes": func(c *fabric.Config) { *c = adapterConfig("", "0:1,1:1,2:1,3:1", 0) },
	} {
		config := fabric.DefaultConfig()
		set(&config)
		simtest.Fail(t, simtest.Must(core.New(topo.Graph(), config, plan.Routing[0], 1))(t).SetFaults(plan), want)
	}
}

// TestFaultsInARun: packets given up, here all to and from the terminals of a switch that is down, are not missing from what
// is accepted; and a run waits for packets that are sent again, after 20,000 cycles where the window has 500.
func TestFaultsInARun(t *testing.T) {
	topo := ring(4)
	run := func(failure topology.Failure, set func(*fabric.FaultPlan), plan measure.Plan) *measure.Result {
		faults := tablePeriods(t, topo, []topology.Failure{failure})
		set(faults)
		source := network{topo, faults.Routing[0]}.traffic(0.2, 1)
		return simtest.Must(measure.Run(t.Context(), faulty(t, topo.Graph(), fabric.DefaultConfig(), faults), source, 0.2, plan))(t)
	}
	r := run(topology.Failure{Switches: []topology.SwitchID{0}}, func(*fabric.FaultPlan) {}, measure.Plan{Warmup: 1000, Window: 20_000})
	simtest.ErrorIf(t, r.State != measure.Steady || r.Faults.GivenUpFlits == 0, "%v (%s), %+v", r.State, r.Reason, r.Faults)
	r = run(topology.Failure{Links: between(topo.Graph(), 0, 1), At: 1300, Until: 1350}, func(p *fabric.FaultPlan) {
		p.Retries, p.Timeout, p.Reroute = 1, 20_000, 10_000
	}, measure.Plan{Warmup: 1000, Window: 500})
	simtest.ErrorIf(t, r.Reason == measure.ByDrain || r.Faults.Retransmitted == 0, "%v (%s), %+v", r.State, r.Reason, r.Faults)
	r = run(topology.Failure{Links: between(topo.Graph(), 0, 1), At: 10}, func(p *fabric.FaultPlan) { p.AfterWarmup = true }, measure.Plan{Precision: 0.5})
	_, calm := network{topo, tablePeriods(t, topo, []topology.Failure{{At: 1}}).Routing[0]}.run(t, fabric.DefaultConfig(), 0.2, 1, measure.Plan{Precision: 0.5})
	simtest.Equal(t, r.Warmup, 2*calm.Warmup, "the window begins behind a warm-up, where things fail from then on, not in its middle: in cycle")
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
	hops, source := shortestHops{t, g, g.NeighborsWithout(down), 0}, network{topo, r}.traffic(0.3, 1)
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

// TestFaultFreesOthers: a packet of 20 flits from terminal 0 at switch 0 to switch 2 holds the only virtual channel of
// its class from switch 0 to switch 1 when the cable from switch 1 to switch 2 fails in cycle 20: its head left switch
// 0 in cycle 4, two cycles after its arrival (virtual-channel allocation is a stage of its own here), and switch 1 in
// cycle 16. Another, from terminal 1 to switch 1, has waited for that virtual channel since cycle 7. It is freed in
// cycle 20: the packet leaves switch 0 in 22, arrives in 32, leaves in 34 and is there in 35.
func TestFaultFreesOthers(t *testing.T) {
	b := topology.NewBuilder(3, topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "link", Latency: 10})
	for _, s := range []topology.SwitchID{0, 0, 1, 2} {
		b.AddTerminal(s, 0)
	}
	b.AddLink(0, 1, 1)
	b.AddLink(1, 2, 1)
	topo := topology.NewFileNetwork(b.Freeze())
	plan := tablePeriods(t, topo, []topology.Failure{{Links: between(topo.Graph(), 1, 2), At: 20}})
	f, s := faulty(t, topo.Graph(), pipelined(), plan), &script{}
	s.Send(0, fabric.PacketSpec{Dst: 3, Flits: 20})
	s.Send(1, fabric.PacketSpec{Birth: 5, Dst: 2, Flits: 1})
	simtest.Check(t, measure.RunToEnd(t.Context(), f, fabric.Ends{Source: s, Sink: s}, measure.ToEnd{}))
	simtest.ErrorIf(t, len(s.Delivered) != 1 || s.Delivered[0].Src != 1 || s.Delivered[0].Cycle != 35,
		"%+v, want a packet from terminal 1 in cycle 35", s.Delivered)
}

// buildPeriods builds a routing with its defaults for the periods of some failures.
func buildPeriods(name string, topo topology.Topology, failures []topology.Failure) (*fabric.FaultPlan, error) {
	plan := &fabric.FaultPlan{Periods: topology.Periods(topo.Graph(), failures)}
	config, err := routing.Registry.Config(name)
	if err != nil {
		return nil, err
	}
	periods, err := routing.BuildPeriods(routing.Env{Topology: topo, Seed: 1}, plan.Periods, func(env routing.Env) (fabric.Routing, error) {
		return routing.Registry.Build(name, config, env)
	})
	if err != nil {
		return nil, err
	}
	for i := range plan.Periods {
		plan.Routing = append(plan.Routing, periods.During(i))
	}
	return plan, nil
}

func tablePeriods(t testing.TB, topo topology.Topology, failures []topology.Failure) *fabric.FaultPlan {
	t.Helper()
	return simtest.Must(buildPeriods("table", topo, failures))(t)
}

// counted is a source that knows how many packets it has handed over, each with
// a number of its own as its tag, by terminal.
type counted struct {
	*measure.OpenLoop
	of []uint64
}

func (c *counted) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	if !c.OpenLoop.Next(t, until, spec) {
		return false
	}
	spec.Tag = uint64(t)<<32 | c.of[t]
	c.of[t]++
	return true
}

func (c *counted) born() (n int64) {
	for _, of := range c.of {
		n += int64(of)
	}
	return n
}

// onceEach is a sink that wants no packet twice. What a terminal gets is its own, for threads.
type onceEach struct {
	t    testing.TB
	seen []map[uint64]fabric.Delivery

	lives []*observe.PacketTrace // where traces were asked for
}

func (s *onceEach) Deliver(d *fabric.Delivery) {
	if _, again := s.seen[d.Dst][d.Tag]; again {
		s.t.Errorf("packet %d is delivered twice", d.Tag)
	}
	s.seen[d.Dst][d.Tag] = *d
}

func (s *onceEach) packets() (n int64) {
	for _, seen := range s.seen {
		n += int64(len(seen))
	}
	return n
}

// faultTrial is a small random network in which cables and switches fail and come back at
// random, with a random switch, packets of several flits and retries or none.
type faultTrial struct {
	seed   uint64
	graph  *topology.Graph
	name   string // of the routing
	plan   *fabric.FaultPlan
	config fabric.Config
	most   int // flits of a packet
	load   float64
	trace  bool
}

func drawFaultTrial(t testing.TB, seed uint64) *faultTrial {
	r := sim.NewStream(seed, "fuzz", 0)
	topo, err := param.Make(topology.Registry, "random-regular", struct{}{}, func(c *topology.RandomRegularConfig) {
		c.Switches, c.Degree, c.Terminals, c.Seed = 6+2*r.IntN(4), 3, 1+r.IntN(3), seed
	})
	name := "table"
	if r.IntN(3) == 0 {
		topo, err = param.Make(topology.Registry, "dragonfly", struct{}{}, func(c *topology.DragonflyConfig) {
			c.P, c.A, c.H, c.G = 1+r.IntN(2), 2, 2+r.IntN(2), 4
		})
		name = []string{"table", "min", "val", "ugal-g", "ugal-l", "ugal-l-vch", "ugal-pb"}[r.IntN(7)]
	}
	if name == "table" && r.IntN(4) == 0 {
		topo, err = param.Make(topology.Registry, "fat-tree", struct{}{}, func(c *topology.FatTreeConfig) { c.K, c.N = 4, 2+r.IntN(2) })
		name = "nca"
	}
	simtest.Check(t, err)
	g := topo.Graph()
	var failures []topology.Failure
	for range 1 + r.IntN(4) {
		fault := topology.Failure{At: int64(r.IntN(1500))}
		if r.IntN(4) > 0 {
			fault.Until = fault.At + 1 + int64(r.IntN(800))
		}
		for range 1 + r.IntN(3) {
			if p := topology.PortID(r.IntN(g.NumPorts())); g.Classes[g.PortClass[p]].Name != "local" {
				fault.Links = append(fault.Links, p)
			}
		}
		if r.IntN(3) == 0 {
			fault.Switches = append(fault.Switches, topology.SwitchID(r.IntN(g.Switches())))
		}
		failures = append(failures, fault)
	}
	plan, err := buildPeriods(name, topo, failures)
	if err != nil { // a fault that this routing cannot go around
		name, plan = "table", tablePeriods(t, topo, failures)
	}
	plan.Reroute = int64(r.IntN(200))
	if r.IntN(2) == 0 {
		plan.Retries, plan.Timeout = 1+r.IntN(4), int64(50+r.IntN(400))
	}
	most := 1 + r.IntN(6)
	config, allocators := fabric.DefaultConfig(), allocator.Registry.Names()
	config.Switch.BufferFlits = most + r.IntN(8)
	config.Switch.VCAllocCycles = r.IntN(2)
	config.Switch.RouteCycles, config.Switch.Pipeline = r.IntN(3), []string{fabric.Serial, fabric.Overlapped, fabric.Overlapped}[r.IntN(3)]
	config.Switch.Speedup = []float64{1, 1.5, 2}[r.IntN(3)]
	config.Switch.Allocator = allocator.Named(allocators[r.IntN(len(allocators))])
	config.Switch.FlowControl = []string{"wormhole", "cut-through"}[r.IntN(2)]
	config.Switch.InputSpeedup, config.Switch.VCReuse = 1+r.IntN(2), []string{fabric.TailSent, fabric.CreditsBack}[r.IntN(2)]
	if config.Switch.VCAllocCycles > 0 && r.IntN(2) == 0 {
		config.Switch.VCAllocator = fabric.InputFirst
	}
	config.Channels = map[string]fabric.ChannelConfig{"terminal": {CyclesPerFlit: 1 + r.Float64()}}
	trace := r.IntN(4) == 0
	return &faultTrial{seed, g, name, plan, config, most, 0.1 + 0.5*r.Float64(), trace}
}

// run sends packets for 2000 cycles. Nothing may be lost silently: every packet born is delivered
// once, lost or unreachable; every flit that entered has left or was discarded; every buffer is
// empty in the end, every virtual channel free, every credit home (Audit).
func (x *faultTrial) run(t testing.TB, config fabric.Config, threads int) (*core.Fabric, *onceEach) {
	seed := x.seed
	f := simtest.Must(core.New(x.graph, config, x.plan.Routing[0], seed))(t)
	simtest.Check(t, f.SetFaults(x.plan))
	var traced *observe.Tracer
	if x.trace {
		meter := measure.NewMeter(100)
		meter.Open(0)
		traced = observe.StartTrace(f, meter, observe.TracePlan{Packets: 1 << 20, Every: 1})
	}
	f.Split(threads)
	terminals := x.graph.Terminals()
	source := &counted{measure.NewOpenLoop(terminals, routingtest.Others(terminals), routingtest.AtRate(x.load*2/float64(1+x.most)), mixed{x.most}, seed), make([]uint64, terminals)}
	sink := &onceEach{t, make([]map[uint64]fabric.Delivery, terminals), nil}
	for i := range sink.seen {
		sink.seen[i] = map[uint64]fabric.Delivery{}
	}
	source.Stop(2000)
	err := measure.RunToEnd(t.Context(), f, fabric.Ends{Source: source, Sink: sink}, measure.ToEnd{})
	simtest.FatalIf(t, err != nil, "seed %d: %v", seed, err)
	tally := f.FaultTally()
	if traced != nil {
		checkTraces(t, seed, traced)
		sink.lives = traced.Packets()
	}
	delivered := sink.packets()
	simtest.ErrorIf(t, source.born() != delivered+tally.Lost+tally.Unreachable,
		"seed %d: %d packets born, %d delivered, %+v", seed, source.born(), delivered, tally)
	simtest.ErrorIf(t, f.Packets != sink.packets()+tally.Duplicates,
		"seed %d: %d transmissions delivered, %d of them packets, %+v", seed, f.Packets, sink.packets(), tally)
	simtest.ErrorIf(t, f.InjectedFlits != f.DeliveredFlits+f.DiscardedFlits, "seed %d: %+v", seed, f.Counters)
	return f, sink
}

func randomFaults(t testing.TB, seed uint64) (ran string, tally fabric.FaultTally) {
	x := drawFaultTrial(t, seed)
	f, _ := x.run(t, x.config, 1)
	return x.name, f.FaultTally()
}

// checkTraces wants the stages of recorded packets, none of them shorter than nothing, to add up to their latency.
func checkTraces(t testing.TB, seed uint64, traced *observe.Tracer) {
	simtest.ErrorIf(t, len(traced.Packets()) == 0, "seed %d: nothing recorded", seed)
	for _, p := range traced.Packets() {
		sum := int64(0)
		for i, cycles := range p.Stages() {
			sum += cycles
			simtest.FatalIf(t, cycles < 0, "seed %d: %d cycles of %s: %+v", seed, cycles, observe.StageNames[i], p)
		}
		simtest.FatalIf(t, sum != p.Cycle-p.Birth, "seed %d: stages of %d cycles, latency %d", seed, sum, p.Cycle-p.Birth)
	}
}

// TestRandomFaults: random networks, in which everything that can happen does.
func TestRandomFaults(t *testing.T) {
	var all fabric.FaultTally
	ran := map[string]int64{}
	for _, seed := range simtest.Seeds(t, 120, 3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			name, tally := randomFaults(t, seed)
			ran[name] += tally.Dropped
			all.Add(tally)
		})
	}
	simtest.ErrorIf(t, all.Dropped == 0 || all.Retransmitted == 0 || all.Duplicates == 0 || all.Lost == 0 || all.Unreachable == 0 || all.WastedFlits == 0,
		"not everything has happened: %+v", all)
	for _, name := range []string{"table", "nca", "min", "val", "ugal-g", "ugal-l", "ugal-l-vch", "ugal-pb"} {
		simtest.ErrorIf(t, ran[name] == 0 && simtest.Soak(), "nothing was dropped under %s", name)
	}
}

// FuzzFaults is TestRandomFaults for the native fuzzer.
func FuzzFaults(f *testing.F) {
	f.Add(uint64(1000))
	f.Fuzz(func(t *testing.T, seed uint64) { randomFaults(t, seed) })
}
