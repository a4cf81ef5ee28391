package adapters

import (
	"math/bits"

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

// laneOf is the lane on which a node sends to another at a service level: where the routing
// leaves several open, the first that has turns.
func (t *transport) laneOf(from, to int32, level uint8) uint8 {
	n := t.nodes[from].lanes
	if n == nil {
		return 0
	}
	return uint8(bits.TrailingZeros32(t.fabric.InjectionLanes(t.at[from], t.at[to], level) & n.tables.Lanes()))
}

// serveByLane begins the next burst of a node, if its engine is free and a lane with
// requests is.
func (t *transport) serveByLane(now sim.Time, node int32) {
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
func (t *transport) Departed(terminal topology.TerminalID, tag uint64) {
	node := t.nodeAt[terminal]
	n := &t.nodes[node]
	lane := t.flights.At(int32(tag >> 32)).lane
	if n.lanes.waiting[lane]--; n.lanes.waiting[lane] == n.lanes.enough-1 && n.Waiting() && !n.waking {
		t.wakeWhenFree(n, node)
	}
}
