package opensm_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/routing/routingtest"
)

// TestConformance holds every engine, as a routing, to the conformance suite. Those that are not
// acyclic leave it to the network whether they can deadlock.
func TestConformance(t *testing.T) {
	nets := []topologytest.Network{
		{Name: "torus", Topology: topologytest.Build(t, "torus", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{4, 3}, 2 })},
		{Name: "mesh", Topology: topologytest.Build(t, "mesh", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{4, 3, 2}, 1 })},
		{Name: "fat tree", Topology: topologytest.Build(t, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 3 })},
		{Name: "random", Topology: topologytest.Build(t, "random-regular", func(c *topology.RandomRegularConfig) {
			c.Switches, c.Degree, c.Terminals = 16, 4, 1
		})},
	}
	for _, name := range opensm.Engines() {
		engine, _ := opensm.EngineOf(name)
		routingtest.Each(t, "opensm-"+name, nets, func(t *testing.T, n topologytest.Network, v routingtest.Variant, r fabric.Routing) {
			v.CanDeadlock = !engine.Acyclic
			routingtest.ConformOn(t, n, v, r)
		})
	}
}
