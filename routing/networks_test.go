package routing_test

import (
	"bufio"
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// build makes a topology.
func build[C any](t testing.TB, name string, set func(*C)) topology.Topology {
	t.Helper()
	return simtest.Must(param.Make(topology.Registry, name, struct{}{}, set))(t)
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

// The graphs of testdata come from the atlas's reference data, made there from
// the published definitions: NAME.edges.gz, a line "u v" for each cable;
// NAME.nexthop.gz, one next hop for each pair; NAME.rperm.gz, the destination of each
// terminal, 4 on a switch, under a permutation of switches.

// edgeList is a graph of testdata with so many terminals on each switch.
func edgeList(t testing.TB, name string, terminals int) topology.Topology {
	t.Helper()
	var edges [][2]topology.SwitchID
	for _, line := range lines(t, name+".edges.gz") {
		var e [2]topology.SwitchID
		_, err := fmt.Sscan(line, &e[0], &e[1])
		simtest.FatalIf(t, err != nil, "%v", err)
		edges = append(edges, e)
	}
	return joined(edges, terminals)
}

// joined is the network of some cables.
func joined(edges [][2]topology.SwitchID, terminals int) topology.Topology {
	switches := topology.SwitchID(0)
	for _, e := range edges {
		switches = max(switches, e[0]+1, e[1]+1)
	}
	b := topology.NewBuilder(int(switches), topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "cable", Latency: 1})
	for s := range switches {
		for range terminals {
			b.AddTerminal(s, 0)
		}
	}
	for _, e := range edges {
		b.AddLink(e[0], e[1], 1)
	}
	return topology.NewFileNetwork(b.Freeze())
}

// lines lists the lines of a file of testdata without comments.
func lines(t testing.TB, name string) []string {
	t.Helper()
	data := simtest.Must(input.ReadInput(filepath.Join("testdata", name), input.MaxInput))(t)
	var all []string
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		if !strings.HasPrefix(s.Text(), "#") {
			all = append(all, s.Text())
		}
	}
	return all
}
