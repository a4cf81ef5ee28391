package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// leastOccupied is the port, relative to first, with the fewest credits outstanding
// over all of its virtual channels; of several one at random, all equally likely.
func leastOccupied(v *fabric.View, first topology.PortID, ports []uint16, random *sim.Stream) uint16 {
	best, least, equal := ports[0], v.OutstandingAll(first+topology.PortID(ports[0])), 1
	for _, local := range ports[1:] {
		switch n := v.OutstandingAll(first + topology.PortID(local)); {
		case n < least:
			best, least, equal = local, n, 1
		case n == least:
			if equal++; random.IntN(equal) == 0 {
				best = local
			}
		}
	}
	return best
}
