package mpi

import (
	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// ranks archives the ranks: their CPUs, queues, receives and early messages.
func (x *archiver) ranks() {
	x.Mark("ranks")
	n := len(x.all.ranks)
	if x.Reading() {
		x.steps, x.moves = make([]uint8, n), make([]uint8, n)
	}
	r := int32(-1)
	snapshot.Array(x.Archive, "ranks", x.all.ranks, func(_ *snapshot.Archive, q *rank) {
		r++
		x.rank(r, q)
	})
}

func (x *archiver) rank(r int32, q *rank) {
	a, rt := x.Archive, x.all.parts[0].of(r)
	snapshot.Int(a, &q.cpu)
	x.Check(q.cpu >= 0 && q.cpu <= latest, "the CPU of rank %d is free at %d ps", r, int64(q.cpu))
	snapshot.Int(a, &q.busy)
	snapshot.Int(a, &q.copying)
	x.Check(0 <= q.copying && q.copying <= q.busy && q.busy < latest, "the CPU of rank %d has worked for %d ps, %d ps with copies", r, int64(q.busy), int64(q.copying))
	snapshot.Bool(a, &q.stepping)
	snapshot.Int(a, &q.connected)
	x.Check(q.connected >= 0, "rank %d has %d connections", r, q.connected)
	snapshot.Int(a, &q.posting)
	if x.Reading() && q.posting != -1 && x.see(q.posting, posting) {
		m := x.all.messages.At(q.posting)
		starts := m.stage <= stageRTS || m.protocol == collectives.Direct
		x.Check(m.from == r && starts, "rank %d posts a message of rank %d in stage %d", r, m.from, m.stage)
	}
	waiting := q.queue[q.head:]
	snapshot.List(a, &waiting, func(_ *snapshot.Archive, op *Op) { x.operation(r, op) })
	if x.Reading() {
		q.queue = append(q.queue, waiting...)
	}
	x.receives(r, rt, q)
	x.early(r, rt, q)
	x.inbox(rt, &q.inbox, q.cpu)
}

// operation archives one that waits for the CPU of r.
func (x *archiver) operation(r int32, op *Op) {
	op.archive(x.Archive)
	if !x.Reading() || x.Err() != nil {
		return
	}
	if op.Kind != Calc {
		x.Check(x.isRank(op.Peer) || op.Kind == Recv && op.Peer == Any, "rank %d has an operation with rank %d", r, op.Peer)
	}
	s := x.parts[0].schedule
	x.Check(!op.Copy || op.Kind == Calc && s != nil && s.costs.Copy > 0, "rank %d has a copy", r)
	x.Check(op.Ready <= int64(latest), "an operation that is ready at %d ps", op.Ready)
	x.underway = append(x.underway, Underway{r, op.ID, false})
}

func (op *Op) archive(a *snapshot.Archive) {
	snapshot.Int(a, &op.Size)
	snapshot.Int(a, &op.Ready)
	snapshot.Int(a, &op.ID)
	snapshot.Int(a, &op.Peer)
	snapshot.Int(a, &op.Tag)
	snapshot.Int(a, &op.Kind)
	snapshot.Int(a, &op.Protocol)
	snapshot.Int(a, &op.Segment)
	snapshot.Bool(a, &op.Control)
	snapshot.Bool(a, &op.Copy)
	snapshot.Int(a, &op.CPU)
	snapshot.Int(a, &op.NIC)
	a.Check(op.Kind <= Calc && op.Size >= 0 && op.Ready >= 0 && op.Protocol <= collectives.Direct && op.Segment <= collectives.Out, "an operation %+v", *op)
}

// postedReceive is a receive that no message has come for.
type postedReceive struct {
	source, tag, id int32
	bytes           int64
}

func (x *archiver) receives(r int32, rt *runtime, q *rank) {
	var all []postedReceive
	rt.match.items(&q.posted, func(n int32) {
		node := &rt.match.nodes[n]
		all = append(all, postedReceive{node.source, node.tag, node.item, rt.recvBytes[n]})
	})
	snapshot.List(x.Archive, &all, func(a *snapshot.Archive, p *postedReceive) {
		snapshot.Int(a, &p.source)
		snapshot.Int(a, &p.tag)
		snapshot.Int(a, &p.id)
		snapshot.Int(a, &p.bytes)
		x.Check(p.source == Any || x.isRank(p.source), "rank %d receives from rank %d", r, p.source)
	})
	if !x.Reading() {
		return
	}
	for _, p := range all {
		rt.keepRecv(rt.match.add(&q.posted, p.source, p.tag, p.id), p.bytes)
		x.underway = append(x.underway, Underway{r, p.id, false})
	}
}

// early archives the messages that no receive was there for.
func (x *archiver) early(r int32, rt *runtime, q *rank) {
	var all []int32
	rt.match.items(&q.early, func(n int32) { all = append(all, rt.match.nodes[n].item) })
	snapshot.List(x.Archive, &all, snapshot.Int)
	if !x.Reading() {
		return
	}
	for _, id := range all {
		if !x.see(id, delivered) {
			return
		}
		m := x.all.messages.At(id)
		x.Check(m.to == r && (m.stage <= stageRTS || m.protocol == collectives.Direct), "a message to rank %d in stage %d is early at rank %d", m.to, m.stage, r)
		rt.match.add(&q.early, m.from, m.tag, id)
	}
}

// inbox archives until when receive buffers are in use, of a rank whose CPU is free from a
// time on.
func (x *archiver) inbox(rt *runtime, b *inbox, cpu sim.Time) {
	until := rt.connect.times(b)
	snapshot.List(x.Archive, &until, snapshot.Int)
	if !x.Reading() {
		return
	}
	for i, at := range until {
		x.Check(at >= 0 && at <= cpu && (i == 0 || at >= until[i-1]), "a receive buffer is in use until %d ps", int64(at))
		rt.connect.use(b, at)
	}
}

// times are those until when the buffers of an inbox are in use, in ascending order.
func (c *connector) times(b *inbox) (until []sim.Time) {
	if b.count > 1 {
		q := &c.earlier[b.earlier-1]
		until = append(until, q.until[q.head:]...)
	}
	if b.count > 0 {
		until = append(until, b.last)
	}
	return until
}
