package traffic

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Patterns, "tornado", "nearly half the way round every ring of a grid, or half the groups on", struct{}{}, newTornado)
}

// newTornado makes the tornado pattern (Dally and Towles 2004, table 3.1): on a
// grid, ceil(k/2) - 1 switches on in every dimension of k switches, modulo k
// even in meshes; on groups, to the terminal at the same position g/2 groups
// on. The second form is weft's extension.
func newTornado(_ struct{}, env Env) (Pattern, error) {
	switch t := env.Topology.(type) {
	case topology.Grid:
		dims := t.Dims()
		if slices.Max(dims) < 3 {
			return nil, needs("tornado", "a dimension of at least 3 switches")
		}
		return gridMap("tornado", t, func(at []int) {
			for d, k := range dims {
				at[d] = (at[d] + (k+1)/2 - 1) % k
			}
		})
	case topology.Grouped:
		groups := divide(t.Graph(), t.Groups(), t.GroupOf)
		if t.Groups() < 2 || !groups.even() {
			return nil, needs("tornado", "at least two groups, with the same number of terminals each")
		}
		return groups.mapped(func(group int) int { return (group + t.Groups()/2) % t.Groups() }), nil
	}
	return nil, lacks("tornado", "coordinates or groups", env)
}
