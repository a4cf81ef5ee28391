// Package topologytest is the conformance suite of topologies, and a source of
// small networks of every registered family for the suites of what runs on them.
// It is for weft's own topologies and for those that others register:
//
//	func TestHyperX(t *testing.T) { topologytest.Conform(t, "hyperx") }
package topologytest
