package core

import "github.com/weft-sim/weft/sim/check"

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
	if check.On {
		f.checkAll()
	}
}

// ChannelFlits is the number of flits sent so far on every virtual channel (len =
// (ports+terminals)*vcs), modulo 2^32.
func (f *Fabric) ChannelFlits() []uint32 {
	counts := make([]uint32, len(f.OutVC))
	for i := range f.OutVC {
		counts[i] = f.OutVC[i].Flits
	}
	for _, d := range f.domains {
		if d.flitRuns != nil {
			d.flitRuns.countFlits(d, counts)
		}
	}
	return counts
}

// UsefulFlits is the number of flits delivered that were worth it.
func (f *Fabric) UsefulFlits() int64 { return f.DeliveredFlits - f.FaultTally().WastedFlits }

// FlitsInside is the number of flits in the network.
func (f *Fabric) FlitsInside() int64 {
	return f.InjectedFlits + f.ReplicatedFlits - f.DeliveredFlits - f.DiscardedFlits
}

// IdleLatency is the mean latency in cycles of packets that cross channels as
// often as given (len = (ports+terminals)*vcs) and never wait, their flits, so many in
// the mean, following each other in a flit a cycle.
func (f *Fabric) IdleLatency(channelFlits []uint32, meanFlits float64) float64 {
	var flits, cycles float64
	for ov, n := range channelFlits {
		latency := float64(f.Latency(&f.Out[ov/f.vcs]))
		if int32(ov) >= f.terminalOV0 {
			flits += float64(n)
		} else {
			latency += float64(f.Config.Switch.Cycles())
		}
		cycles += float64(n) * latency
	}
	return cycles/flits + meanFlits - 1
}
