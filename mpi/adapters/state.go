package adapters

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/snapshot"
)

// networkState writes or reads the state of a [Network]. Flights are numbered by queue pairs and
// sending order, so that nothing depends on the division into parts.
type networkState struct {
	*snapshot.Archive
	t      *Network
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
func (t *Network) Archive(a *snapshot.Archive) {
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
	last := t.Over() - 1
	snapshot.Int(a, &last)
	t.parts[0].last = last
	now := lists.Most(sim.Time(0), t.parts, func(p *transport) sim.Time { return p.kernel.Now() })
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

func (x *networkState) sender(node int32) {
	a, n := x.Archive, &x.t.nodes[node]
	n.HCA.Archive(a, func(_ *snapshot.Archive, r *hca.Request) {
		x.flight(&r.ID)
		r.Lane, r.Source = x.t.flights.At(r.ID).lane, x.t.flights.At(r.ID).source
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
func (t *Network) Event(a *snapshot.Archive, e *sim.Event) (part int) {
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
	snapshot.Int(a, &f.source)
	if !a.Reading() || a.Err() != nil {
		return 0
	}
	part = x.t.PartOf(f.to)
	id := x.t.parts[part].newFlight()
	*x.t.flights.At(id) = *f
	e.Arg = int64(id)
	return part
}
