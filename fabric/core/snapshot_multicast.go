package core

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/snapshot"
)

// This file archives the replication of multicast packets. Where flits are the unit, all
// copies of a packet share its record, which says how many there are; where packets are,
// every copy that has left a switch has one of its own. The tables are settings.

// replications archives what switches do with the multicast packets in front of queues.
func (x *archiver) replications() {
	a, m := x.Archive, x.f.multicast
	if m == nil {
		return
	}
	a.Mark("multicast")
	for q := range m.under {
		own := x.f.ofQueue(int32(q)).multicast
		begun := m.under[q] != 0
		if snapshot.Bool(a, &begun); a.Err() != nil {
			return
		}
		x.Check(!begun || x.queueOf(int32(q)), "a packet is replicated in queue %d", q)
		if !begun {
			m.under[q] = 0
			continue
		}
		if a.Reading() {
			own.work = append(own.work, replication{})
			m.under[q] = int32(len(own.work))
		}
		archiveReplication(a, &own.work[m.under[q]-1])
	}
	snapshot.Array(a, "switches", m.turn, snapshot.Int)
	snapshot.Array(a, "ports", m.grant, snapshot.Int)
	snapshot.Array(a, "ports", m.prefer, snapshot.Bool)
	snapshot.Array(a, "words of queues", m.asleep, snapshot.Int)
}

func archiveReplication(a *snapshot.Archive, r *replication) {
	snapshot.Int(a, &r.flits)
	snapshot.Int(a, &r.freed)
	snapshot.Int(a, &r.heads)
	snapshot.List(a, &r.branches, archiveBranch)
	archivePass(a, &r.pass)
}

func archiveBranch(a *snapshot.Archive, b *branch) {
	snapshot.Int(a, &b.output)
	snapshot.Int(a, &b.lov)
	snapshot.Int(a, &b.sent)
}

func archivePass(a *snapshot.Archive, p *pass) {
	snapshot.Bool(a, &p.on)
	snapshot.Int(a, &p.granted)
	snapshot.Int(a, &p.crossed)
}

// plausibleCopies checks the multicast packets in queues, and how far they are.
func (x *archiver) plausibleCopies() {
	f := x.f
	m := f.multicast
	if m == nil {
		return
	}
	for s := range f.switches {
		sw := &f.switches[s]
		for local := range sw.ports * int32(f.vcs) {
			number := sw.queue0 + local
			d, v := f.ofQueue(number), &f.queues[number]
			in := f.portOf(number)
			d.eachQueued(v, func(q *queued) {
				x.Check(q.dst >= 0 || x.planted(in, q.dst, q.state) && (q.packet&headFlit == 0 || q.hop == multicastHop), "queue %d of switch %d holds a packet of MLID %d", local, s, ^q.dst)
			})
			streaming := f.unit != nil && f.unit.streams[number>>6].under>>(number&63)&1 != 0
			if m.under[number] == 0 {
				x.Check(!streaming || v.dst >= 0, "a packet that is not replicated crosses from queue %d", number)
				continue
			}
			r := &d.multicast.work[m.under[number]-1]
			x.Check(v.count == 0 || v.dst < 0, "queue %d replicates a packet to terminal %d", number, v.dst)
			x.Check(f.unit == nil || v.count > 0 && streaming == r.pass.on, "queue %d replicates a packet that is not there", number)
			x.replicates(sw, number, r)
		}
	}
	for word, asleep := range m.asleep {
		x.Check(asleep&^x.existing(int32(word)) == 0, "queues %#x of word %d are asleep", asleep, word)
	}
	for t := range f.terminals {
		te := &f.terminals[t]
		x.Check(te.packet < 0 || te.dst >= 0 || x.planted(int32(f.graph.TerminalPort[t]), te.dst, te.state), "terminal %d sends a packet of MLID %d", t, ^te.dst)
	}
}

// replicates checks how far the packet in front of a queue is.
func (x *archiver) replicates(sw *switchState, queue int32, r *replication) {
	x.Check(r.flits > 0 && r.freed >= 0 && r.freed < r.flits && r.pass.crossed >= 0 && r.pass.crossed <= r.flits && (x.f.hold != nil || !r.pass.on), "queue %d replicates %+v", queue, *r)
	heads, outputs := int32(0), make([]bool, sw.ports)
	for _, b := range r.branches {
		ok := int32(b.output) >= 0 && int32(b.output) < sw.ports && b.sent >= 0 && b.sent <= r.flits &&
			b.lov >= -1 && (b.lov < 0 || b.lov/int32(x.f.vcs) == int32(b.output)) && !outputs[b.output]
		if x.Check(ok, "queue %d sends a copy of %d flits: %+v", queue, r.flits, b); x.Err() != nil {
			return
		}
		outputs[b.output] = true
		if b.lov < 0 {
			heads++
		}
	}
	x.Check(heads == r.heads, "queue %d has %d copies to begin, not %d", queue, heads, r.heads)
}

// planted tells whether a switch that a packet reaches by a port has a row for it, and the
// packet virtual channels.
func (x *archiver) planted(in, dst int32, state uint32) bool {
	m := x.f.multicast
	if m == nil {
		return false
	}
	vcs := state & (1<<hopShift - 1)
	_, ok := m.tables[x.f.graph.PortSwitch[in]].PortsOf(^dst, topology.PortID(in))
	return ok && vcs != 0 && bits.Len32(vcs) <= x.f.vcs
}

// plausibleMovingCopies checks the multicast packets on their way.
func (x *archiver) plausibleMovingCopies(m *moving) {
	for _, e := range m.toSwitches {
		if e.item.dst < 0 && x.Err() == nil {
			in := x.f.portOf(e.item.queue)
			x.Check(x.planted(in, e.item.dst, e.item.state), "a flit of MLID %d arrives by port %d", ^e.item.dst, in)
		}
	}
}
