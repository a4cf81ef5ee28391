package adapters

import (
	"sync/atomic"

	"github.com/weft-sim/weft/fabric/hca"
)

// qpOrder is the order of the flights from one QP to another. Of a program's many pairs few
// have any at a time.
type qpOrder struct {
	sent     uint32        // by the sender
	expected atomic.Uint32 // by the receiver, who has done with the order when it is sent
	ahead    int32         // flights that are there and wait for earlier ones, + 1
}

type qpPair struct{ from, to hca.QP }

// FewOrders, which only tests change, is the least number of orders that are looked
// through for those to give up.
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

// endOrders gives up the orders of which no flight is left; their next one begins them anew.
// The receiver's part may be at work on the last of one, which is then given up another
// time.
func (t *transport) endOrders() {
	for pair, order := range t.orderOf {
		if q := t.orders.At(order); q.expected.Load() == q.sent {
			delete(t.orderOf, pair)
			t.over = append(t.over, order)
		}
	}
}
