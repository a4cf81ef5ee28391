package measure_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// network is what packets of a flit are measured in.
type network struct {
	graph   *topology.Graph
	routing fabric.Routing
	config  fabric.Config
}

func build[C any](t testing.TB, config fabric.Config, family, algorithm string, set func(*C)) network {
	t.Helper()
	topo := simtest.Must(param.Make(topology.Registry, family, struct{}{}, set))(t)
	settings := simtest.Must(routing.Registry.Config(algorithm))(t)
	r := simtest.Must(routing.Registry.Build(algorithm, settings, routing.Env{Topology: topo, Seed: 1}))(t)
	config.Switch.VCs = max(config.Switch.VCs, r.VCs())
	return network{topo.Graph(), r, config}
}

func oneSwitch(t testing.TB, terminals int, config fabric.Config) network {
	return build(t, config, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = terminals })
}

// outputQueue is the switch that is nothing but a queue at each output.
func outputQueue(t testing.TB, terminals int) network {
	config := fabric.DefaultConfig()
	s := &config.Switch
	s.VCs, s.BufferFlits, s.Speedup, s.SwitchAllocCycles, s.CrossbarCycles, s.CreditsPerCycle, s.Iterations = 1, 64, 4, 1, 0, 0, 4
	return oneSwitch(t, terminals, config)
}

func dragonfly(t testing.TB, algorithm string) network {
	return build(t, fabric.DefaultConfig(), "dragonfly", algorithm, func(c *topology.DragonflyConfig) { c.P, c.A, c.H = 2, 4, 2 })
}

func (n network) run(t testing.TB, pattern measure.Pattern, load float64, seed uint64, plan measure.Plan) *measure.Result {
	t.Helper()
	f := simtest.Must(core.New(n.graph, n.config, n.routing, 1))(t)
	source := measure.NewOpenLoop(n.graph.Terminals(), pattern, routingtest.AtRate(load), routingtest.Fixed(1), seed)
	return simtest.Must(measure.Run(t.Context(), f, source, load, plan))(t)
}
