package kinds

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// networkState writes or reads the state of a [fabricNetwork]. Flights are numbered by their
// queue pairs and the order in which they were sent, so that nothing depends on how nodes
// are divided into parts.
type networkState struct {
	*snapshot.Archive
	t      *fabricNetwork
	known  mpi.Known
	orders []orderState
	number []int32 // of flights that have not arrived, by id, + 1; where a state is written
	sent   []sentFlight
	waking []bool // by node: its event has not been read
}

// sentFlight is a flight that has not arrived, by number, with what has been found of it where a
// state is read.
type sentFlight struct {
	id     int32
	ahead  bool  // it is all there, and waits for earlier ones
	found  int64 // bytes
	pieces int   // requests and packets
	empty  int   // those of no bytes
}

// orderState is an order of flights, those that have not arrived or wait for earlier ones.
type orderState struct {
	qpPair
	from, to int32
	flights  []int32 // ids
}

// Archive implements [mpi.Stater].
func (t *fabricNetwork) Archive(a *snapshot.Archive, known mpi.Known) {
	x := &networkState{Archive: a, t: t, known: known}
	t.state = x
	a.Mark("adapters")
	if !a.Reading() {
		x.gather()
	}
	snapshot.List(a, &x.orders, func(_ *snapshot.Archive, o *orderState) { x.order(o) })
	if a.Reading() && a.Err() == nil {
		x.file()
	}
	for node := range t.nodes {
		x.sender(int32(node))
	}
	x.statistics()
	last := t.over() - 1
	snapshot.Int(a, &last)
	t.parts[0].last = last
	now := sim.Time(0)
	for _, p := range t.parts {
		now = max(now, p.kernel.Now())
	}
	t.fabric.Archive(a, now, x)
	if a.Reading() && a.Err() == nil {
		x.whole()
	}
}

// gather numbers the flights that have not arrived.
func (x *networkState) gather() {
	t := x.t
	used := make([]bool, t.flights.Used())
	for i := range used {
		used[i] = true
	}
	byOrder, ahead := map[int32]int{}, map[int32]bool{}
	for _, p := range t.parts {
		for _, id := range p.free {
			used[id] = false
		}
		for pair, order := range p.orderOf {
			q := t.orders.At(order)
			expected := q.expected.Load()
			if q.sent == expected {
				continue
			}
			byOrder[order] = len(x.orders)
			x.orders = append(x.orders, orderState{qpPair: pair, flights: make([]int32, q.sent-expected)})
			for next := q.ahead; next != 0; next = t.flights.At(next - 1).next {
				ahead[next-1] = true
			}
		}
	}
	for id := range t.flights.Used() {
		f := t.flights.At(id)
		if !used[id] || f.order < 0 {
			continue
		}
		o := &x.orders[byOrder[f.order]]
		o.from, o.to, o.flights[f.number-t.orders.At(f.order).expected.Load()] = f.from, f.to, id
	}
	slices.SortFunc(x.orders, func(a, b orderState) int { return comparePairs(a.qpPair, b.qpPair) })
	x.number = make([]int32, len(used))
	for i := range x.orders {
		for _, id := range x.orders[i].flights {
			x.sent = append(x.sent, sentFlight{id: id, ahead: ahead[id]})
			x.number[id] = int32(len(x.sent))
		}
	}
}

func comparePairs(a, b qpPair) int {
	return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
}

// order archives the flights from one queue pair to another.
func (x *networkState) order(o *orderState) {
	a := x.Archive
	snapshot.Int(a, &o.qpPair.from)
	snapshot.Int(a, &o.qpPair.to)
	snapshot.Int(a, &o.from)
	snapshot.Int(a, &o.to)
	x.Check(x.isNode(o.from) && x.isNode(o.to) && o.from != o.to, "a message goes from node %d to node %d", o.from, o.to)
	snapshot.List(a, &o.flights, func(_ *snapshot.Archive, id *int32) {
		s := sentFlight{}
		if x.Reading() {
			*id = x.t.parts[0].newFlight()
			*x.t.flights.At(*id) = flight{from: o.from, to: o.to, peer: o.qpPair.to}
			s.id = *id
		} else {
			s = x.sent[x.number[*id]-1]
		}
		snapshot.Bool(a, &s.ahead)
		x.flight(x.t.flights.At(s.id), s.ahead)
		if x.Reading() {
			x.sent = append(x.sent, s)
		}
	})
	x.Check(len(o.flights) > 0, "no message is under way on queue pair %d", o.qpPair.from)
}

// flight archives a flight that has not arrived, or waits for earlier ones.
func (x *networkState) flight(f *flight, ahead bool) {
	a := x.Archive
	snapshot.Int(a, &f.id)
	snapshot.Int(a, &f.process)
	snapshot.Int(a, &f.lane)
	snapshot.Bool(a, &f.quiet)
	if ahead {
		snapshot.Int(a, &f.done)
	} else {
		snapshot.Int(a, &f.missing)
	}
	x.Check(f.lane < 32 && f.missing >= 0 && f.done >= 0, "message %d: lane %d, %d bytes are missing", f.id, f.lane, f.missing)
	if x.Reading() && x.Err() == nil {
		x.Check(x.known.Transfer(f.id, f.to, f.quiet) && x.known.Process(f.process, f.to), "message %d is under way to process %d on node %d", f.id, f.process, f.to)
	}
}

// file makes the orders that have been read.
func (x *networkState) file() {
	t := x.t
	for i := range x.orders {
		o := &x.orders[i]
		if x.Check(i == 0 || comparePairs(x.orders[i-1].qpPair, o.qpPair) < 0, "queue pair %d has two orders", o.qpPair.from); x.Err() != nil {
			return
		}
		p := t.parts[t.PartOf(o.from)]
		number := p.orderFor(o.qpPair)
		q := t.orders.At(number)
		q.sent = uint32(len(o.flights))
		for k, id := range o.flights {
			f := t.flights.At(id)
			f.order, f.number = number, uint32(k)
		}
	}
	for i := range x.sent {
		s := &x.sent[i]
		f := t.flights.At(s.id)
		if x.Check(!s.ahead || f.number > 0, "message %d waits for no other", f.id); s.ahead {
			q := t.orders.At(f.order)
			f.next, q.ahead = q.ahead, s.id+1
		}
	}
}

// piece archives the flight of a request or a packet, by number in place of its id, and
// notes that so many bytes of it have been found.
func (x *networkState) piece(id *int32, bytes int64) {
	number := int32(0)
	if !x.Reading() {
		number = x.number[*id] - 1
	}
	snapshot.Int(x.Archive, &number)
	x.Check(number >= 0 && int(number) < len(x.sent), "message %d of %d", number, len(x.sent))
	if !x.Reading() || x.Err() != nil {
		return
	}
	s := &x.sent[number]
	*id = s.id
	s.pieces++
	if s.found += bytes; bytes == 0 {
		s.empty++
	}
	missing := x.t.flights.At(s.id).missing
	x.Check(bytes >= 0 && bytes <= missing && !s.ahead && s.found <= missing, "message %d is under way with more than its bytes", x.t.flights.At(s.id).id)
}

// whole checks that all of every flight has been found.
func (x *networkState) whole() {
	for i := range x.sent {
		s := &x.sent[i]
		missing := x.t.flights.At(s.id).missing
		x.Check(s.found == missing && s.ahead == (s.pieces == 0) && (s.empty == 0 || s.pieces == 1), "message %d is under way in %d pieces with %d of %d bytes", i, s.pieces, s.found, missing)
	}
}

// sender archives an adapter with its packets.
func (x *networkState) sender(node int32) {
	a, n := x.Archive, &x.t.nodes[node]
	n.HCA.Archive(a, func(_ *snapshot.Archive, r *hca.Request) {
		if x.piece(&r.ID, r.Bytes); x.Err() == nil {
			f := x.t.flights.At(r.ID)
			r.Lane = f.lane
			x.Check(f.from == node, "adapter %d sends what is another's", node)
		}
	})
	snapshot.Bool(a, &n.waking)
	if x.Reading() {
		x.waking = append(x.waking, n.waking)
	}
	waiting := n.packets[n.head:]
	snapshot.List(a, &waiting, func(_ *snapshot.Archive, p *outgoing) { x.outgoing(node, p) })
	if x.Reading() {
		n.packets = waiting
	}
	if l := n.lanes; l != nil {
		l.arbiter.Archive(a)
		l.turns.Archive(a)
		snapshot.Array(a, "lanes", l.waiting[:], snapshot.Int)
	}
}

// outgoing archives a packet that is on its way to the network.
func (x *networkState) outgoing(node int32, p *outgoing) {
	snapshot.Int(x.Archive, &p.birth)
	x.Check(p.birth >= 0 && p.birth < fabric.Never, "a packet is born in cycle %d", p.birth)
	x.ArchiveTag(x.Archive, &p.tag)
	if x.Reading() && x.Err() == nil {
		f := x.t.flights.At(int32(p.tag >> 32))
		p.dst, p.flits = x.t.at[f.to], x.t.flitsOf(int64(uint32(p.tag)))
		x.Check(f.from == node, "adapter %d has a packet of another's", node)
	}
}

// ArchiveTag implements [core.Packets]: a tag is a flight and bytes.
func (x *networkState) ArchiveTag(a *snapshot.Archive, tag *uint64) {
	id, bytes := int32(*tag>>32), int64(uint32(*tag))
	snapshot.Int(a, &bytes)
	a.Check(bytes >= 0 && bytes <= int64(x.t.adapter.MTU), "a packet of %d bytes", bytes)
	x.piece(&id, bytes)
	if a.Reading() {
		*tag = uint64(id)<<32 | uint64(bytes)
	}
}

// Sent implements [core.Packets].
func (x *networkState) Sent(tag uint64, src, dst topology.TerminalID, flits int32) bool {
	f := x.t.flights.At(int32(tag >> 32))
	return src == x.t.at[f.from] && dst == x.t.at[f.to] && flits == x.t.flitsOf(int64(uint32(tag)))
}

// statistics archives what the adapters of all parts have counted.
func (x *networkState) statistics() {
	var sum hca.Stats
	for _, p := range x.t.parts {
		sum.Add(p.Stats())
	}
	sum.Archive(x.Archive)
	for _, p := range x.t.parts {
		if x.Reading() && len(p.adapters) > 0 {
			p.adapters[0].SetStats(sum)
			return
		}
	}
}

func (x *networkState) isNode(node int32) bool { return node >= 0 && int(node) < len(x.t.nodes) }

// Event implements [mpi.Stater].
func (t *fabricNetwork) Event(a *snapshot.Archive, e *sim.Event) (part int) {
	x := t.state
	switch e.Kind {
	case engineFree:
		ok := x.isNode(e.Target) && (!a.Reading() || x.waking[e.Target])
		if a.Check(ok, "the engine of adapter %d gets free", e.Target); !ok {
			return 0
		}
		if a.Reading() {
			x.waking[e.Target] = false // there is one
		}
		return t.PartOf(e.Target)
	case messageDelivered:
		return x.delivered(e)
	}
	a.Fail("an event %d of a transport", e.Kind)
	return 0
}

// delivered archives a flight that has arrived, with the event by which its sink is told.
func (x *networkState) delivered(e *sim.Event) (part int) {
	a := x.Archive
	f := &flight{order: -1, process: e.Target}
	if !a.Reading() {
		f = x.t.flights.At(int32(e.Arg))
	}
	snapshot.Int(a, &f.id)
	snapshot.Int(a, &f.to)
	snapshot.Bool(a, &f.quiet)
	if !a.Reading() {
		return 0
	}
	ok := a.Err() == nil && x.isNode(f.to) && x.known.Transfer(f.id, f.to, f.quiet) && x.known.Process(f.process, f.to)
	if a.Check(ok, "message %d arrives at process %d", f.id, f.process); !ok {
		return 0
	}
	part = x.t.PartOf(f.to)
	id := x.t.parts[part].newFlight()
	*x.t.flights.At(id) = *f
	e.Arg = int64(id)
	return part
}
