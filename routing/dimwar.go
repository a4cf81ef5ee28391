package routing

import "github.com/weft-sim/weft/fabric"

// DimWARConfig holds the settings of routing "dimwar".
type DimWARConfig struct{ DerouteSettings }

func init() {
	Register("dimwar", "DimWAR: dimension order on HyperX, with a deroute in a dimension where that is shorter by the queues", Use{On: AllToAll},
		DimWARConfig{DerouteSettings{"credits", true}}, newDimWAR)
}

// newDimWAR makes DimWAR, dimensionally ordered, weighted adaptive routing (McDonald, Isaev, Flores,
// Davis and Kim, "Practical and efficient incremental adaptive routing for HyperX
// networks", SC 2019): see [deroutes] for the choice. A packet takes the dimensions in
// order; in each it goes to its coordinate by one hop, or by two over any other.
//
// Deadlock: deroutes use the first of two VC classes, aligning hops the second. Sort the
// channels by dimension, deroutes first: a deroute is followed by the aligning hop of
// its dimension, and that by channels of higher dimensions. Two virtual channels
// whatever the number of dimensions; more are divided between the classes.
//
// The text of the paper was not at hand: this is after its abstract and the
// description in the atlas's reference data. The decision falls as a packet reaches
// the front of its buffer.
func newDimWAR(config DimWARConfig, env Env) (fabric.Routing, error) {
	return newDeroutes("dimwar", ruleDimWAR, 2, config.DerouteSettings, env)
}
