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

func (s *sendQueue) archive(a *snapshot.Archive, mark func(*snapshot.Archive, *Request)) {
	snapshot.Int(a, &s.qp)
	snapshot.Bool(a, &s.begun)
	snapshot.List(a, &s.requests, func(a *snapshot.Archive, r *Request) {
		r.QP = s.qp
		snapshot.Int(a, &r.Bytes)
		mark(a, r)
	})
}

// archive archives the send queues: those that take turns from the present one on, and
// those that wait for an engine.
func (a *arbiter) archive(x *snapshot.Archive, mark func(*snapshot.Archive, *Request)) {
	snapshot.Int(x, &a.last)
	snapshot.Bool(x, &a.served)
	snapshot.Bool(x, &a.over)
	each := func(x *snapshot.Archive, q **sendQueue) {
		if x.Reading() {
			*q = &sendQueue{}
		}
		(*q).archive(x, mark)
		a.enter(*q)
	}
	snapshot.List(x, &a.ring, each)
	snapshot.List(x, &a.waiting, each)
}

// SetStats sets the counters of all adapters that were made together with h.
func (h *HCA) SetStats(s Stats) { h.shared.stats = s }
