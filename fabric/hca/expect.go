package hca

import (
	"unsafe"

	"github.com/weft-sim/weft/sim"
)

// Expect asks for the memory that a request on QP will touch at an adapter out of
// those that were made together. It changes nothing but time.
func Expect(all []HCA, adapter int32, qp QP) {
	sim.Prefetch(unsafe.Pointer(&all[adapter]))
	if c := &all[0].shared.cache; len(c.sets) > 0 {
		sim.Prefetch(unsafe.Pointer(&c.sets[int(adapter)*c.perAdapter+c.setOf(qp)]))
	}
}

// ExpectQueues asks for the memory of an adapter's send queues.
func ExpectQueues(h *HCA) {
	sim.Prefetch(unsafe.Pointer(h))
	sim.Prefetch(unsafe.Add(unsafe.Pointer(h), 64))
}
