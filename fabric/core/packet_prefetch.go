package core

import (
	"unsafe"

	"github.com/weft-sim/weft/sim/mem"
)

// prefetchTails asks for what the tails of a cycle are going to touch.
func (u *packetUnit) prefetchTails(d *Domain, batch []event) {
	n, size := len(batch), unsafe.Sizeof(event{})
	mem.PrefetchEach(&batch[0].number, n, size, unsafe.Pointer(&d.Queues[0]), unsafe.Sizeof(InVC{}))
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
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&d.Out[0]), unsafe.Sizeof(OutPort{}))
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&d.OutVC[0]), uintptr(d.vcs)*unsafe.Sizeof(outVC{}))
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&d.hold.ports[0]), unsafe.Sizeof(heldPort{}))
}

// prefetchFlows asks for what a look at some ports is going to touch.
func (u *packetUnit) prefetchFlows(d *Domain, first, count int32) {
	for port := first; port < first+count; port++ {
		if u.watched && d.Cycle >= u.quiet[port] {
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
func (u *packetUnit) prefetchCredits(d *Domain, batch []flitSchedule) {
	n, size := len(batch), unsafe.Sizeof(flitSchedule{})
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&u.credits[0]), unsafe.Sizeof(portCredits{}))
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&d.Out[0]), unsafe.Sizeof(OutPort{}))
	mem.PrefetchEach(&batch[0].ov, n, size, unsafe.Pointer(&d.OutVC[0]), unsafe.Sizeof(outVC{}))
}

// prefetchInflows asks for the records of packets whose heads arrive.
func (d *Domain) prefetchInflows(batch []Flit) {
	for i := range batch {
		mem.Prefetch(unsafe.Pointer(d.inflow(batch[i].Packet >> PacketBits)))
	}
}

// prefetchHolds asks for what tells whether the ports of heads that have been routed are
// held.
func (u *packetUnit) prefetchHolds(d *Domain, sw *SwitchState, inputs, outputs []int32) {
	n, held := len(outputs), unsafe.Pointer(&d.hold.ports[sw.Port0])
	mem.PrefetchEach(&outputs[0], n, 4, held, unsafe.Sizeof(heldPort{}))
	mem.PrefetchEach(&inputs[0], n, 4, held, unsafe.Sizeof(heldPort{}))
}
