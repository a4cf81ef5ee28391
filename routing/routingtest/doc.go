// Package routingtest is the conformance suite of routings: every path ends where
// it should, no channel dependencies form a cycle, what Explore lists is what
// Route decides, and random fabrics run, stop and time their packets as they must.
// It is for weft's own routings and for those that others register:
//
//	func TestMine(t *testing.T) { routingtest.Conform(t, "mine", nil) }
//
// The networks are drawn from the registered topologies ([topologytest.Networks]),
// so that a new topology meets every routing that accepts it.
package routingtest
