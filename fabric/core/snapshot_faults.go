package core

import (
	"slices"

	"github.com/weft-sim/weft/sim/snapshot"
)

// numberSourcePackets numbers the source packets of a network that is written: by the packets that carry
// them, then by the packets that wait for their lanes, then by the timers that run for them.
func (x *Archiver) numberSourcePackets() {
	n, f := &x.sourcePackets, x.Fabric
	n.among(int(f.Faults.SourcePackets.used.Load()) * chunkPackets)
	for _, id := range x.Packets.ids {
		n.see(int32(f.Packet(id).tag))
	}
	for t := range f.laneQueues {
		for _, q := range f.laneQueues[t].queues {
			for _, p := range q.packets[q.first:] {
				n.see(int32(p.tag))
			}
		}
	}
	for t := range f.Faults.senders {
		s := &f.Faults.senders[t]
		for _, timer := range s.timers[s.first:] {
			n.see(timer.sourcePacket)
		}
	}
}

// tag archives the tag of a packet, which in a network with faults is its source packet.
func (x *Archiver) tag(tag *uint64) {
	if x.sent != nil {
		x.sent.ArchiveTag(x.Archive, tag)
		return
	}
	if x.Fabric.Faults == nil {
		snapshot.Int(x.Archive, tag)
		return
	}
	id := int32(*tag)
	if x.sourcePackets.id(x.Archive, &id); x.Reading() {
		*tag = uint64(id)
	}
}

// sourcePacketTable archives the source packets. Domain 0 has those that are not in use, and what is
// counted; which domain has them makes no difference.
func (x *Archiver) sourcePacketTable() {
	if x.Fabric.Faults == nil {
		return
	}
	r, sourcePackets := x.Fabric.domains[0].retry, &x.Fabric.Faults.SourcePackets
	x.sourcePackets.table(x.Archive, func() { r.unused = sourcePackets.more(r.unused) }, func(id int32) { snapshot.Value(x.Archive, sourcePackets.At(id)) })
	if x.Reading() {
		r.unused = slices.DeleteFunc(r.unused, x.sourcePackets.read)
	}
}

// faults archives what is down, what is known of it, and the timers.
func (x *Archiver) faults() {
	a, f, faults := x.Archive, x.Fabric, x.Fabric.Faults
	if faults == nil {
		return
	}
	a.Mark("faults")
	snapshot.Int(a, &faults.origin)
	snapshot.Int(a, &faults.now)
	snapshot.Int(a, &faults.known)
	pending, tally, doomed := 0, f.FaultTally(), []int32(nil)
	for _, d := range f.domains {
		pending += d.retry.pending
		doomed = append(doomed, d.doomed...)
	}
	for t := range faults.senders {
		s := &faults.senders[t]
		timers := s.timers[s.first:]
		snapshot.List(a, &timers, func(a *snapshot.Archive, t *timer) { snapshot.Int(a, &t.end); x.sourcePackets.id(a, &t.sourcePacket) })
		if a.Reading() {
			*s = sender{timers: timers}
		}
	}
	if !a.Reading() {
		slices.SortFunc(doomed, func(a, b int32) int { return int(x.Packets.number[a] - x.Packets.number[b]) })
		doomed = slices.Compact(doomed)
	}
	snapshot.List(a, &doomed, x.Packets.id)
	snapshot.Int(a, &pending)
	snapshot.Value(a, &tally)
	if a.Reading() && a.Err() == nil {
		first := f.domains[0]
		first.doomed, first.retry.pending, first.retry.tally = doomed, pending, tally
		faults.down = faults.plan.Periods[faults.now].Down
		faults.learn(faults.known)
	}
}
