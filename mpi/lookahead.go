package mpi

import (
	"unsafe"

	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/mem"
)

// A message touches a dozen cache lines: of ranks, adapters, their caches of
// contexts, and its own. Where all of them together do not fit into the
// processor's caches, the runtime and the transport ask for those of events that
// are about to come (see sim.Looker). Events carry what tells their addresses.

// manyRanks, which only tests change, is from how many ranks on that is done.
var manyRanks = 2048

func (rt *runtime) looksAhead() bool { return mem.Prefetching && len(rt.ranks) >= manyRanks }

// messageAndPeer is the argument of events of a message: its number and, for the
// sake of looking ahead, the rank at the other end.
func messageAndPeer(id, peer int32) int64 { return int64(id)<<32 | int64(peer) }

// LookAhead implements sim.Looker.
func (rt *runtime) LookAhead(e *sim.Event) {
	r, id, peer := e.Target, int32(e.Arg>>32), int32(e.Arg)
	switch {
	case id < 0: // a computation
		rank := unsafe.Pointer(&rt.ranks[r])
		mem.Prefetch4(rank, unsafe.Add(rank, 64), rt.progress(r), unsafe.Pointer(&rt.queues[shortQueue*r]))
	case e.Kind <= evPost || e.Kind == evRelay:
		rt.expectTransfer(id, r, peer)
	default:
		rt.expectArrival(id, r, 0)
	}
}

// progress is where the workload keeps the state of a rank, if that is known.
func (rt *runtime) progress(r int32) unsafe.Pointer {
	if rt.schedule == nil {
		return unsafe.Pointer(rt)
	}
	return unsafe.Pointer(&rt.schedule.ranks[r])
}

// expectArrival asks for what the arrival of message id at rank r will touch; asks is
// that of its transfer.
func (rt *runtime) expectArrival(id, r, asks int32) {
	rank := unsafe.Pointer(&rt.ranks[r])
	mem.Prefetch4(rank, unsafe.Add(rank, 64), rt.progress(r), unsafe.Pointer(rt.messages.At(id)))
	if asks != 0 {
		rt.connect.links.expect(r, rt.connect.peer(asks-1))
		return
	}
	if len(rt.parts) == 1 { // otherwise r is not the number of the rank in its part
		mem.Prefetch(unsafe.Pointer(&rt.match.nodes[rt.firstOwn+r*ownNodes]))
	}
}

// expectTransfer asks for what sending a message touches.
func (rt *runtime) expectTransfer(id, from, to int32) {
	rank := unsafe.Pointer(&rt.ranks[from])
	mem.Prefetch4(rank, unsafe.Add(rank, 64), rt.progress(from), unsafe.Pointer(rt.messages.At(id)))
	a, b := rt.nodeOf[from], rt.nodeOf[to]
	if a == b || rt.expecter == nil {
		return
	}
	if rt.connect.dynamic {
		rt.connect.links.expect(from, rt.connect.peer(to))
	}
	qp, peer := rt.connect.pair(from, to)
	rt.expecter.expect(a, b, qp, peer)
}

// expecter is a transport that can ask for what a transfer will touch.
type expecter interface {
	// lookAhead begins it; arrival is to ask for what a delivery touches.
	lookAhead(arrival func(id, process, asks int32))
	expect(from, to int32, qp, peer hca.QP)
}

func (t *loggpTransport) lookAhead(arrival func(id, process, asks int32)) {
	t.arrival = arrival
	t.ahead = hca.NewAhead(t.nodes)
	t.kernel.LookAhead(t.handler)
}

func (t *loggpTransport) expect(from, to int32, qp, peer hca.QP) { t.ahead.Posted(from, qp, to, peer) }

// LookAhead implements sim.Looker.
func (t *loggpTransport) LookAhead(e *sim.Event) {
	if e.Kind == loggpDelivered {
		t.arrival(e.Target, int32(e.Arg), int32(e.Arg>>32))
		return
	}
	own, to, peer := uint16(e.Arg>>48), uint32(e.Arg>>16), uint16(e.Arg)
	t.ahead.Served(e.Target, int(own), int32(to), int(peer))
}

// comingBurst tells what the next burst of an adapter will touch besides it: the
// numbers of the set of contexts there, of the node that it goes to and of the set
// there. It is 0 without looking ahead, for which alone it is.
func (t *loggpTransport) comingBurst(h *hca.HCA) int64 {
	if t.arrival == nil {
		return 0
	}
	qp, to := h.Coming()
	return int64(t.ahead.SetOf(qp))<<48 | int64(to.To)<<16 | int64(uint16(t.ahead.SetOf(to.Peer)))
}
