package fabric

// Counters are running totals of a fabric.
type Counters struct {
	InjectedFlits  int64 // entered the network
	DeliveredFlits int64 // left it at their terminal
	FlitHops       int64 // switches crossed, summed over flits
	Packets        int64 // delivered
	// Multicast packets leave the network more often than they enter it.
	ReplicatedFlits int64 // copies made, less the flits that they were made of
	DiscardedFlits  int64 // of packets that no branch led on from their first switch, or that faults took
}

// add adds the counts of another.
func (c *Counters) add(o *Counters) {
	c.InjectedFlits += o.InjectedFlits
	c.DeliveredFlits += o.DeliveredFlits
	c.FlitHops += o.FlitHops
	c.Packets += o.Packets
	c.ReplicatedFlits += o.ReplicatedFlits
	c.DiscardedFlits += o.DiscardedFlits
}

// count sums up what the domains have counted.
func (f *Fabric) count() {
	f.Counters = Counters{}
	for _, d := range f.domains {
		f.Counters.add(&d.Counters)
	}
}

// ChannelFlits is the number of flits sent so far on every virtual channel (len =
// (ports+terminals)*vcs), modulo 2^32.
func (f *Fabric) ChannelFlits() []uint32 {
	counts := make([]uint32, len(f.outVC))
	for i := range f.outVC {
		counts[i] = f.outVC[i].flits
	}
	return counts
}

// InFlight is the number of packets between injection and delivery.
func (f *Fabric) InFlight() int {
	n := f.packets.ids()
	for _, d := range f.domains {
		n -= len(d.packetFree)
	}
	return n
}

// creditsUnderWay tells whether any credit has not come back.
func (f *Fabric) creditsUnderWay() bool {
	for _, d := range f.domains {
		if d.held != nil && d.held.Len() > 0 {
			return true
		}
		for _, w := range d.credits {
			if w != nil && w.Len() > 0 {
				return true
			}
		}
	}
	return false
}
