package kinds

import (
	"math/bits"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

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

// newSenderLanes makes the lanes of an adapter; nil without tables. Without lanes a packet
// more is enough than the sender says, which the terminal has taken.
func newSenderLanes(tables *arbitration.Tables, enough int) *senderLanes {
	if tables == nil {
		return nil
	}
	return &senderLanes{arbiter: arbitration.New(tables), tables: tables, enough: 1 + int32(enough)}
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
