package core

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// ArchiveWithModel writes the state of a network with a host model between two calls of
// [Fabric.Advance], with what a watchdog has seen, or reads it into one that is attached and
// has not run. When it is written, the host model has heard of all that has arrived, and has
// done what it has to before the next cycle. Its own state it archives beside.
func (f *Fabric) ArchiveWithModel(a *snapshot.Archive, watch *Watchdog, packets Packets) {
	if f.mayArchive(a) {
		watch.archive(f.archiveSent(a, packets))
	}
}

// lastWork archives when something has happened last, for [Fabric.Rewind].
func (x *Archiver) lastWork() {
	if x.Fabric.hostModel == nil {
		return
	}
	last := x.Fabric.lastWork()
	snapshot.Int(x.Archive, &last)
	if x.Reading() {
		for _, d := range x.Fabric.domains {
			d.worked = last
		}
	}
}

// takeWakes fills m with the wakes that have become void, each once: a network that
// has a host model looks at these cycles all the same, which [Fabric.Rewind] knows. The
// others are the terminals'.
func (m *moving) takeWakes(f *Fabric) {
	if f.hostModel == nil {
		return
	}
	m.wakes = collect(f, func(d *Domain) []*sim.Wheel[int32] { return []*sim.Wheel[int32]{d.wakes} })
	m.wakes = slices.DeleteFunc(m.wakes, func(e filed[int32]) bool { return f.Terminals[e.item].wake == e.cycle })
	slices.SortFunc(m.wakes, func(a, b filed[int32]) int {
		return cmp.Or(cmp.Compare(a.cycle, b.cycle), cmp.Compare(a.item, b.item))
	})
	m.wakes = slices.Compact(m.wakes)
}
