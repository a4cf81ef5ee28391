package core

import (
	"unsafe"

	"github.com/weft-sim/weft/sim/mem"
)

// largeState, which only tests change, is from how many bytes of state on a fabric
// asks for what it will touch: such as do not fit into the caches of one core.
var largeState = 1 << 20

// isLarge tells whether the network asks for its memory ahead.
func (s *state) isLarge() bool {
	bytes := len(s.Queues)*int(unsafe.Sizeof(InVC{})) + len(s.OutVC)*int(unsafe.Sizeof(outVC{})) +
		len(s.Out)*int(unsafe.Sizeof(OutPort{})) + len(s.Terminals)*int(unsafe.Sizeof(terminal{}))
	return mem.Prefetching && bytes > largeState
}

// prefetchQueues asks for the queues of a switch that have work, from a mask word
// on.
func (d *Domain) prefetchQueues(word int) {
	sw := &d.Switches[d.WordSwitch[word]]
	for w := range sw.masks {
		m := &sw.masks[w]
		if set := m.route | m.va | m.sa; set != 0 {
			mem.PrefetchSet(set, unsafe.Pointer(sw.Queue(uint32(w<<6))), unsafe.Sizeof(InVC{}))
			if d.vcs > 1 {
				mem.PrefetchSet(set, unsafe.Pointer(&d.acceptOV[int(sw.Queue0)+w<<6]), 4)
			}
		}
	}
}

// prefetchPorts asks for the ports of a switch that packets come from and have
// been routed to in this cycle.
func (d *Domain) prefetchPorts(sw *SwitchState, inputs, outputs []int32) {
	n := len(outputs)
	mem.PrefetchEach(&outputs[0], n, 4, unsafe.Pointer(sw.outs.At(0)), unsafe.Sizeof(OutPort{}))
	mem.PrefetchEach(&outputs[0], n, 4, unsafe.Pointer(sw.outVCs.At(0)), uintptr(d.vcs)*unsafe.Sizeof(outVC{}))
	mem.PrefetchEach(&inputs[0], n, 4, unsafe.Pointer(sw.ins.At(0)), unsafe.Sizeof(inPort{}))
}

// prefetchTerminals asks for the sending side of some terminals.
func (d *Domain) prefetchTerminals(batch []int32) {
	n := len(batch)
	mem.PrefetchEach(&batch[0], n, 4, unsafe.Pointer(&d.Terminals[0]), unsafe.Sizeof(terminal{}))
	mem.PrefetchEach(&batch[0], n, 4, unsafe.Pointer(&d.Out[d.TerminalOut0]), unsafe.Sizeof(OutPort{}))
	mem.PrefetchEach(&batch[0], n, 4, unsafe.Pointer(&d.OutVC[d.terminalOV0]), uintptr(d.vcs)*unsafe.Sizeof(outVC{}))
	if d.prefetcher != nil {
		d.prefetcher.Prefetch(batch)
	}
}

// touchPackets reads the records of some packets all at once. The sum keeps it
// from being left out.
func (d *Domain) touchPackets(batch []Flit) (sum int32) {
	for i := range batch {
		sum += d.Packet(batch[i].Packet >> PacketBits).Flits
	}
	return sum
}

// followRouting does what comes after the routing of a switch's arrivals in this cycle.
func (d *Domain) followRouting(sw *SwitchState) {
	d.summed = 0
	if n := d.Matcher.routed; n > 0 {
		d.prefetchPorts(sw, d.Matcher.routedFrom[:n], d.Matcher.routedTo[:n])
		if d.Unit != nil && !d.Unit.timed {
			d.Unit.prefetchHolds(d, sw, d.Matcher.routedFrom[:n], d.Matcher.routedTo[:n])
		}
		d.Matcher.routed = 0
	}
	if len(d.decided) > 0 {
		d.countDecisions(sw)
	}
}
