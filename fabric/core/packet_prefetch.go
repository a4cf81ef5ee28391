package core

import (
	"unsafe"

	"github.com/weft-sim/weft/sim/mem"
)

// prefetchTails asks for what the tails of a cycle are going to touch.
func (u *packetUnit) prefetchTails(d *domain, batch []event) {
	n, size := len(batch), unsafe.Sizeof(event{})
	mem.PrefetchEach(&batch[0].number, n, size, unsafe.Pointer(&d.queues[0]), unsafe.Sizeof(inVC{}))
	if u.timed { // they do not let go of anything
		return
	}
	if u.watched {
		for i := range batch {
			if e := &batch[i]; e.kind == tailCrosses {
				u.prefetchFlowsOf(e.port)
			}
		}
	}
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&d.out[0]), unsafe.Sizeof(outPort{}))
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&d.outVC[0]), uintptr(d.vcs)*unsafe.Sizeof(outVC{}))
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&d.hold.ports[0]), unsafe.Sizeof(heldPort{}))
}

// prefetchFlows asks for what a look at some ports is going to touch.
func (u *packetUnit) prefetchFlows(d *domain, first, count int32) {
	for port := first; port < first+count; port++ {
		if u.watched && d.cycle >= u.quiet[port] {
			u.prefetchFlowsOf(port)
			mem.Prefetch(unsafe.Pointer(&u.credits[port]))
		}
	}
}

// prefetchFlowsOf asks for the first of the flows of a port.
func (u *packetUnit) prefetchFlowsOf(port int32) {
	mem.PrefetchRow(unsafe.Pointer(unsafe.SliceData(u.flows[port])))
}

// prefetchCredits asks for what the credits of a cycle are going to touch.
func (u *packetUnit) prefetchCredits(d *domain, batch []flitSchedule) {
	n, size := len(batch), unsafe.Sizeof(flitSchedule{})
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&u.credits[0]), unsafe.Sizeof(portCredits{}))
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&d.out[0]), unsafe.Sizeof(outPort{}))
	mem.PrefetchEach(&batch[0].ov, n, size, unsafe.Pointer(&d.outVC[0]), unsafe.Sizeof(outVC{}))
}

// prefetchInflows asks for the records of packets whose heads arrive.
func (d *domain) prefetchInflows(batch []flit) {
	for i := range batch {
		mem.Prefetch(unsafe.Pointer(d.inflow(batch[i].packet >> packetBits)))
	}
}

// prefetchHolds asks for what tells whether the ports of heads that have been routed are
// held.
func (u *packetUnit) prefetchHolds(d *domain, sw *switchState, inputs, outputs []int32) {
	n, held := len(outputs), unsafe.Pointer(&d.hold.ports[sw.port0])
	mem.PrefetchEach(&outputs[0], n, 4, held, unsafe.Sizeof(heldPort{}))
	mem.PrefetchEach(&inputs[0], n, 4, held, unsafe.Sizeof(heldPort{}))
}
