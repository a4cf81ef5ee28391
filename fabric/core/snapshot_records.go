package core

import (
	"math/bits"

	"github.com/weft-sim/weft/sim/snapshot"
)

// This file names the fields of each record of the state. TestStatesAreWhole finds those
// that are missing.

// queue archives a queue with the flits in it.
func (x *archiver) queue(number int32) {
	a, f := x.Archive, x.f
	d, v := f.ofQueue(number), &f.queues[number]
	count := v.count
	snapshot.Int(a, &count)
	snapshot.Int(a, &v.out)
	snapshot.Int(a, &v.ready)
	if count < 0 || count > f.buffer { // a message takes memory, also where none is needed
		x.Check(false, "queue %d holds %d flits", number, count)
	}
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
	a := x.Archive
	if present {
		x.packet(&q.packet)
	} else if a.Reading() {
		q.packet = 0
	}
	snapshot.Int(a, &q.dst)
	snapshot.Int(a, &q.state)
	snapshot.Int(a, &q.hop)
}

func (x *archiver) terminal(te *terminal) {
	a := x.Archive
	x.packets.idOrNone(a, &te.packet)
	snapshot.Int(a, &te.wake)
	snapshot.Int(a, &te.dst)
	snapshot.Int(a, &te.left)
	snapshot.Int(a, &te.born)
	snapshot.Int(a, &te.state)
	snapshot.Int(a, &te.allowed)
	snapshot.Int(a, &te.vc)
	snapshot.Int(a, &te.flags)
}

func (x *archiver) flit(e *flit) {
	a := x.Archive
	snapshot.Int(a, &e.queue)
	x.packet(&e.packet)
	snapshot.Int(a, &e.dst)
	snapshot.Int(a, &e.state)
}

func (x *archiver) packetRecord(p *packet) {
	a := x.Archive
	snapshot.Int(a, &p.birth)
	x.tag(&p.tag)
	snapshot.Int(a, &p.wait)
	snapshot.Int(a, &p.src)
	snapshot.Int(a, &p.flits)
	snapshot.Int(a, &p.copies)
	if p.flits <= 0 || !x.someone(int32(p.src)) {
		x.Check(false, "a packet of %d flits from terminal %d", p.flits, p.src)
	}
}

func archiveTrain(a *snapshot.Archive, t *train) {
	snapshot.Int(a, &t.head)
	snapshot.Int(a, &t.tail)
	snapshot.Int(a, &t.flits)
	snapshot.Int(a, &t.pace)
	snapshot.Int(a, &t.slow)
}

func archiveMasks(a *snapshot.Archive, m *masks) {
	snapshot.Int(a, &m.route)
	snapshot.Int(a, &m.va)
	snapshot.Int(a, &m.sa)
	snapshot.Int(a, &m.next)
}

func archiveOutVC(a *snapshot.Archive, o *outVC) {
	snapshot.Int(a, &o.credits)
	snapshot.Int(a, &o.owner)
	snapshot.Int(a, &o.waiting)
	snapshot.Int(a, &o.flits)
}

func archiveOutPort(a *snapshot.Archive, o *outPort) {
	snapshot.Int(a, &o.nextFree)
	snapshot.Int(a, &o.until)
	snapshot.Int(a, &o.waiters)
	snapshot.Int(a, &o.free)
	snapshot.Int(a, &o.grant)
}

func archiveInPort(a *snapshot.Archive, in *inPort) {
	snapshot.Int(a, &in.nextCredit)
	snapshot.Int(a, &in.until)
	snapshot.Int(a, &in.by)
	snapshot.Int(a, &in.accept)
	snapshot.Int(a, &in.vc)
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
	snapshot.List(x.Archive, &waiting, func(_ *snapshot.Archive, p *lanePacket) { x.lanePacket(p) })
	if x.Reading() {
		q.packets = waiting
	}
}

func (x *archiver) lanePacket(p *lanePacket) {
	a := x.Archive
	snapshot.Int(a, &p.birth)
	x.tag(&p.tag)
	snapshot.Int(a, &p.dst)
	snapshot.Int(a, &p.flits)
	snapshot.Int(a, &p.state)
}

func archiveUpcoming(a *snapshot.Archive, u *upcoming) {
	snapshot.Int(a, &u.packets)
	snapshot.Int(a, &u.left)
	snapshot.Int(a, &u.out)
	snapshot.Int(a, &u.ready)
	snapshot.Int(a, &u.third)
	snapshot.Int(a, &u.asleep)
}

func archiveProbe(a *snapshot.Archive, p *probe) {
	snapshot.Int(a, &p.sent)
	snapshot.Int(a, &p.ahead)
	snapshot.Int(a, &p.trip)
	snapshot.Int(a, &p.idle)
}

func archiveHeldPort(a *snapshot.Archive, p *heldPort) {
	snapshot.Int(a, &p.inputWaiters)
	snapshot.Int(a, &p.outputWaiters)
	snapshot.Bool(a, &p.input)
	snapshot.Bool(a, &p.output)
}

func archiveHeldCredit(a *snapshot.Archive, h *heldCredit) {
	snapshot.Int(a, &h.port)
	snapshot.Int(a, &h.upstream)
}

func archiveRamp(a *snapshot.Archive, r *ramp) {
	snapshot.Array(a, "lines", r.at[:], snapshot.Int)
	snapshot.Array(a, "lines", r.every[:], snapshot.Int)
	snapshot.Int(a, &r.lines)
	snapshot.Int(a, &r.flits)
	snapshot.Int(a, &r.done)
	snapshot.Int(a, &r.ov)
	snapshot.Int(a, &r.port)
}

// archivePortCredits archives credits that are coming back; those that have all come leave
// nothing that counts.
func archivePortCredits(a *snapshot.Archive, p *portCredits) {
	none := p.ov < 0
	if snapshot.Bool(a, &none); none {
		p.ramp = ramp{ov: -1}
	} else {
		archiveRamp(a, &p.ramp)
	}
	snapshot.Int(a, &p.roomAt)
}

func archiveStreams(a *snapshot.Archive, s *streams) {
	snapshot.Int(a, &s.under)
	snapshot.Int(a, &s.tail)
}

func (x *archiver) flow(a *snapshot.Archive, w *flow) {
	archiveRamp(a, &w.ramp)
	if x.f.faults != nil { // which alone ask whose flits these are
		x.packets.idOrNone(a, &w.packet)
	}
	snapshot.Int(a, &w.kind)
	snapshot.Int(a, &w.decided)
}

// flights archives what discarding packets needs: how those are under way that are.
func (x *archiver) flights() {
	a, f, u := x.Archive, x.f, x.f.unit
	if u.flights == nil {
		return
	}
	for word := range u.streams {
		for left := u.streams[word].under; left != 0; left &= left - 1 {
			queue := int32(word<<6 + bits.TrailingZeros64(left))
			x.Check(x.queueOf(queue), "flits cross from queue %d", queue)
			if a.Err() != nil {
				return
			}
			x.flight(&u.flights[queue])
		}
	}
	for t := range f.terminals {
		if te := &f.terminals[t]; te.packet >= 0 && te.flags&begun != 0 {
			snapshot.Int(a, &u.starts[t])
		}
	}
}

func (x *archiver) flight(w *flight) {
	a := x.Archive
	x.packets.id(a, &w.packet)
	archiveTrain(a, &w.in)
	snapshot.Int(a, &w.granted)
	snapshot.Int(a, &w.transit.crossed)
	snapshot.Int(a, &w.first)
	snapshot.Int(a, &w.last)
	snapshot.Int(a, &w.window)
	snapshot.Int(a, &w.lov)
	snapshot.Int(a, &w.decided)
	snapshot.Bool(a, &w.late)
	snapshot.Int(a, &w.pace)
	archiveRamp(a, &w.crossing)
	archiveRamp(a, &w.leaving)
	snapshot.Int(a, &w.credits)
}

func archiveEvent(a *snapshot.Archive, e *event) {
	snapshot.Int(a, &e.number)
	snapshot.Int(a, &e.port)
	snapshot.Int(a, &e.kind)
}
