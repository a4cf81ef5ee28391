package mcast

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/multicast"
)

// matchesShortestPaths tells whether the table is that of all shortest paths,
// as of OpenSM's minhop engine.
func (m *LIDMatrix) matchesShortestPaths(hops *multicast.MinHop) bool {
	for t := range m.n {
		for s := range m.n {
			from, to := topology.SwitchID(s), topology.SwitchID(t)
			if m.Hops(from, to) != hops.Hops(from, to) {
				return false
			}
			if s != t && m.Hops(from, to) != multicast.Unreachable && m.lowestPort(from, to) != hops.LowestPort(from, to) {
				return false
			}
		}
	}
	return true
}
