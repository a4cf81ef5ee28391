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

// checkTraces wants the stages of recorded packets, none of them shorter than
// nothing, to add up to their latency.
func checkTraces(t testing.TB, seed uint64, traced *observe.Tracer) {
	simtest.ErrorIf(t, len(traced.Packets()) == 0, "seed %d: nothing recorded", seed)
	for _, p := range traced.Packets() {
		sum := int64(0)
		for i, cycles := range p.Stages() {
			if sum += cycles; cycles < 0 {
				t.Fatalf("seed %d: %d cycles of %s: %+v", seed, cycles, observe.StageNames[i], p)
			}
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
	if all.Dropped == 0 || all.Retransmitted == 0 || all.Duplicates == 0 || all.Lost == 0 || all.Unreachable == 0 || all.WastedFlits == 0 {
		t.Errorf("not everything has happened: %+v", all)
	}
	for _, name := range []string{"table", "nca", "min", "val", "ugal-g", "ugal-l", "ugal-l-vch", "ugal-pb"} {
		simtest.ErrorIf(t, ran[name] == 0 && simtest.Soak(), "nothing was dropped under %s", name)
	}
}

// FuzzFaults is TestRandomFaults for the native fuzzer.
func FuzzFaults(f *testing.F) {
	f.Add(uint64(1000))
	f.Fuzz(func(t *testing.T, seed uint64) { randomFaults(t, seed) })
}
