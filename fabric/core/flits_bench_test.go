package core_test

import (
	"fmt"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/routingtest"
)

// BenchmarkFlits is the cost of a flit-hop by the length of packets: uniform traffic at
// three loads each on a dragonfly, a fat tree and a mesh. An operation is a cycle.
func BenchmarkFlits(b *testing.B) {
	for _, net := range []struct {
		name   string
		loads  []float64
		warmup int64
		build  func() network
	}{
		{"dragonfly-1056", []float64{0.1, 0.4, 0.7}, 1500, func() network { return dragonflyNetwork(b, "min", 4, 8, 4) }},
		{"fat-tree-1024", []float64{0.1, 0.4, 0.7}, 1500, func() network {
			return newNetwork(b, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 16, 3 })
		}},
		{"mesh-64", []float64{0.1, 0.3, 0.45}, 5000, func() network {
			return newNetwork(b, "mesh", "dor", func(c *topology.GridConfig) { c.Dims = []int{8, 8} })
		}},
	} {
		for _, flits := range []int{1, 4, 16, 64} {
			for _, load := range net.loads {
				b.Run(fmt.Sprintf("%s/flits=%d/load=%v", net.name, flits, load), func(b *testing.B) {
					n := net.build()
					n.benchmark(b, fabric.DefaultConfig(), routingtest.Others(n.topo.Graph().Terminals()), load, flits, net.warmup)
				})
			}
		}
	}
}
