package kinds

import (
	"cmp"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/observe"
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
	orders []orderState
	number []int32 // of flights that have not arrived, by id, + 1; where a state is written
	sent   []sentFlight
}

// sentFlight is a flight that has not arrived, by number.
type sentFlight struct {
	id    int32
	ahead bool // it is all there, and waits for earlier ones
}

// orderState is an order of flights, those that have not arrived or wait for earlier ones.
type orderState struct {
	qpPair
	from, to int32
	flights  []int32 // ids
}

// Archive implements [mpi.Stater].
func (t *fabricNetwork) Archive(a *snapshot.Archive) {
	x := &networkState{Archive: a, t: t}
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
}

// gather numbers the flights that have not arrived.
func (x *networkState) gather() {
	t := x.t
	used := slices.Repeat([]bool{true}, int(t.flights.Used()))
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
	slices.SortFunc(x.orders, func(a, b orderState) int {
		return cmp.Or(cmp.Compare(a.qpPair.from, b.qpPair.from), cmp.Compare(a.qpPair.to, b.qpPair.to))
	})
	x.number = make([]int32, len(used))
	for i := range x.orders {
		for _, id := range x.orders[i].flights {
			x.sent = append(x.sent, sentFlight{id: id, ahead: ahead[id]})
			x.number[id] = int32(len(x.sent))
		}
	}
}

// order archives the flights from one queue pair to another.
func (x *networkState) order(o *orderState) {
	a := x.Archive
	snapshot.Value(a, &o.qpPair)
	snapshot.Int(a, &o.from)
	snapshot.Int(a, &o.to)
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
		snapshot.Value(a, x.t.flights.At(s.id))
		if x.Reading() {
			x.sent = append(x.sent, s)
		}
	})
}

// file makes the orders that have been read.
func (x *networkState) file() {
	t := x.t
	for i := range x.orders {
		o := &x.orders[i]
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
		if f := t.flights.At(s.id); s.ahead {
			q := t.orders.At(f.order)
			f.next, q.ahead = q.ahead, s.id+1
		}
	}
}

// flight archives the flight of a request or a packet, by number in place of its id.
func (x *networkState) flight(id *int32) {
	number := int32(0)
	if !x.Reading() {
		number = x.number[*id] - 1
	}
	if snapshot.Int(x.Archive, &number); x.Reading() && x.Err() == nil {
		*id = x.sent[number].id
	}
}

// sender archives an adapter with its packets.
func (x *networkState) sender(node int32) {
	a, n := x.Archive, &x.t.nodes[node]
	n.HCA.Archive(a, func(_ *snapshot.Archive, r *hca.Request) {
		x.flight(&r.ID)
		r.Lane = x.t.flights.At(r.ID).lane
	})
	snapshot.Bool(a, &n.waking)
	waiting := n.packets[n.head:]
	snapshot.List(a, &waiting, func(_ *snapshot.Archive, p *outgoing) {
		snapshot.Int(a, &p.birth)
		if x.ArchiveTag(a, &p.tag); x.Reading() {
			p.dst, p.flits = x.t.at[x.t.flights.At(int32(p.tag>>32)).to], x.t.flitsOf(int64(uint32(p.tag)))
		}
	})
	if x.Reading() {
		n.packets = waiting
	}
	if l := n.lanes; l != nil {
		snapshot.Value(a, &l.arbiter)
		snapshot.Value(a, &l.turns)
		snapshot.Value(a, &l.waiting)
	}
}

// ArchiveTag implements [core.Packets]: a tag is a flight and bytes.
func (x *networkState) ArchiveTag(a *snapshot.Archive, tag *uint64) {
	id, bytes := int32(*tag>>32), int64(uint32(*tag))
	snapshot.Int(a, &bytes)
	if x.flight(&id); a.Reading() {
		*tag = uint64(id)<<32 | uint64(bytes)
	}
}

// statistics archives what the adapters of all parts have counted.
func (x *networkState) statistics() {
	var sum hca.Stats
	for _, p := range x.t.parts {
		sum.Add(p.Stats())
	}
	snapshot.Value(x.Archive, &sum)
	for _, p := range x.t.parts {
		if x.Reading() && len(p.adapters) > 0 {
			p.adapters[0].SetStats(sum)
			return
		}
	}
}

// Event implements [mpi.Stater].
func (t *fabricNetwork) Event(a *snapshot.Archive, e *sim.Event) (part int) {
	if e.Kind == messageDelivered {
		return t.state.delivered(e)
	}
	return t.PartOf(e.Target)
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
	if !a.Reading() || a.Err() != nil {
		return 0
	}
	part = x.t.PartOf(f.to)
	id := x.t.parts[part].newFlight()
	*x.t.flights.At(id) = *f
	e.Arg = int64(id)
	return part
}

// senderLanes makes an adapter choose between virtual lanes, where the fabric's terminals
// do ([core.Fabric.TerminalTables]): its sending engine takes up bursts by the same
// arbitration, as many packets of a lane at a time as its turn allows, and none of a
// lane that has packets enough between the engine and the network. So a lane that has no
// credits holds up no other.
type senderLanes struct {
	arbiter arbitration.Arbiter
	tables  *arbitration.Tables
	turns   hca.LaneTurns
	enough  int32                           // packets that wait for the network
	waiting [arbitration.MaxLanes + 1]int32 // packets that were born and have not begun to enter the network, by lane
}

// laneOf is the lane on which a node sends to another at a service level: where the routing
// leaves several open, the first that has turns.
func (t *fabricTransport) laneOf(from, to int32, level uint8) uint8 {
	n := t.nodes[from].lanes
	if n == nil {
		return 0
	}
	return uint8(bits.TrailingZeros32(t.fabric.InjectionLanes(t.at[from], t.at[to], level) & n.tables.Lanes()))
}

// serveByLane begins the next burst of a node, if its engine is free and a lane with
// requests is.
func (t *fabricTransport) serveByLane(now sim.Time, node int32) {
	n := &t.nodes[node]
	if n.waking || !n.Waiting() {
		return
	}
	if n.Busy(now) {
		t.wakeWhenFree(n, node)
		return
	}
	l := n.lanes
	ready := n.Lanes()
	for lanes := ready; lanes != 0; lanes &= lanes - 1 {
		if lane := bits.TrailingZeros32(lanes); l.waiting[lane] >= l.enough {
			ready &^= 1 << lane
		}
	}
	choice, ok := l.arbiter.Choose(ready)
	if !ok {
		return // until a lane's packets have departed
	}
	mtu := int64(n.Config().MTU)
	b, first, end := n.NextOn(now, choice.Lane, mtu*l.arbiter.Packets(choice, ready, mtu), &l.turns)
	packets := t.cut(n, *b, first, end)
	for _, p := range packets {
		choice, _ = l.arbiter.Choose(ready)
		l.arbiter.Send(choice, int64(p.flits)*t.flit)
	}
	t.fabric.WakeAt(t.at[node], packets[0].birth)
	if n.Waiting() {
		t.wakeWhenFree(n, node)
	}
}

// Departed implements [fabric.DepartureListener].
func (t *fabricTransport) Departed(terminal topology.TerminalID, tag uint64) {
	node := t.nodeAt[terminal]
	n := &t.nodes[node]
	lane := t.flights.At(int32(tag >> 32)).lane
	if n.lanes.waiting[lane]--; n.lanes.waiting[lane] == n.lanes.enough-1 && n.Waiting() && !n.waking {
		t.wakeWhenFree(n, node)
	}
}

// qpOrder is the order of the flights from one QP to another. Of a program's many pairs few
// have any at a time.
type qpOrder struct {
	sent     uint32        // by the sender
	expected atomic.Uint32 // by the receiver, who has done with the order when it is sent
	ahead    int32         // flights that are there and wait for earlier ones, + 1
}

type qpPair struct{ from, to hca.QP }

// fewOrders, which only tests change, is the least number of orders that are looked
// through for those to give up.
var fewOrders = 4096

// orderFor is the order of the flights from one QP to another.
func (t *fabricTransport) orderFor(pair qpPair) int32 {
	order, known := t.orderOf[pair]
	if known {
		return order
	}
	if len(t.orderOf) >= t.manyOrders {
		t.endOrders()
		t.manyOrders = max(fewOrders, 2*len(t.orderOf))
	}
	if last := len(t.over) - 1; last >= 0 {
		order, t.over = t.over[last], t.over[:last]
	} else {
		if t.order.first == t.order.end {
			t.order.first, t.order.end = t.orders.Take(256)
		}
		order = t.order.first
		t.order.first++
	}
	q := t.orders.At(order)
	q.sent, q.ahead = 0, 0
	q.expected.Store(0)
	t.orderOf[pair] = order
	return order
}

// endOrders gives up the orders of which no flight is left; their next one begins them anew.
// The receiver's part may be at work on the last of one, which is then given up another
// time.
func (t *fabricTransport) endOrders() {
	for pair, order := range t.orderOf {
		if q := t.orders.At(order); q.expected.Load() == q.sent {
			delete(t.orderOf, pair)
			t.over = append(t.over, order)
		}
	}
}

// passages are the ways of the last packets of flights to a part, for timelines.
type passages struct {
	of    map[int32]passage // by flight; nil: nobody asks
	told  passage           // of the one that the sink is being told of
	parts observe.Division  // of a packet
}

// passage is how the time of a flight's last packet divides.
type passage struct {
	mpi.Passage
	last int64 // bytes of the packet
}

// follow has a tracer of all packets tell of them. Call it before the parts are made.
func (t *fabricNetwork) follow(tracer *observe.Tracer) {
	t.tracer = tracer
	tracer.OnPacket = func(p *observe.PacketTrace) { t.parts[t.partOf[t.nodeAt[p.Dst]]].passes(p) }
}

// passes notes the way of a packet, if it is the last of its flight.
func (t *fabricTransport) passes(p *observe.PacketTrace) {
	id, bytes := int32(p.Tag>>32), int64(uint32(p.Tag))
	if t.flights.At(id).missing > bytes {
		return
	}
	d := &t.passages.parts
	t.tracer.Divide(p, d)
	cycles := func(n int64) sim.Time { return sim.Time(n) * t.clock }
	w := passage{mpi.Passage{Serialisation: cycles(d.Serial), Propagation: cycles(d.Way) + t.adapter.Delay(bytes) + t.adapter.RecvLatency}, bytes}
	wait := func(channel int, n int64) {
		if n > 0 {
			w.Waits = append(w.Waits, mpi.CableWait{Cable: int32(channel), Time: cycles(n)})
		}
	}
	wait(t.fabric.Graph().NumPorts()+int(p.Src), d.Source)
	for i, n := range d.Waits {
		wait(int(p.Path[i].Out), n)
	}
	t.passages.of[id] = w
}

// held notes that a flight was complete when that before it was.
func (w *passages) held(id, before int32) {
	if w.of != nil {
		w.of[id] = w.of[before]
	}
}

// tells is called before the sink is told of a flight.
func (w *passages) tells(id int32) {
	if w.of != nil {
		w.told = w.of[id]
		delete(w.of, id)
	}
}

// Passage implements [mpi.Divider]. Bytes before those of the last packet went through the
// sending adapter one after the other.
func (t *fabricTransport) Passage(bytes int64) mpi.Passage {
	w := t.passages.told
	if bytes > w.last {
		w.Serialisation += t.adapter.TimeOf(bytes) - t.adapter.TimeOf(w.last)
	}
	return w.Passage
}
