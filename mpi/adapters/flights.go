package adapters

import (
	"sync/atomic"

	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
)

// flight is a transfer under way.
type flight struct {
	id      int32 // the sink's name for it; it may have several under way by one name
	to      int32 `snap:"-"`
	process int32
	order   int32  `snap:"-"` // of orders; -1: it has arrived, and its sink is to be told
	number  uint32 `snap:"-"` // in that
	from    int32  `snap:"-"`
	peer    hca.QP `snap:"-"`
	lane    uint8  // of the sender
	level   uint8  `snap:"-"` // and posted: for jobs, which are not archived
	quiet   bool
	source  hca.Source
	posted  sim.Time `snap:"-"`

	// For the receiver.
	missing int64    // bytes
	done    sim.Time // all in memory
	next    int32    `snap:"-"` // + 1; in qpOrder.ahead
}

// newFlight returns the number of a flight to be filled in.
func (t *transport) newFlight() int32 {
	if len(t.free) == 0 {
		first, end := t.flights.Take(256)
		for id := end - 1; id >= first; id-- {
			t.free = append(t.free, id)
		}
	}
	id := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	return id
}

// qpOrder is the order of the flights between two QPs. Few of a program's many pairs have any.
type qpOrder struct {
	sent     uint32        // by the sender
	expected atomic.Uint32 // by the receiver, who has done with the order when it is sent
	ahead    int32         // flights that are there and wait for earlier ones, + 1
}

// qpPair names the flights from one QP to another.
type qpPair struct{ from, to hca.QP }

// FewOrders, which only tests change, is the orders from which on finished ones are looked for.
var FewOrders = 4096

// orderFor is the order of the flights from one QP to another.
func (t *transport) orderFor(pair qpPair) int32 {
	order, known := t.orderOf[pair]
	if known {
		return order
	}
	if len(t.orderOf) >= t.manyOrders {
		t.endOrders()
		t.manyOrders = max(FewOrders, 2*len(t.orderOf))
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

// endOrders gives up the orders without a flight left; later flights begin them anew. The
// receiver's part may still be at work on the last flight of an order, which is then given up
// later.
func (t *transport) endOrders() {
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

// Follow has a tracer of all packets tell of them. Call it before the parts are made.
func (t *Network) Follow(tracer *observe.Tracer) {
	t.tracer = tracer
	tracer.OnPacket = func(p *observe.PacketTrace) { t.parts[t.partOf[t.nodeAt[p.Dst]]].passes(p) }
}

// passes notes the way of a packet, if it is the last of its flight.
func (t *transport) passes(p *observe.PacketTrace) {
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

// Passage implements [mpi.Divider]. Bytes before the last packet passed the sending adapter in
// turn.
func (t *transport) Passage(bytes int64) mpi.Passage {
	w := t.passages.told
	if bytes > w.last {
		w.Serialisation += t.adapter.TimeOf(bytes) - t.adapter.TimeOf(w.last)
	}
	return w.Passage
}
