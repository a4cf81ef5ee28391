package core

import (
	"slices"

	"github.com/weft-sim/weft/sim/snapshot"
)

// Records that name packets, by numbers that do not depend on the division. All others are archived
// by their types (snapshot.Value).

// queue archives a queue with its flits or, if it is empty, what it keeps of a packet whose later
// flits are to come.
func (x *Archiver) queue(number int32) {
	d, v := x.Fabric.ofQueue(number), &x.Fabric.Queues[number]
	snapshot.Int(x.Archive, &v.Out)
	snapshot.Int(x.Archive, &v.Ready)
	empty, flits := v.Count == 0, x.flits[:0]
	if empty && v.Out >= 0 {
		flits = append(flits, v.Queued)
	}
	d.EachQueued(number, func(q *Queued) { flits = append(flits, *q) })
	x.flits = flits
	snapshot.Bool(x.Archive, &empty)
	snapshot.List(x.Archive, &flits, func(a *snapshot.Archive, q *Queued) {
		x.packet(&q.Packet)
		snapshot.Value(a, q)
	})
	if x.Reading() {
		if d.refill(number, flits); empty {
			v.Count = 0
		}
	}
}

func (x *Archiver) terminal(te *terminal) {
	sends := te.Packet >= 0
	if snapshot.Bool(x.Archive, &sends); sends {
		if !x.Reading() && te.flags&begun == 0 {
			x.Fabric.domains[0].unsent(te.Packet)
		}
		x.Packets.id(x.Archive, &te.Packet)
	} else {
		te.Packet = -1
	}
	snapshot.Value(x.Archive, te)
}

func (x *Archiver) flit(e *Flit) {
	x.packet(&e.Packet)
	snapshot.Value(x.Archive, e)
}

func archiveLanePort(a *snapshot.Archive, p *lanePort) {
	snapshot.Value(a, &p.arbiter)
	snapshot.Int(a, &p.holder)
}

func (x *Archiver) laneQueues(l *laneQueues) {
	snapshot.Value(x.Archive, &l.arbiter)
	snapshot.List(x.Archive, &l.queues, func(_ *snapshot.Archive, q *laneQueue) { x.laneQueue(q) })
	snapshot.Int(x.Archive, &l.waiting)
}

// laneQueue archives the packets that wait.
func (x *Archiver) laneQueue(q *laneQueue) {
	waiting := q.packets[q.first:]
	snapshot.Int(x.Archive, &q.lanes)
	snapshot.List(x.Archive, &waiting, func(a *snapshot.Archive, p *lanePacket) {
		x.tag(&p.tag)
		snapshot.Value(a, p)
	})
	if x.Reading() {
		q.packets = waiting
	}
}

// archivePortCredits archives credits that are coming back; schedules that are complete do not
// count.
func archivePortCredits(a *snapshot.Archive, p *portCredits) {
	if p.ov < 0 && !a.Reading() {
		p.flitSchedule = flitSchedule{ov: -1}
	}
	snapshot.Value(a, p)
}

// Of multicast replication: with flits as the unit, copies of a packet share its record, which
// counts them; with packets, every copy that has left a switch has its own. Tables are settings.

// replications archives what switches do with the multicast packets in front of queues.
func (x *Archiver) replications() {
	a, m := x.Archive, x.Fabric.multicast
	if m == nil {
		return
	}
	a.Mark("multicast")
	for q := range m.under {
		own := x.Fabric.ofQueue(int32(q)).multicast
		begun := m.under[q] != 0
		if snapshot.Bool(a, &begun); !begun {
			m.under[q] = 0
			continue
		}
		if a.Reading() {
			own.work = append(own.work, replication{})
			m.under[q] = int32(len(own.work))
		}
		snapshot.Value(a, &own.work[m.under[q]-1])
	}
	snapshot.Array(a, "switches", m.turn, snapshot.Int)
	snapshot.Array(a, "ports", m.grant, snapshot.Int)
	snapshot.Array(a, "ports", m.prefer, snapshot.Bool)
	snapshot.Array(a, "words of queues", m.asleep, snapshot.Int)
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

// sourcePacketTable archives the source packets. Domain 0 keeps unused ones and counts; any domain
// could.
func (x *Archiver) sourcePacketTable() {
	if x.Fabric.Faults == nil {
		return
	}
	r, sourcePackets := x.Fabric.domains[0].retry, x.Fabric.SourcePackets
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

// table archives the number of records, and each by its id. more makes the next ids' records,
// before the first is read and whenever they are used up.
func (n *numbers) table(a *snapshot.Archive, more func(), record func(id int32)) {
	a.Mark(n.what)
	snapshot.Int(a, &n.Count)
	n.Each(a, func(id int32) {
		if a.Reading() && id%chunkPackets == 0 {
			more()
		}
		record(id)
	})
}

// Each visits the ids of all records, by number.
func (n *numbers) Each(a *snapshot.Archive, visit func(id int32)) {
	for i := 0; i < n.Count && a.Err() == nil; i++ {
		id := int32(i)
		if !a.Reading() {
			id = n.ids[i]
		}
		visit(id)
	}
}

// read tells whether a state that has been read has a record of an id.
func (n *numbers) read(id int32) bool { return int(id) < n.Count }

// id archives the number of a record in place of its id.
func (n *numbers) id(a *snapshot.Archive, id *int32) {
	number := *id
	if !a.Reading() {
		if n.number[*id] == 0 {
			n.ids = append(n.ids, *id)
			n.Count = len(n.ids)
			n.number[*id] = int32(n.Count)
		}
		number = n.number[*id] - 1
	}
	if snapshot.Int(a, &number); a.Reading() {
		*id = number
	}
}

// idOrNone is id for what may name none (-1) or a record that is gone, which becomes -1.
func (n *numbers) idOrNone(a *snapshot.Archive, id *int32) {
	none := !a.Reading() && (*id < 0 || n.number[*id] == 0)
	if snapshot.Bool(a, &none); none {
		*id = -1
		return
	}
	n.id(a, id)
}

// observed archives what observers have seen, and what is noted for them.
func (x *Archiver) observed() {
	a, f := x.Archive, x.Fabric
	a.Mark("observers")
	is := f.observer != nil
	snapshot.Bool(a, &is)
	if x.Check(is == (f.observer != nil), "one of the state's run and this one is observed (blame, traces), and the other is not"); a.Err() != nil || !is {
		return
	}
	if d := f.domains[0]; d.Unit != nil && d.Unit.Followed != nil {
		snapshot.Array(a, "queues", d.Unit.Followed.passing, snapshot.Value)
	}
	f.observer.Archive(x)
}

// packet archives a packet by its number in place of its id, with its flags.
func (x *Archiver) packet(p *int32) {
	id, flags := *p>>PacketBits, *p&(1<<PacketBits-1)
	x.Packets.id(x.Archive, &id)
	if snapshot.Int(x.Archive, &flags); x.Reading() {
		*p = id<<PacketBits | flags
	}
}

// unsent clears what a packet's record keeps from its last packet, until the head leaves.
func (d *Domain) unsent(id int32) {
	d.Packet(id).Wait = 0
	if d.Unit != nil {
		*d.inflow(id) = inflow{flits: d.Packet(id).Flits}
	}
}

// packetTable archives the records of packets.
func (x *Archiver) packetTable() {
	d := x.Fabric.domains[0]
	if !x.Reading() && x.Packets.Count != x.Fabric.InFlight() {
		d.broken("%d packets are found of %d", x.Packets.Count, x.Fabric.InFlight())
	}
	x.Packets.table(x.Archive, d.addChunk, x.record)
	if x.Reading() {
		d.packetFree = slices.DeleteFunc(d.packetFree, x.Packets.read)
	}
}

func (x *Archiver) record(id int32) {
	d := x.Fabric.domains[0]
	p := d.Packet(id)
	x.tag(&p.tag)
	snapshot.Value(x.Archive, p)
	if x.Fabric.labels != nil {
		snapshot.Value(x.Archive, x.Fabric.labels.Open(id))
	}
	if x.Fabric.unit != nil {
		snapshot.Value(x.Archive, d.inflow(id))
	}
}

// lastWork archives when something has happened last, for the end of a run.
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
