package routing

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// QEstimate is what Q-adaptive routing's memory of a network holds of a port, for packets
// to a group from the terminal at a place of its switch.
func QEstimate(memory fabric.Memory, p topology.PortID, group, place int) float32 {
	m := memory.(*qMemory)
	q := m.routing
	return m.row(q.graph.PortSwitch[p], group*q.slots+place)[q.column[p]]
}

// QMove is where an answer moves an estimate to.
func QMove(config QAdaptiveConfig, estimate, answer float32) float32 {
	m := qMemory{routing: &qAdaptive{config: config}}
	m.move(&estimate, answer)
	return estimate
}

// ShareSteps makes routings on groups of any size take the shared form of their tables until restore is called.
func ShareSteps() (restore func()) {
	whole := wholeSteps
	wholeSteps = -1
	return func() { wholeSteps = whole }
}

// WriteDownAtMost bounds the additions to channel loads that threads write down, until restore is called.
func WriteDownAtMost(additions int) (restore func()) {
	before := maxAdditions
	maxAdditions = additions
	return func() { maxAdditions = before }
}

// TestQStateIsWhole: no field of what is learned is forgotten in snapshots.
func TestQStateIsWhole(t *testing.T) {
	snapshottest.Names[qMemory](t, "estimates", "boxes", "learned", // the last is found again
		"routing", "latency", "first") // of the network
}
