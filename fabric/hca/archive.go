package hca

import "github.com/weft-sim/weft/sim/snapshot"

// Archive writes the state of an adapter, or reads it into one that is new and of the same
// settings. mark archives the mark of a request that has not been sent whole, of which so
// many bytes are left. The form does not depend on which adapters were made together. What
// they have in common is not in it: see [Stats] and [HCA.SetStats]. Cost: linear in the
// requests and the entries of the context cache.
func (h *HCA) Archive(a *snapshot.Archive, mark func(*snapshot.Archive, *Request)) {
	snapshot.Int(a, &h.busyUntil)
	snapshot.Int(a, &h.recvUntil)
	snapshot.Int(a, &h.departed)
	snapshot.Value(a, &h.shared.busy[h.number])
	snapshot.Value(a, &h.sending)
	snapshot.Value(a, &h.receiving)
	cache := &h.shared.cache
	snapshot.Array(a, "sets of contexts", cache.sets[h.contexts:][:cache.perAdapter], archiveContexts)
	h.arbiter.archive(a, mark)
}

// archiveContexts archives a set without its empty ways.
func archiveContexts(a *snapshot.Archive, set *contextSet) {
	n := 0
	for n < contextWays && set[n] != noQP {
		n++
	}
	snapshot.Int(a, &n)
	for i := range set[:min(n, contextWays)] {
		snapshot.Int(a, &set[i])
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
		left := Request{s.qp, r.bytes, r.mark}
		mark(a, &left)
		r.mark = left.Mark
	})
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
	if !x.Reading() || x.Err() != nil {
		return
	}
	for _, s := range append(turns, waiting...) {
		for _, r := range s.requests {
			a.post(&Request{QP: s.qp, Bytes: r.bytes, Mark: r.mark})
		}
		a.active[a.find(s.qp)].begun = s.begun
	}
	a.last, a.served, a.over = last, served, over
}

// sendQueues lists the send queues of the QPs that take turns, from the present one on, and of
// the QPs that wait for an engine.
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
		for i := range a.crowd.waiting.Len() {
			waiting = append(waiting, a.sendQueue(*a.crowd.waiting.At(i)))
		}
	}
	return turns, waiting
}

// sendQueue is the send queue of the QP at a position of the table of active QPs.
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

// SetStats sets the counters of all adapters that were made together with h.
func (h *HCA) SetStats(s Stats) { h.shared.stats = s }
