package core_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// network is a topology with a routing, for tests.
type network struct {
	topo    topology.Topology
	routing fabric.Routing
}

func newNetwork[C any](t testing.TB, family, algorithm string, set func(*C)) network {
	t.Helper()
	topo := simtest.Must(param.Make(topology.Registry, family, struct{}{}, set))(t)
	config := simtest.Must(routing.Registry.Config(algorithm))(t)
	r := simtest.Must(routing.Registry.Build(algorithm, config, routing.Env{Topology: topo, Seed: 1}))(t)
	return network{topo, r}
}

func dragonflyNetwork(t testing.TB, algorithm string, p, a, h int) network {
	return newNetwork(t, "dragonfly", algorithm, func(c *topology.DragonflyConfig) { c.P, c.A, c.H = p, a, h })
}

// dragonfly builds a dragonfly of 72 terminals under a routing.
func dragonfly(algorithm string) func(t testing.TB) network {
	return func(t testing.TB) network { return dragonflyNetwork(t, algorithm, 2, 4, 2) }
}

// fiveGroups builds a dragonfly of five groups, any two of which have two cables.
func fiveGroups(algorithm string) func(t testing.TB) network {
	return func(t testing.TB) network {
		return newNetwork(t, "dragonfly", algorithm, func(c *topology.DragonflyConfig) { c.P, c.A, c.H, c.G = 2, 4, 2, 5 })
	}
}

func smallTree(t testing.TB) network {
	return newNetwork(t, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 3 })
}

func smallTorus(t testing.TB) network {
	return newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{5, 4}, 2 })
}

func smallRandom(t testing.TB) network {
	return newNetwork(t, "random-regular", "table", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree, c.Terminals = 16, 4, 2 })
}

func (n network) fabric(t testing.TB, config fabric.Config) *core.Fabric {
	t.Helper()
	return simtest.Must(core.New(n.topo.Graph(), config, n.routing, 1))(t)
}

// pipelined is the default switch with virtual-channel allocation as a stage of its own.
func pipelined() fabric.Config {
	config := fabric.DefaultConfig()
	config.Switch.VCAllocCycles = 1
	return config
}

// traffic is uniform Bernoulli traffic of packets of so many flits, at a load in flits a
// terminal and cycle.
func (n network) traffic(load float64, flits int) *measure.OpenLoop {
	terminals := n.topo.Graph().Terminals()
	return measure.NewOpenLoop(terminals, routingtest.Others(terminals), routingtest.AtRate(load/float64(flits)), routingtest.Fixed(flits), 1)
}

// run drives the network with uniform Bernoulli traffic.
func (n network) run(t testing.TB, config fabric.Config, load float64, flits int, plan measure.Plan) (*core.Fabric, *measure.Result) {
	t.Helper()
	f := n.fabric(t, config)
	return f, simtest.Must(measure.Run(t.Context(), f, n.traffic(load, flits), load, plan))(t)
}

// script is a source of given packets, in order of birth for each terminal,
// and the sink that collects them.
type script struct {
	packets   map[topology.TerminalID][]fabric.PacketSpec
	delivered []fabric.Delivery
}

func (s *script) send(src topology.TerminalID, p fabric.PacketSpec) {
	if s.packets == nil {
		s.packets = map[topology.TerminalID][]fabric.PacketSpec{}
	}
	s.packets[src] = append(s.packets[src], p)
}

func (s *script) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	list := s.packets[t]
	if len(list) == 0 {
		spec.Birth = fabric.Never
		return false
	}
	*spec = list[0]
	if spec.Birth > until {
		return false
	}
	s.packets[t] = list[1:]
	return true
}

func (s *script) Deliver(d *fabric.Delivery) { s.delivered = append(s.delivered, *d) }

// receivers keeps what each terminal is told of.
type receivers [][]fabric.Delivery

func (a receivers) Deliver(d *fabric.Delivery) { a[d.Dst] = append(a[d.Dst], *d) }

// play has a network carry the packets of a script for so many cycles.
func (n network) play(t testing.TB, config fabric.Config, s *script, cycles int64) *core.Fabric {
	t.Helper()
	f := n.fabric(t, config)
	simtest.Check(t, f.Attach(fabric.Ends{Source: s, Sink: s}))
	f.Advance(cycles)
	return f
}

// playToEnd has a network carry the packets of a script until all have arrived.
func (n network) playToEnd(t testing.TB, config fabric.Config, s *script) *core.Fabric {
	t.Helper()
	f := n.fabric(t, config)
	simtest.Check(t, measure.RunToEnd(t.Context(), f, fabric.Ends{Source: s, Sink: s}, measure.ToEnd{}))
	return f
}

// spy is a routing whose decisions a test sees, and may change.
type spy struct {
	fabric.Routing
	needs fabric.Needs
	see   func(v *fabric.View, h *fabric.Head, hop *fabric.Hop)
}

func (s spy) Needs() fabric.Needs { return s.needs }

func (s spy) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	hop := s.Routing.Route(v, h)
	s.see(v, h, &hop)
	return hop
}
