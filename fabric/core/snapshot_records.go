package core

import (
	"math/bits"

	"github.com/weft-sim/weft/sim/snapshot"
)

// Records that name packets: by numbers, which do not depend on how the network is divided.
// All others are archived by their types (snapshot.Value).

// queue archives a queue with the flits in it.
func (x *archiver) queue(number int32) {
	a, f := x.Archive, x.f
	d, v := f.ofQueue(number), &f.queues[number]
	count := v.count
	snapshot.Int(a, &count)
	snapshot.Int(a, &v.out)
	snapshot.Int(a, &v.ready)
	x.queued(&v.queued, count > 0 || v.out >= 0)
	if !a.Reading() {
		first := true
		d.eachQueued(v, func(q *queued) {
			if !first {
				x.queued(q, true)
			}
			first = false
		})
		return
	}
	v.count, v.last = min(count, 1), 0
	for i := int32(1); i < count && a.Err() == nil; i++ {
		var q queued
		x.queued(&q, true)
		d.append(v, &flit{packet: q.packet, dst: q.dst, state: q.state})
		d.pool[v.last-1].hop = q.hop
		v.count++
	}
}

// queued archives a flit in a queue, or, where there is no packet, what the last one has
// left.
func (x *archiver) queued(q *queued, present bool) {
	if present {
		x.packet(&q.packet)
	} else if x.Reading() {
		q.packet = 0
	}
	snapshot.Value(x.Archive, q)
}

func (x *archiver) terminal(te *terminal) {
	x.packets.idOrNone(x.Archive, &te.packet)
	snapshot.Value(x.Archive, te)
}

func (x *archiver) flit(e *flit) {
	x.packet(&e.packet)
	snapshot.Value(x.Archive, e)
}

func (x *archiver) packetRecord(p *packet) {
	x.tag(&p.tag)
	snapshot.Value(x.Archive, p)
}

func archiveLanePort(a *snapshot.Archive, p *lanePort) {
	p.arbiter.Archive(a)
	snapshot.Int(a, &p.holder)
}

func (x *archiver) laneQueues(l *laneQueues) {
	l.arbiter.Archive(x.Archive)
	snapshot.List(x.Archive, &l.queues, func(_ *snapshot.Archive, q *laneQueue) { x.laneQueue(q) })
	snapshot.Int(x.Archive, &l.waiting)
}

// laneQueue archives the packets that wait.
func (x *archiver) laneQueue(q *laneQueue) {
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
func (x *archiver) underWay(visit func(queue int32)) {
	for word := range x.f.unit.streams {
		for left := x.f.unit.streams[word].under; left != 0 && x.Err() == nil; left &= left - 1 {
			visit(int32(word<<6 + bits.TrailingZeros64(left)))
		}
	}
}
