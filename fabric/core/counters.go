package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/check"
)

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

// InFlight is the number of packets between injection and delivery.
func (f *Fabric) InFlight() int {
	n := f.packets.ids()
	for _, d := range f.domains {
		n -= len(d.packetFree)
	}
	return n
}

// OldestBirth is the earliest birth among the packets in the network; Never if
// it is empty.
func (f *Fabric) OldestBirth() int64 {
	free := make([]bool, f.packets.ids())
	for _, d := range f.domains {
		for _, id := range d.packetFree {
			free[id] = true
		}
	}
	oldest := f.oldestInLanes()
	if f.Faults != nil {
		oldest = min(oldest, f.SourcePackets.oldestBirth())
	}
	for id := range free {
		if !free[id] {
			oldest = min(oldest, f.Packet(int32(id)).Birth)
		}
	}
	return oldest
}

// CreditsUnderWay tells whether any credit has not come back.
func (f *Fabric) CreditsUnderWay() bool {
	for _, d := range f.domains {
		if d.held != nil && d.held.Len() > 0 || d.Unit != nil && d.Unit.creditsUnderWay(d) {
			return true
		}
		if d.credits[0].Len() > 0 {
			return true
		}
	}
	return false
}

// Settled tells whether all packets that the source has handed over have been
// delivered or given up, and no copy of one is in the network.
func (f *Fabric) Settled() bool {
	if f.InFlight() > 0 || f.oldestInLanes() < fabric.Never {
		return false
	}
	if f.Faults == nil {
		return true
	}
	pending := 0
	for _, d := range f.domains {
		pending += d.retry.pending
		if d.behind != nil && d.behind.next(d.Cycle) < fabric.Never { // discarded flits are waited for as if they were there
			return false
		}
	}
	return pending == 0
}

// FaultTally is what has become of packets so far; zero without faults.
func (f *Fabric) FaultTally() fabric.FaultTally {
	tally := fabric.FaultTally{}
	for _, d := range f.domains {
		if d.retry != nil {
			tally.Add(d.retry.tally)
		}
	}
	return tally
}
