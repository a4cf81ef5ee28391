package families

import (
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

// One path of two hops between different points, k between a point and its copy.
func TestOFTPaths(t *testing.T) {
	for _, k := range []int{3, 4, 5} {
		g := topologytest.Build(t, "oft", func(c *OFTConfig) { c.K = k }).Graph()
		n, neighbours := k*k-k+1, g.Neighbors()
		for s := range topology.SwitchID(2 * n) {
			paths := make([]int, g.Switches())
			for _, line := range neighbours.Of(s) {
				for _, u := range neighbours.Of(line) {
					paths[u]++
				}
			}
			for u := range topology.SwitchID(2 * n) {
				want := 1
				if int(u)%n == int(s)%n {
					want = k
				}
				simtest.FatalIf(t, paths[u] != want, "k = %d: %d paths from %d to %d, want %d", k, paths[u], s, u, want)
			}
		}
	}
}
