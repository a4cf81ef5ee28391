package mcast

import (
	"fmt"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/multicast"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// BenchmarkMinHopMC routes the lines of a process grid on the networks of the MR4LMS paper (Chen et
// al. 2021). OpenSM itself takes 20 to 40 ms a group on the fat tree.
func BenchmarkMinHopMC(b *testing.B) {
	for _, c := range []struct {
		name string
		make func() (topology.Topology, error)
		dims []int
	}{
		{"fat-tree", func() (topology.Topology, error) {
			return param.Make(topology.Registry, "fat-tree", struct{}{}, func(c *topology.FatTreeConfig) { c.K, c.N = 40, 3 })
		}, []int{128, 125}},
		{"torus", func() (topology.Topology, error) {
			return param.Make(topology.Registry, "torus", struct{}{}, func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{30, 20, 20}, 2 })
		}, []int{28, 28, 28}},
	} {
		topo := simtest.Must(c.make())(b)
		env := simtest.Must(multicast.NewEnv(topo.Graph(), 0))(b)
		groups := simtest.Must(param.Make(multicast.Patterns, "grid", multicast.PatternEnv{Terminals: topo.Graph().Terminals(), Seed: 1}, func(g *multicast.GridConfig) { g.Dims = c.dims }))(b)
		b.Run(fmt.Sprintf("topo=%s/groups=%d", c.name, len(groups)), func(b *testing.B) {
			builder := multicast.NewMinHopMC(env.Graph, env.Hops)
			b.ReportAllocs()
			next := 0
			for b.Loop() {
				_, err := builder.Build(&groups[next%len(groups)], nil)
				simtest.FatalIf(b, err != nil, "%v", err)
				next++
			}
		})
	}
}

// BenchmarkSSSPUnicast is the unicast phase of opensm-sssp on a fat tree of
// 1,024 terminals and 320 switches; OpenSM takes 310 to 370 ms.
func BenchmarkSSSPUnicast(b *testing.B) {
	topo := simtest.Must(param.Make(topology.Registry, "fat-tree", struct{}{}, func(c *topology.FatTreeConfig) { c.K, c.N = 16, 3 }))(b)
	for b.Loop() {
		_, err := newSSSPMC(topo.Graph(), 0)
		simtest.FatalIf(b, err != nil, "%v", err)
	}
}

// matchesShortestPaths tells whether the table has all shortest paths, as OpenSM's
// minhop engine does.
func (m *LIDMatrix) matchesShortestPaths(hops *multicast.MinHop) bool {
	for t := range m.n {
		for s := range m.n {
			from, to := topology.SwitchID(s), topology.SwitchID(t)
			n := hops.Hops(from, to)
			if int(m.Row(to)[from]) != n || s != t && n != multicast.Unreachable && m.LowestPort(from, to) != hops.LowestPort(from, to) {
				return false
			}
		}
	}
	return true
}
