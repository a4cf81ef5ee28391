package core

import "github.com/weft-sim/weft/fabric"

// This file tells what is still in the network.

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
		oldest = min(oldest, f.Faults.SourcePackets.oldestBirth())
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
		if d.flitRuns != nil && (len(d.flitRuns.credits) > 0 || d.flitRuns.creditNews.Len() > 0) {
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
		if d.behind != nil { // discarded flits are waited for as if they were there
			if _, any := d.behind.next(d.Cycle); any {
				return false
			}
		}
	}
	return pending == 0
}

// Idle tells whether nothing is going to happen any more.
func (f *Fabric) Idle() bool {
	for _, d := range f.domains {
		if _, more := d.nextArrival(); more || d.anyActive() || d.sent < fabric.Never {
			return false
		}
	}
	return true
}
