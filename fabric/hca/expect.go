package hca

import (
	"unsafe"

	"github.com/weft-sim/weft/sim"
)

// These ask for memory that will be touched at an adapter out of those that were
// made together. They change nothing but time.

// Expect is for a request on a QP that finds the adapter idle, and for what it
// receives.
func Expect(all []HCA, adapter int32, qp QP) {
	sim.Prefetch(unsafe.Pointer(&all[adapter]))
	if c := &all[0].shared.cache; len(c.sets) > 0 {
		sim.Prefetch(unsafe.Pointer(&c.sets[int(adapter)*c.perAdapter+c.setOf(qp)]))
	}
}

// SetOf is the number of the set of contexts that a QP is in, on any adapter.
func SetOf(all []HCA, qp QP) int {
	if c := &all[0].shared.cache; len(c.sets) > 0 {
		return c.setOf(qp)
	}
	return 0
}

// ExpectSet is for an adapter and one of its sets of contexts.
func ExpectSet(all []HCA, adapter int32, set int) {
	sim.Prefetch(unsafe.Pointer(&all[adapter]))
	if c := &all[0].shared.cache; len(c.sets) > 0 {
		sim.Prefetch(unsafe.Pointer(&c.sets[int(adapter)*c.perAdapter+set&(c.perAdapter-1)]))
	}
}

// ExpectQueues is for an adapter's send queues.
func ExpectQueues(all []HCA, adapter int32) {
	sim.Prefetch(unsafe.Add(unsafe.Pointer(&all[adapter]), 64))
	first := adapter * fewActive
	for i := int32(0); i < fewActive; i++ {
		sim.Prefetch(unsafe.Pointer(&all[0].shared.active[first+i]))
	}
}
