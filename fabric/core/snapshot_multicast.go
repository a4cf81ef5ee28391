package core

import "github.com/weft-sim/weft/sim/snapshot"

// This file archives the replication of multicast packets. Where flits are the unit, all
// copies of a packet share its record, which says how many there are; where packets are,
// every copy that has left a switch has one of its own. The tables are settings.

// replications archives what switches do with the multicast packets in front of queues.
func (x *Archiver) replications() {
	a, m := x.Archive, x.Fabric.multicast
	if m == nil {
		return
	}
	a.Mark("multicast")
	for q := range m.under {
		own := x.Fabric.ofQueue(int32(q)).multicast
		begun := m.under[q] != 0
		if snapshot.Bool(a, &begun); !begun {
			m.under[q] = 0
			continue
		}
		if a.Reading() {
			own.work = append(own.work, replication{})
			m.under[q] = int32(len(own.work))
		}
		snapshot.Value(a, &own.work[m.under[q]-1])
	}
	snapshot.Array(a, "switches", m.turn, snapshot.Int)
	snapshot.Array(a, "ports", m.grant, snapshot.Int)
	snapshot.Array(a, "ports", m.prefer, snapshot.Bool)
	snapshot.Array(a, "words of queues", m.asleep, snapshot.Int)
}
