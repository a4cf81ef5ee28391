package opensm_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// build makes a topology.
func build[C any](t testing.TB, name string, set func(*C)) topology.Topology {
	t.Helper()
	return simtest.Must(param.Make(topology.Registry, name, struct{}{}, set))(t)
}

func networks(t testing.TB) []topologytest.Network {
	return []topologytest.Network{
		{Name: "torus", Topology: build(t, "torus", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{4, 3}, 2 })},
		{Name: "mesh", Topology: build(t, "mesh", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{4, 3, 2}, 1 })},
		{Name: "fat tree", Topology: build(t, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 3 })},
		{Name: "random", Topology: build(t, "random-regular", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree, c.Terminals = 16, 4, 1 })},
	}
}

// TestConformance holds every engine, as a routing, to the conformance suite. Those that are not
// acyclic leave it to the network whether they can deadlock.
func TestConformance(t *testing.T) {
	nets := networks(t)
	for _, name := range opensm.Engines() {
		engine, _ := opensm.EngineOf(name)
		routingtest.Each(t, "opensm-"+name, nets, func(t *testing.T, n topologytest.Network, v routingtest.Variant, r fabric.Routing) {
			v.CanDeadlock = !engine.Acyclic
			routingtest.ConformOn(t, n, v, r)
		})
	}
}
