package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// archive writes all that the network is going to depend on between two cycles, beside its graph,
// settings, routing and seed, and its source; or reads it into a network of the same that is
// attached and has not simulated a cycle, with any number of threads. It does not depend on how
// the network is divided among threads: packets are numbered, and what is on its way is listed, by
// where they are. What observers have seen (blame, traces) is part of it, and what a host model
// keeps in the network. A state that is read is trusted: what is none of such a network breaks
// invariants later on. Cost: linear in ports*vcs, the terminals and the flits in flight.
func (f *Fabric) archive(a *snapshot.Archive, sent Packets) *Archiver {
	x := &Archiver{Archive: a, Fabric: f, Packets: numbers{what: "packets", number: make([]int32, f.packets.ids())}, sourcePackets: numbers{what: "source packets"}, sent: sent}
	if f.Faults != nil {
		x.sourcePackets.number = make([]int32, f.SourcePackets.ids())
	}
	if d := f.domains[0]; f.unit != nil && !a.Reading() {
		d.Unit.upToDate(d)
	}
	a.Mark("fabric")
	snapshot.Int(a, &f.cycle)
	snapshot.Value(a, &f.Counters)
	x.lastWork()
	x.hardware()
	a.Mark("on the way")
	moving := newMoving(f)
	for _, kind := range moving {
		if !a.Reading() {
			kind.take(f)
		}
		kind.archive(x)
	}
	x.faults()
	x.packetTable() // when all that names packets has
	x.sourcePacketTable()
	x.observed()
	if a.Reading() && a.Err() == nil {
		x.settleIn(moving)
	}
	return x
}

// hardware archives what is in arrays that domains share.
func (x *Archiver) hardware() {
	a, f := x.Archive, x.Fabric
	a.Mark("switches")
	for q := range f.Queues {
		x.queue(int32(q))
	}
	snapshot.Array(a, "words of queues", f.Masks, snapshot.Value)
	snapshot.Array(a, "output virtual channels", f.OutVC, snapshot.Value)
	snapshot.Array(a, "output ports", f.Out, snapshot.Value)
	snapshot.Array(a, "input ports", f.in, snapshot.Value)
	snapshot.Array(a, "queues", f.waitNext, snapshot.Int)
	snapshot.Array(a, "queues", f.acceptOV, snapshot.Int)
	snapshot.Array(a, "queues whose stages overlap", f.Upcoming, snapshot.Value)
	snapshot.Array(a, "switches", f.streams, sim.ArchiveStream)
	snapshot.Array(a, "output virtual channels", f.crossed, snapshot.Int)
	snapshot.Array(a, "ports that mark", f.marked, snapshot.Int)
	snapshot.Array(a, "ports with arbitration", f.lanes, archiveLanePort)
	for _, own := range f.allocators {
		own.Archive(a)
	}
	if f.memory != nil {
		a.Mark("memory")
		f.memory.Archive(a)
	}
	if f.sensing != nil {
		snapshot.Array(a, "output virtual channels that are sensed", f.sensing.probes, snapshot.Value)
		snapshot.Array(a, "ports that are sensed", f.sensing.witness, snapshot.Int)
	}
	if f.hold != nil {
		snapshot.Array(a, "ports that can be held", f.hold.ports, snapshot.Value)
	}
	if f.unit != nil {
		snapshot.Array(a, "ends of channels", f.unit.credits, archivePortCredits)
		snapshot.Array(a, "words of queues", f.unit.streams, snapshot.Value)
		snapshot.Array(a, "ports that are watched", f.unit.flows, snapshot.Value)
	}
	a.Mark("terminals")
	for t := range f.Terminals {
		x.terminal(&f.Terminals[t])
	}
	snapshot.Array(a, "terminals", f.departures, sim.ArchiveStream)
	snapshot.Array(a, "terminals with arbitration", f.laneQueues, func(_ *snapshot.Archive, l *laneQueues) { x.laneQueues(l) })
	x.replications()
}

// settleIn finishes what has been read: what follows from the rest, and what belongs to
// domains.
func (x *Archiver) settleIn(moving []wheelKind) {
	f := x.Fabric
	for q := range f.Upcoming {
		if f.Masks[q>>6].second>>(q&63)&1 != 0 {
			pool := &f.ofQueue(int32(q)).Pool
			f.Upcoming[q].head, _ = pool.headFrom(pool.Second(&f.Queues[q]))
		}
	}
	for _, d := range f.domains {
		d.Cycle = f.cycle
		d.Steps.set(max(0, d.Cycle))
		d.Counters = Counters{}
		d.woken = d.woken[:0]
		d.singleVCs = false // decisions that have been read may allow several
		clear(d.active)
		d.makeWheels(f)
		for _, kind := range moving {
			kind.begin(d)
		}
	}
	f.join()
	f.domains[0].Counters = f.Counters
	for word := range f.Masks {
		if m := &f.Masks[word]; m.va|m.sa != 0 {
			f.domainAt(f.WordSwitch[word]).activate(int32(word))
		}
	}
	for t := range f.Terminals {
		if at := f.Terminals[t].wake; at < fabric.Never {
			*f.owner(topology.TerminalID(t)).wakes.Place(at) = int32(t)
		}
	}
	for _, kind := range moving {
		kind.file()
	}
	f.checkAt = 0
}
