package routing_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/param"
)

// build makes a topology.
func build[C any](t testing.TB, name string, set func(*C)) topology.Topology {
	t.Helper()
	topo, err := param.Make(topology.Registry, name, struct{}{}, set)
	if err != nil {
		t.Fatal(err)
	}
	return topo
}

func dragonfly(t testing.TB, p, a, h, g int) topology.Topology {
	t.Helper()
	return build(t, "dragonfly", func(c *topology.DragonflyConfig) { c.P, c.A, c.H, c.G = p, a, h, g })
}

func torus(t testing.TB, terminals int, dims ...int) topology.Topology {
	t.Helper()
	return build(t, "torus", func(c *topology.GridConfig) { c.Dims, c.Terminals = dims, terminals })
}

func mesh(t testing.TB, terminals int, dims ...int) topology.Topology {
	t.Helper()
	return build(t, "mesh", func(c *topology.GridConfig) { c.Dims, c.Terminals = dims, terminals })
}

// networks are small networks with what random ones seldom have.
func networks(t testing.TB) []topologytest.Network {
	return []topologytest.Network{
		{Name: "dragonfly", Topology: dragonfly(t, 2, 4, 2, 0)},
		{Name: "dragonfly with several channels between groups", Topology: dragonfly(t, 2, 4, 2, 4)},
		{Name: "dragonfly of two groups", Topology: dragonfly(t, 1, 3, 1, 2)},
		{Name: "dragonfly of one-switch groups", Topology: dragonfly(t, 2, 1, 4, 0)},
		{Name: "torus", Topology: torus(t, 2, 4, 6)},
		{Name: "torus of odd and short rings", Topology: torus(t, 1, 5, 3, 2)},
		{Name: "mesh", Topology: mesh(t, 1, 4, 3)},
		{Name: "hypercube", Topology: mesh(t, 1, 2, 2, 2, 2)},
		{Name: "HyperX with parallel cables", Topology: build(t, "hyperx", func(c *topology.HyperXConfig) { c.Dims, c.Trunks, c.Terminals = []int{4, 3}, []int{1, 2}, 2 })},
		{Name: "HyperX of three dimensions", Topology: build(t, "hyperx", func(c *topology.HyperXConfig) { c.Dims, c.Terminals = []int{3, 3, 2}, 1 })},
		{Name: "fat tree", Topology: build(t, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 3 })},
		{Name: "tapered tree with parallel cables", Topology: build(t, "xgft", func(c *topology.XGFTConfig) {
			c.M, c.W, c.Parallel = []int{4, 3, 2}, []int{1, 2, 1}, []int{1, 2, 3}
		})},
		{Name: "random", Topology: build(t, "random-regular", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree, c.Terminals = 24, 4, 2 })},
		{Name: "single switch", Topology: build(t, "single-switch", func(c *topology.SingleSwitchConfig) { c.Terminals = 5 })},
	}
}
