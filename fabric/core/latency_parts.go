package core

// Part is a part of a packet's latency.
type Part int

// The parts of a packet's latency. In the queues of switches it is the flit at the front of the queue that waits, for
// itself and for all behind it.
const (
	PartSource   Part = iota // at its terminal, until the head enters the channel
	PartRoute                // route computation
	PartVC                   // virtual-channel allocation
	PartSwitch               // switch allocation and the crossbar
	PartCredit               // no buffer free at the far end
	PartSerial               // flits in front on their way through the crossbar and onto channels between switches
	PartEjection             // waiting for the channel to the destination
	PartWire                 // latencies of channels
	NumParts     = iota
)

// PartNames are the names of the parts.
var PartNames = [NumParts]string{"source_queue", "route", "vc_allocation", "switch_allocation", "credit_stall", "serialisation", "ejection", "wire"}

// Parts is a time by parts, in cycles.
type Parts [NumParts]int64

// Total is the sum of the parts.
func (p *Parts) Total() int64 {
	sum := int64(0)
	for _, x := range p {
		sum += x
	}
	return sum
}

// Add adds other.
func (p *Parts) Add(other *Parts) {
	for i, x := range other {
		p[i] += x
	}
}

// Waiting is the time spent waiting for a channel in the network, in
// packet-cycles: neither the source queue nor what an idle network takes for
// routes and wires.
func (p *Parts) Waiting() int64 {
	return p[PartVC] + p[PartSwitch] + p[PartCredit] + p[PartSerial] + p[PartEjection]
}
