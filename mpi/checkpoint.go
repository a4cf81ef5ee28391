package mpi

import (
	"errors"
	"maps"
	"slices"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Checkpoint keeps the state of a run, and has it go on from one. The zero value does neither.
type Checkpoint struct {
	// From is a state that Save was given, by a run of the same program and settings with any
	// number of parts; nil: begin. It is read to its end.
	From *snapshot.Archive
	// Save, if not nil, is called now and then, and with done at the end. state writes the run,
	// until Save returns. Runs whose transport or workload cannot be written do not call it.
	Save func(done bool, state func(*snapshot.Archive) error) error
}

// Stater is a Division, or the only Transport of a run, whose state can be written.
type Stater interface {
	// Archive writes the state of all parts, between two events or, of several parts, two windows;
	// or reads it into new ones.
	Archive(a *snapshot.Archive)
	// Event archives the argument of a transport's event, after Archive, and tells its part.
	Event(a *snapshot.Archive, e *sim.Event) (part int)
}

// KeptWorkload is a workload whose state can be written.
type KeptWorkload interface {
	Workload
	// Archive writes the state of a run and its parts between two calls, or reads it into a new
	// run.
	Archive(a *snapshot.Archive)
}

// stater is what writes the network of a run; nil if nothing does.
func (m *meeting) stater() Stater {
	if s, ok := m.network.(Stater); ok {
		return s
	}
	if len(m.parts) > 1 {
		return nil
	}
	s, _ := m.parts[0].transport.(Stater)
	return s
}

// save offers the state of the run.
func (m *meeting) save(done bool) error {
	work, kept := m.work.(KeptWorkload)
	stater := m.stater()
	if m.checkpoint.Save == nil || !kept || stater == nil || m.firstFailure() != nil {
		return nil
	}
	return m.checkpoint.Save(done, func(a *snapshot.Archive) error {
		for part := range m.parts {
			m.Take(part)
		}
		m.archive(a, work, stater)
		return a.Err()
	})
}

// restore makes a new run go on from a state.
func (m *meeting) restore(a *snapshot.Archive) error {
	work, kept := m.work.(KeptWorkload)
	stater := m.stater()
	if !kept || stater == nil {
		return errors.New("the state of this program, or of its network, cannot be read")
	}
	m.archive(a, work, stater)
	return a.End()
}

// archiver writes or reads the state of a run, independent of its division into parts.
type archiver struct {
	*snapshot.Archive
	*meeting
	all *shared
}

func (m *meeting) archive(a *snapshot.Archive, work KeptWorkload, stater Stater) {
	x := &archiver{Archive: a, meeting: m, all: &m.parts[0].shared}
	x.messages()
	x.ranks()
	x.connections()
	if n := x.all.noise; n != nil {
		snapshot.Array(a, "ranks with noise of calls", n.calls, sim.ArchiveStream)
		snapshot.Array(a, "ranks with noise of computations", n.computing, sim.ArchiveStream)
	}
	if c := x.parts[0].copies; c != nil {
		snapshot.Array(a, "ranks that can copy", c.ranks, snapshot.Value)
		snapshot.Array(a, "memory domains", c.memory.domains, snapshot.Value)
	}
	x.statistics()
	stater.Archive(a)
	sim.ArchiveKernels(a, m.kernels(), func(_ *snapshot.Archive, e *sim.Event) int { return x.event(e, stater) })
	work.Archive(a)
}

// event archives an event's argument and tells its part.
func (x *archiver) event(e *sim.Event, stater Stater) (part int) {
	switch first := x.parts[0]; {
	case e.Handler == first.handler:
		snapshot.Int(x.Archive, &e.Arg)
		return int(x.all.partOf[x.all.nodeOf[e.Target]])
	case first.copies != nil && e.Handler == first.copies.memory.handler:
		snapshot.Int(x.Archive, &e.Arg)
		return int(x.all.partOf[int(e.Target)/x.all.Memory.Domains])
	}
	return stater.Event(x.Archive, e)
}

// statistics archives what the parts have counted together.
func (x *archiver) statistics() {
	x.Mark("statistics")
	var sum Stats
	for _, rt := range x.parts {
		sum.add(&rt.stats)
	}
	if snapshot.Value(x.Archive, &sum); x.Reading() {
		x.parts[0].stats = sum
	}
}

// messages archives the messages by their numbers, and the free numbers. Messages keep their
// numbers, by which the transport may serve them; so a run in one part also gives out the same
// numbers afterwards.
func (x *archiver) messages() {
	x.Mark("messages")
	var n messageNumbers
	if !x.Reading() {
		n = x.numbers()
	}
	if snapshot.Value(x.Archive, &n); x.Err() != nil {
		return
	}
	if x.Reading() {
		x.handOut(&n)
	}
	for _, id := range n.live {
		m := x.all.messages.At(id)
		snapshot.Value(x.Archive, m)
		m.shared = x.all.nodeOf[m.from] == x.all.nodeOf[m.to]
	}
}

// messageNumbers are numbers of messages: free ones, in order of use; fresh ones, not used yet; and
// live ones, ascending.
type messageNumbers struct {
	free, live []int32
	fresh      []span
}

// span is the numbers from first on and below end.
type span struct{ first, end int32 }

func (x *archiver) numbers() (n messageNumbers) {
	out := make([]bool, x.all.messages.Used())
	for _, rt := range x.parts {
		if rt.newMsg < rt.endMsg {
			n.fresh = append(n.fresh, span{rt.newMsg, rt.endMsg})
		}
		for i := rt.freeMsg - 1; i >= 0; i = x.all.messages.At(i).next - 1 {
			n.free, out[i] = append(n.free, i), true
		}
		for i := rt.newMsg; i < rt.endMsg; i++ {
			out[i] = true
		}
	}
	for i := range out {
		if !out[i] {
			n.live = append(n.live, int32(i))
		}
	}
	return n
}

// handOut gives the numbers that have been read to the parts.
func (x *archiver) handOut(n *messageNumbers) {
	all := int32(len(n.free) + len(n.live))
	for i, s := range n.fresh {
		all += s.end - s.first
		if rt := x.parts[i%len(x.parts)]; i < len(x.parts) {
			rt.newMsg, rt.endMsg = s.first, s.end
		} else {
			for id := s.first; id < s.end; id++ {
				n.free = append(n.free, id)
			}
		}
	}
	x.all.messages.Reserve(all)
	for i := len(n.free) - 1; i >= 0; i-- {
		rt := x.parts[i%len(x.parts)]
		x.all.messages.At(n.free[i]).next = rt.freeMsg
		rt.freeMsg = n.free[i] + 1
	}
}

// ranks archives the ranks: their CPUs, queues, receives and early messages.
func (x *archiver) ranks() {
	r := int32(-1)
	snapshot.Array(x.Archive, "ranks", x.all.ranks, func(a *snapshot.Archive, q *rank) {
		r++
		rt := x.parts[0].of(r)
		snapshot.Value(a, q)
		waiting := q.queue[q.head:]
		if snapshot.Value(a, &waiting); x.Reading() {
			q.queue = append(q.queue, waiting...)
		}
		x.receives(rt, q)
		x.early(rt, q)
	})
}

// postedReceive is a receive that no message has come for.
type postedReceive struct {
	source, tag, id int32
	bytes           int64
}

func (x *archiver) receives(rt *runtime, q *rank) {
	var all []postedReceive
	rt.match.items(&q.posted, func(n int32) {
		node := &rt.match.nodes[n]
		all = append(all, postedReceive{node.source, node.tag, node.item, rt.recvBytes[n]})
	})
	if snapshot.Value(x.Archive, &all); x.Reading() {
		for _, p := range all {
			rt.keepRecv(rt.match.add(&q.posted, p.source, p.tag, p.id), p.bytes)
		}
	}
}

func (x *archiver) early(rt *runtime, q *rank) {
	var all []int32
	rt.match.items(&q.early, func(n int32) { all = append(all, rt.match.nodes[n].item) })
	if snapshot.Value(x.Archive, &all); x.Reading() {
		for _, id := range all {
			m := x.all.messages.At(id)
			rt.match.add(&q.early, m.from, m.tag, id)
		}
	}
}

// connections archives the connections made on demand, the messages that wait for them, and
// connections' own receive buffers.
func (x *archiver) connections() {
	x.Mark("connections")
	for r := range int32(len(x.all.ranks)) {
		l := &x.parts[0].of(r).connect.links
		has := l.table[r] != nil
		if snapshot.Bool(x.Archive, &has); !has {
			continue
		}
		if l.table[r] == nil {
			l.make(r)
		}
		for word := range l.table[r] {
			snapshot.Uint64(x.Archive, &l.table[r][word])
		}
	}
	var waiting []int32
	if !x.Reading() {
		waiting = x.waiting()
	}
	if snapshot.Value(x.Archive, &waiting); x.Reading() {
		for _, id := range waiting {
			from, to := x.all.messages.At(id).ends()
			x.parts[0].of(from).connect.wait(id, from, to)
		}
	}
	if x.parts[0].connect.perPeer != nil {
		byPair(x, func(rt *runtime) map[uint64]*inbox { return rt.connect.perPeer }, func(a *snapshot.Archive, b **inbox) {
			if *b == nil {
				*b = &inbox{}
			}
			snapshot.Value(a, *b)
		})
	}
	byPair(x, func(rt *runtime) map[uint64][]int32 { return rt.connect.turned }, snapshot.Value)
	byPair(x, func(rt *runtime) map[uint64]sim.Time { return rt.staged }, snapshot.Value)
}

// waiting are the messages that wait for connections, those for one in their order.
func (x *archiver) waiting() (all []int32) {
	chains := map[uint64]chain{}
	for _, rt := range x.parts {
		maps.Copy(chains, rt.connect.waiting)
	}
	for _, key := range slices.Sorted(maps.Keys(chains)) {
		for next := chains[key].head; next != 0; next = x.all.messages.At(next - 1).next {
			all = append(all, next-1)
		}
	}
	return all
}

// byPair archives what parts keep of pairs of ranks, whose first is their own.
func byPair[V any](x *archiver, of func(rt *runtime) map[uint64]V, archive func(a *snapshot.Archive, v *V)) {
	all := map[uint64]V{}
	for _, rt := range x.parts {
		maps.Copy(all, of(rt))
	}
	keys := slices.Sorted(maps.Keys(all))
	snapshot.List(x.Archive, &keys, func(a *snapshot.Archive, key *uint64) {
		snapshot.Int(a, key)
		v := all[*key]
		if archive(a, &v); x.Reading() {
			of(x.parts[0].of(int32(*key >> 32)))[*key] = v
		}
	})
}
