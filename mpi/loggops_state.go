package mpi

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/weft-sim/weft/sim/snapshot"
)

// loggopsArchiver writes or reads the state of a LogGOPS machine in parts, between two
// events of one or two windows of several. Operations are archived where they are: in lists,
// in groups that wait, in the queue. So each is in one place, and the form depends neither
// on the parts nor on where an operation is in memory.
type loggopsArchiver struct {
	*snapshot.Archive
	whole    *loggopsMachine
	parts    []*loggopsMachine
	numbers  int64 // given so far
	underway []Underway
	parked   map[int64]parkedOp // by number, while a state is read
	divided  bool               // a message by rendezvous goes from part to part
}

// parkedOp is an operation in a group.
type parkedOp struct {
	of   *loggopsMachine
	op   int32
	kind Kind
}

// archive archives the run of a workload. It returns errRendezvous where a state cannot be
// read by so many parts.
func (x *loggopsArchiver) archive(work KeptWorkload) error {
	x.Mark("machine")
	snapshot.Int(x.Archive, &x.numbers)
	x.Check(x.numbers >= 0 && x.numbers < ofWindow, "%d events", x.numbers)
	var messages, events int64
	for _, m := range x.parts {
		messages += m.result.Messages
		events += m.result.Events
	}
	snapshot.Int(x.Archive, &messages)
	snapshot.Int(x.Archive, &events)
	if x.Reading() {
		x.parked = map[int64]parkedOp{}
		x.parts[0].result.Messages, x.parts[0].result.Events = messages, events
		for _, m := range x.parts {
			m.forget(m.keep(0, &Op{})) // for events that stand for nothing any more
		}
	}
	snapshot.Array(x.Archive, "CPUs and NICs", x.whole.clocks, snapshot.Int)
	for _, t := range x.whole.clocks {
		x.Check(t >= 0 && t <= 2*farFuture, "a CPU or NIC is free at %d", t)
	}
	x.lists()
	x.groups()
	x.events()
	work.Archive(x.Archive, x.underway)
	if x.divided && x.Err() == nil {
		return errRendezvous
	}
	return x.End()
}

// save offers the state of a machine that is no part of one.
func (m *loggopsMachine) save(done bool, checkpoint Checkpoint) error {
	return saveLogGOPS(m, []*loggopsMachine{m}, &m.numbers, done, checkpoint)
}

// save offers the state of a machine in parts, between two windows.
func (run *partsRun) save(done bool) error {
	return saveLogGOPS(run.whole, run.parts, &run.numbers, done, run.checkpoint)
}

func saveLogGOPS(whole *loggopsMachine, parts []*loggopsMachine, numbers *int64, done bool, checkpoint Checkpoint) error {
	work, kept := whole.work.(KeptWorkload)
	if checkpoint.Save == nil || !kept {
		return nil
	}
	return checkpoint.Save(done, func() ([]byte, error) {
		x := &loggopsArchiver{Archive: snapshot.Writer(), whole: whole, parts: parts, numbers: *numbers}
		err := x.archive(work)
		return x.Bytes(), err
	})
}

// restore makes a new machine go on from a state.
func (m *loggopsMachine) restore(state []byte) error {
	return restoreLogGOPS(m, []*loggopsMachine{m}, &m.numbers, state)
}

// restore makes a new machine in parts go on from a state.
func (run *partsRun) restore(state []byte) error {
	return restoreLogGOPS(run.whole, run.parts, &run.numbers, state)
}

func restoreLogGOPS(whole *loggopsMachine, parts []*loggopsMachine, numbers *int64, state []byte) error {
	work, kept := whole.work.(KeptWorkload)
	if !kept {
		return errors.New("the state of this program cannot be read")
	}
	x := &loggopsArchiver{Archive: snapshot.Reader(state), whole: whole, parts: parts}
	err := x.archive(work)
	*numbers = x.numbers
	return err
}

// of is the part of a rank.
func (x *loggopsArchiver) of(rank int32) *loggopsMachine {
	if len(x.parts) == 1 {
		return x.parts[0]
	}
	return x.parts[x.parts[0].window.partOf(rank)]
}

// lists archives the posted receives and the early messages of every rank.
func (x *loggopsArchiver) lists() {
	x.Mark("lists")
	r := int32(-1)
	snapshot.Array(x.Archive, "ranks", x.whole.lists, func(_ *snapshot.Archive, l *rankLists) {
		r++
		x.list(r, &l.posted, Recv)
		x.list(r, &l.early, Send)
	})
}

func (x *loggopsArchiver) list(r int32, l *matchList, kind Kind) {
	m := x.of(r)
	var all []liveOp
	m.match.items(l, func(n int32) { all = append(all, m.live[m.match.nodes[n].item]) })
	snapshot.List(x.Archive, &all, func(_ *snapshot.Archive, op *liveOp) {
		x.operation(op)
		op.number = -1 // no event is to come
	})
	if !x.Reading() || x.Err() != nil {
		return
	}
	for i := range all {
		op := &all[i]
		ok := op.Kind == kind && (kind == Recv && op.rank == r || kind == Send && op.Peer == r)
		if x.Check(ok, "rank %d has %v of rank %d", r, op.Op, op.rank); !ok {
			return
		}
		source := op.Peer
		if kind == Send {
			source = op.rank
		}
		m.match.add(l, source, op.Tag, x.settle(m, op))
	}
}

// operation archives one that is under way.
func (x *loggopsArchiver) operation(op *liveOp) {
	a := x.Archive
	op.Op.archive(a)
	snapshot.Int(a, &op.rank)
	snapshot.Bool(a, &op.done)
	if !x.Reading() || x.Err() != nil {
		return
	}
	isRank := func(r int32) bool { return r >= 0 && int(r) < len(x.whole.lists) }
	x.Check(isRank(op.rank) && (op.Kind == Calc || isRank(op.Peer) || op.Kind == Recv && op.Peer == Any), "an operation %v of rank %d", op.Op, op.rank)
	x.Check(int32(op.CPU) < x.whole.cpus && int32(op.NIC) < x.whole.nics, "an operation on CPU %d and NIC %d", op.CPU, op.NIC)
	x.Check(op.Ready <= 2*farFuture && (!op.done || op.Kind == Send), "an operation that is ready at %d", op.Ready)
	x.underway = append(x.underway, Underway{op.rank, op.ID, op.done})
}

// number archives that of an event.
func (x *loggopsArchiver) number(n *int64) {
	snapshot.Int(x.Archive, n)
	x.Check(*n >= 0 && *n < x.numbers, "an event of number %d", *n)
}

// settle gives an operation that has been read to a part.
func (x *loggopsArchiver) settle(m *loggopsMachine, op *liveOp) int32 {
	i := m.keep(op.rank, &op.Op)
	m.live[i].number, m.live[i].done = op.number, op.done
	x.divided = x.divided || op.Kind == Send && !op.done && m != x.of(op.rank)
	return i
}

// at is the part in which an event of an operation happens.
func (x *loggopsArchiver) at(op *liveOp, kind Kind) *loggopsMachine {
	if kind == arrival {
		return x.of(op.Peer)
	}
	return x.of(op.rank)
}

// waitingGroup is a group that is not empty, with its operations in the order of their
// numbers.
type waitingGroup struct {
	key  int64
	kind Kind
	ops  []liveOp
}

// groups archives the operations that wait for a CPU or a NIC.
func (x *loggopsArchiver) groups() {
	x.Mark("groups")
	var all []waitingGroup
	if !x.Reading() {
		all = x.waiting()
	}
	snapshot.List(x.Archive, &all, func(a *snapshot.Archive, g *waitingGroup) {
		snapshot.Int(a, &g.kind)
		snapshot.List(a, &g.ops, func(_ *snapshot.Archive, op *liveOp) {
			x.operation(op)
			x.number(&op.number)
		})
		x.Check(!x.whole.queue.anyTime && len(g.ops) > 0, "%d operations wait for a CPU", len(g.ops))
	})
	if !x.Reading() {
		return
	}
	for i := range all {
		if x.group(&all[i]); x.Err() != nil {
			return
		}
	}
}

// group files the operations of a group that has been read.
func (x *loggopsArchiver) group(w *waitingGroup) {
	var group *parkGroup
	for i := range w.ops {
		op := &w.ops[i]
		known := x.parked[op.number].of != nil
		if x.Check(!known && x.happens(op, w.kind), "%v of rank %d waits as %d", op.Op, op.rank, w.kind); x.Err() != nil {
			return
		}
		m, rank := x.at(op, w.kind), op.rank
		if w.kind == arrival {
			rank = op.Peer
		}
		g := m.parkGroup(w.kind, rank, op.CPU, op.NIC)
		fits := group == nil && len(g.heap) == 0 || g == group && w.ops[i-1].number < op.number
		if x.Check(fits, "%v of rank %d waits in another group", op.Op, op.rank); !fits {
			return
		}
		n := x.settle(m, op)
		g.heap.push(timedEvent{0, op.number, n, w.kind, true})
		x.parked[op.number] = parkedOp{m, n, w.kind}
		if group == nil {
			group, g.first = g, op.number
		}
	}
}

// happens tells whether an operation can have an event of a kind that waits for a CPU.
func (x *loggopsArchiver) happens(op *liveOp, kind Kind) bool {
	switch kind {
	case arrival:
		return op.Kind == Send
	case Send, Calc:
		return op.Kind == kind && !op.done
	}
	return false
}

// waiting are the groups that are not empty.
func (x *loggopsArchiver) waiting() (all []waitingGroup) {
	add := func(m *loggopsMachine, key int64, g *parkGroup) {
		if len(g.heap) == 0 {
			return
		}
		w := waitingGroup{key: key, kind: g.heap[0].kind}
		for i := range g.heap {
			w.ops = append(w.ops, m.live[g.heap[i].op])
		}
		slices.SortFunc(w.ops, func(a, b liveOp) int { return cmp.Compare(a.number, b.number) })
		all = append(all, w)
	}
	for slot := range x.whole.groups { // with one CPU and NIC
		add(x.of(int32(slot/3)), int64(slot), &x.whole.groups[slot])
	}
	for _, m := range x.parts {
		for _, key := range slices.Sorted(maps.Keys(m.sparse)) {
			add(m, key, m.sparse[key])
		}
	}
	slices.SortFunc(all, func(a, b waitingGroup) int { return cmp.Compare(a.key, b.key) })
	return all
}
