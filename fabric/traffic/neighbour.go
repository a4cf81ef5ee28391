package traffic

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Patterns, "neighbour", "one switch on in every dimension of a grid; elsewhere to the next terminal", struct{}{}, newNeighbour)
}

// newNeighbour makes the neighbour pattern (Dally and Towles 2004, table 3.1):
// on a grid, one switch on in every dimension, from the last switch to the
// first even in meshes. On other topologies terminal t sends to t+1, the last to
// the first; that form is weft's extension.
func newNeighbour(_ struct{}, env Env) (Pattern, error) {
	if grid, ok := env.Topology.(topology.Grid); ok {
		dims := grid.Dims()
		return gridMap("neighbour", grid, func(at []int) {
			for d, k := range dims {
				at[d] = (at[d] + 1) % k
			}
		})
	}
	n := env.Topology.Graph().Terminals()
	return tabulate(n, func(src int) int { return (src + 1) % n }), nil
}
