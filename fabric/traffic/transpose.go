package traffic

import (
	"math"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Patterns, "transpose", "matrix transposition: from row i, column j to row j, column i", struct{}{}, newTranspose)
}

// newTranspose makes the transpose pattern (Dally and Towles 2004, table 3.1).
// On square grids of two dimensions the switch at (x, y) sends to (y, x), each
// of its terminals to the one at its position. On other topologies the number
// of terminals must be a square n*n, and terminal i*n + j sends to j*n + i;
// where n is a power of two, this swaps the halves of the number's bits.
func newTranspose(_ struct{}, env Env) (Pattern, error) {
	if grid, ok := env.Topology.(topology.Grid); ok {
		if dims := grid.Dims(); len(dims) == 2 && dims[0] == dims[1] {
			return gridMap("transpose", grid, func(at []int) { at[0], at[1] = at[1], at[0] })
		}
	}
	terminals := env.Topology.Graph().Terminals()
	n := int(math.Round(math.Sqrt(float64(terminals))))
	if n*n != terminals {
		return nil, needs("transpose", "a square grid or a square number of terminals; this topology has %d", terminals)
	}
	return tabulate(terminals, func(src int) int { return src%n*n + src/n }), nil
}
