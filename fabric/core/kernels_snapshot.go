package core

import (
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// stopTicks is the number of ticks after which a single kernel is stopped for its models
// to be asked, which may want to write the state: a program of few and large messages has
// hardly any events.
const stopTicks = 1 << 12

// Packets is what a source knows of packets that it has handed over, where their tags name
// records of its own.
type Packets interface {
	// ArchiveTag archives the tag of a packet, once for each.
	ArchiveTag(a *snapshot.Archive, tag *uint64)
}

// Archive writes the state of a network that kernels drive, as [Fabric.AppendState] does,
// or reads it into one that is attached and has not run. It is written by the models of
// [Fabric.RunKernels] when that is asked whether to end, at the time of the kernel that has
// come furthest, after each domain's models have taken what others had for them. It is
// read before the kernels are, which go on at or before the next cycle.
func (f *Fabric) Archive(a *snapshot.Archive, now sim.Time, packets Packets) {
	if !f.mayArchive(a) {
		return
	}
	if !a.Reading() {
		f.meet(now)
	}
	f.archiveSent(a, packets)
	f.written = true
}

// mayArchive fails where a state cannot be read into a network.
func (f *Fabric) mayArchive(a *snapshot.Archive) bool {
	if a.Reading() && (f.source == nil || f.cycle >= 0) {
		a.Fail("a state is restored into a fabric that is attached and has not run")
	}
	return a.Err() == nil
}

// meet brings all domains to the last cycle that each of them is through with, where kernels
// have come to a time, and lets all have what was sent to them.
func (f *Fabric) meet(now sim.Time) {
	f.deliverHanded()
	clock := f.Config.Fabric.Clock
	f.cycle = max(f.cycle, int64((now+clock-1)/clock)-1)
	for _, d := range f.domains {
		f.cycle = max(f.cycle, d.Cycle)
	}
	for _, d := range f.domains {
		d.Cycle = f.cycle
	}
	f.gatherObservers()
	f.count()
}
