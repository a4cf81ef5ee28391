package routing_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
)

// TestAroundFaults holds the routings that go around faults to the suite's part
// about them.
func TestAroundFaults(t *testing.T) {
	seeds := uint64(5)
	if testing.Short() {
		seeds = 2
	}
	for _, name := range routing.AroundFaults() {
		routingtest.ConformAroundFaults(t, name, seeds, func(seed uint64) []topologytest.Network { return faultyNetworks(t, seed) })
	}
}

func faultyNetworks(t testing.TB, seed uint64) []topologytest.Network {
	return []topologytest.Network{
		{Name: "random", Topology: build(t, "random-regular", func(c *topology.RandomRegularConfig) {
			c.Switches, c.Degree, c.Terminals, c.Seed = 12, 3, 2, seed
		})},
		{Name: "dragonfly", Topology: dragonfly(t, 1, 2, 2, 0)},
		{Name: "dragonfly with several channels between groups", Topology: dragonfly(t, 1, 3, 3, 4)},
		{Name: "fat tree", Topology: build(t, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 3 })},
	}
}
