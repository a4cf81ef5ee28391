package hca

import (
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Archive writes the state of an adapter, or reads it into one that is new and of the same
// settings. mark archives the mark of a request that has not been sent whole, of which so
// many bytes are left, and checks it. The form does not depend on which adapters were made together. What they have in
// common is not in it: see [Stats.Archive] and [HCA.SetStats]. Cost: linear in the requests
// and the entries of the context cache.
func (h *HCA) Archive(a *snapshot.Archive, mark func(*snapshot.Archive, *Request)) {
	for _, until := range []*sim.Time{&h.busyUntil, &h.recvUntil} {
		snapshot.Int(a, until)
		a.Check(*until >= 0 && *until < sim.MaxTime/2, "an engine is at work until %d ps", *until)
	}
	busy := &h.shared.busy[h.number]
	for _, t := range []*sim.Time{&busy.sending, &busy.receiving} {
		snapshot.Int(a, t)
		a.Check(*t >= 0 && *t < sim.MaxTime/2, "an engine has worked for %d ps", *t)
	}
	for _, s := range []*serializer{&h.sending, &h.receiving} {
		snapshot.Int(a, &s.remainder)
		a.Check(s.remainder < h.shared.divider.rate, "the rest of a byte is %d of %d", s.remainder, h.shared.divider.rate)
	}
	h.shared.cache.archive(a, h.contexts)
	h.arbiter.archive(a, mark)
}

// archive archives the contexts of the adapter whose sets begin at first.
func (c *contextCache) archive(a *snapshot.Archive, first int32) {
	for number := range c.perAdapter {
		set, n := &c.sets[int(first)+number], 0
		for n < contextWays && set[n] != noQP {
			n++
		}
		snapshot.Int(a, &n)
		a.Check(n >= 0 && n <= contextWays, "a set of %d contexts", n)
		if a.Err() != nil {
			return
		}
		for i := range set[:n] {
			snapshot.Int(a, &set[i])
			a.Check(set[i] != noQP && setOf(set[i])&(c.perAdapter-1) == number, "the context of QP %d is in set %d", set[i], number)
		}
	}
}

// sendQueue is the requests of a QP, the first as far as it is left.
type sendQueue struct {
	qp       QP
	begun    bool
	requests []queued
}

func (s *sendQueue) archive(a *snapshot.Archive, mark func(*snapshot.Archive, *Request)) {
	snapshot.Int(a, &s.qp)
	snapshot.Bool(a, &s.begun)
	snapshot.List(a, &s.requests, func(a *snapshot.Archive, r *queued) {
		snapshot.Int(a, &r.bytes)
		a.Check(r.bytes >= 0, "a request of %d bytes", r.bytes)
		left := Request{s.qp, r.bytes, r.mark}
		mark(a, &left)
		r.mark = left.Mark
	})
	a.Check(len(s.requests) > 0 && !(s.begun && s.requests[0].bytes == 0), "QP %d has nothing to send", s.qp)
}

// archive archives the send queues: those that take turns from the present one on, and
// those that wait for an engine. Where they are in memory makes no difference.
func (a *arbiter) archive(x *snapshot.Archive, mark func(*snapshot.Archive, *Request)) {
	var turns, waiting []sendQueue
	if !x.Reading() {
		turns, waiting = a.sendQueues()
	}
	last, served, over := a.last, a.served, a.over
	snapshot.Int(x, &last)
	snapshot.Bool(x, &served)
	snapshot.Bool(x, &over)
	each := func(x *snapshot.Archive, s *sendQueue) { s.archive(x, mark) }
	snapshot.List(x, &turns, each)
	snapshot.List(x, &waiting, each)
	x.Check(len(turns) > 0 || !over, "the turn of no QP is over")
	engines := 0
	if a.crowd != nil {
		engines = a.crowd.engines
	}
	x.Check(engines == 0 || len(turns) <= engines, "%d QPs have the %d engines of an adapter", len(turns), engines)
	x.Check(len(waiting) == 0 || engines > 0 && len(turns) == engines, "%d QPs wait for an engine while %d have the %d that there are", len(waiting), len(turns), engines)
	if !x.Reading() || x.Err() != nil {
		return
	}
	for _, s := range append(turns, waiting...) {
		if x.Check(a.find(s.qp) < 0, "QP %d has two send queues", s.qp); x.Err() != nil {
			return
		}
		for _, r := range s.requests {
			a.post(&Request{QP: s.qp, Bytes: r.bytes, Mark: r.mark})
		}
		a.active[a.find(s.qp)].begun = s.begun
	}
	a.last, a.served, a.over = last, served, over
}

// sendQueues are those of the QPs that take turns, from the present one on, and of those
// that wait for an engine.
func (a *arbiter) sendQueues() (turns, waiting []sendQueue) {
	if a.current >= 0 {
		for at := a.current; ; {
			turns = append(turns, a.sendQueue(at))
			if at = a.active[at].next; at == a.current {
				break
			}
		}
	}
	if a.crowd != nil {
		for _, at := range a.crowd.waiting[a.crowd.head:] {
			waiting = append(waiting, a.sendQueue(at))
		}
	}
	return turns, waiting
}

// sendQueue is that of the QP at a position.
func (a *arbiter) sendQueue(at int32) sendQueue {
	q := &a.active[at]
	s := sendQueue{qp: q.qp, begun: q.begun, requests: []queued{{bytes: q.left, mark: q.mark}}}
	if q.last >= 0 {
		for n := a.queue[q.last].next; ; n = a.queue[n].next {
			s.requests = append(s.requests, a.queue[n])
			if n == q.last {
				break
			}
		}
	}
	return s
}

// Archive writes counters, or reads them.
func (s *Stats) Archive(a *snapshot.Archive) {
	for _, n := range []*int64{&s.Requests, &s.Bursts, &s.Bytes, &s.ContextMisses} {
		snapshot.Int(a, n)
	}
	for _, t := range []*sim.Time{&s.SendBusy, &s.RecvBusy, &s.MissTime} {
		snapshot.Int(a, t)
	}
}

// SetStats sets the counters of all adapters that were made together with h.
func (h *HCA) SetStats(s Stats) { h.shared.stats = s }

// Archive writes whose turns it is, or reads it.
func (t *LaneTurns) Archive(a *snapshot.Archive) {
	snapshot.Array(a, "lanes", t[:], archiveLaneTurn)
}

func archiveLaneTurn(a *snapshot.Archive, t *laneTurn) {
	snapshot.Int(a, &t.qp)
	snapshot.Int(a, &t.left)
	a.Check(t.left >= 0, "a turn of %d bytes", t.left)
}
