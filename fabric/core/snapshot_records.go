package core

import (
	"math/bits"

	"github.com/weft-sim/weft/sim/snapshot"
)

// Records that name packets: by numbers, which do not depend on how the network is divided.
// All others are archived by their types (snapshot.Value).

// queue archives a queue with the flits in it.
func (x *Archiver) queue(number int32) {
	a, f := x.Archive, x.Fabric
	d, v := f.ofQueue(number), &f.Queues[number]
	count := v.Count
	snapshot.Int(a, &count)
	snapshot.Int(a, &v.Out)
	snapshot.Int(a, &v.Ready)
	x.queued(&v.Queued, count > 0 || v.Out >= 0)
	if !a.Reading() {
		first := true
		d.EachQueued(v, func(q *Queued) {
			if !first {
				x.queued(q, true)
			}
			first = false
		})
		return
	}
	v.Count, v.Last = min(count, 1), 0
	for i := int32(1); i < count && a.Err() == nil; i++ {
		var q Queued
		x.queued(&q, true)
		d.append(v, &Flit{Packet: q.Packet, dst: q.dst, State: q.State})
		d.Pool[v.Last-1].Hop = q.Hop
		v.Count++
	}
}

// queued archives a flit in a queue, or, where there is no packet, what the last one has
// left.
func (x *Archiver) queued(q *Queued, present bool) {
	if present {
		x.packet(&q.Packet)
	} else if x.Reading() {
		q.Packet = 0
	}
	snapshot.Value(x.Archive, q)
}

func (x *Archiver) terminal(te *terminal) {
	x.Packets.idOrNone(x.Archive, &te.Packet)
	snapshot.Value(x.Archive, te)
}

func (x *Archiver) flit(e *Flit) {
	x.packet(&e.Packet)
	snapshot.Value(x.Archive, e)
}

func (x *Archiver) packetRecord(p *Packet) {
	x.tag(&p.tag)
	snapshot.Value(x.Archive, p)
}

func archiveLanePort(a *snapshot.Archive, p *lanePort) {
	p.arbiter.Archive(a)
	snapshot.Int(a, &p.holder)
}

func (x *Archiver) laneQueues(l *laneQueues) {
	l.arbiter.Archive(x.Archive)
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

// archivePortCredits archives credits that are coming back; those that have all come leave
// nothing that counts.
func archivePortCredits(a *snapshot.Archive, p *portCredits) {
	if p.ov < 0 && !a.Reading() {
		p.flitSchedule = flitSchedule{ov: -1}
	}
	snapshot.Value(a, p)
}

// underWay visits the queues from which packets as the unit cross.
func (x *Archiver) underWay(visit func(queue int32)) {
	for word := range x.Fabric.unit.streams {
		for left := x.Fabric.unit.streams[word].under; left != 0 && x.Err() == nil; left &= left - 1 {
			visit(int32(word<<6 + bits.TrailingZeros64(left)))
		}
	}
}
