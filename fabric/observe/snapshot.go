package observe

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/sim/snapshot"
)

// This file writes what has been seen.

// Archive implements observer. The sums of channels are brought up to date before they are
// written, so that it makes no difference when each domain did that last. Passages have
// been settled by the end of a cycle, and the parts gathered.
func (b *Blame) Archive(x *core.Archiver) {
	a := x.Archive
	a.Mark("blame")
	if !a.Reading() {
		for _, p := range b.parts {
			p.fold()
		}
	}
	snapshot.Array(a, "classes of packets", b.Packets[:], snapshot.Int)
	snapshot.Array(a, "classes of packets", b.Classes[:], snapshot.Value)
	snapshot.Array(a, "service levels", b.Levels, snapshot.Value)
	snapshot.Array(a, "channels", b.links, snapshot.Value)
	snapshot.Array(a, "pairs of ports", b.pairs, snapshot.Int)
	snapshot.Array(a, "queues", b.came, snapshot.Int)
	b.archiveClocks(x)
	b.archiveAccounts(x)
}

// archiveClocks archives the clocks that run.
func (b *Blame) archiveClocks(x *core.Archiver) {
	snapshot.Array(x.Archive, "words of queues", b.clocked, snapshot.Int)
	for word := range b.clocked {
		for left := b.clocked[word]; left != 0 && x.Err() == nil; left &= left - 1 {
			snapshot.Value(x.Archive, &b.queues[word<<6+bits.TrailingZeros64(left)])
		}
	}
}

// archiveAccounts archives the accounts of packets, and counts those whose last flit is in
// the network.
func (b *Blame) archiveAccounts(x *core.Archiver) {
	under := int64(0)
	x.Packets.Each(x.Archive, func(id int32) { under += b.archivePacket(x, id) })
	if !x.Reading() {
		return
	}
	others := int64(x.Packets.Count) - under
	for t := range x.Fabric.Terminals {
		if x.Fabric.Terminals[t].Packet >= 0 {
			others--
		}
	}
	for _, p := range b.parts {
		p.under, p.others, p.foldAt = 0, 0, 0
		p.emptyAt = ((x.Fabric.Cycle()-1)/p.emptyIn + 1) * p.emptyIn
	}
	b.under, b.others = under, others
}

// archivePacket archives the account of a packet, if there is one, which it counts.
func (b *Blame) archivePacket(x *core.Archiver, id int32) (accounts int64) {
	a, m := x.Archive, mark(0)
	if before := b.marks.LookUp(id); !a.Reading() && before != nil {
		m = *before
	}
	snapshot.Int(a, &m)
	if a.Reading() {
		b.packets.Open(id)
		*b.marks.Open(id), *b.long.Open(id) = m, nil
	}
	if m == 0 || a.Err() != nil {
		return 0
	}
	snapshot.Value(a, b.packets.At(id))
	if m&markLong != 0 {
		snapshot.Value(a, b.longOf(id))
	}
	return 1
}

// Archive implements observer. Of the candidates of all domains it writes those that count,
// which do not depend on how the network is divided; the first domain gets them.
func (tr *Tracer) Archive(x *core.Archiver) {
	a := x.Archive
	a.Mark("traces")
	snapshot.Array(a, "terminals", tr.numbers, snapshot.Int)
	snapshot.Array(a, "terminals", tr.matched, snapshot.Int)
	var started []int64
	var kept []*life
	last := fabric.Never
	if !a.Reading() {
		started, last = tr.starts()
		kept = tr.best()
	}
	snapshot.List(a, &started, snapshot.Int)
	snapshot.List(a, &kept, func(_ *snapshot.Archive, l **life) { archiveLife(x, l) })
	x.Packets.Each(a, func(id int32) {
		var l *life
		if at := tr.live.LookUp(id); !a.Reading() && at != nil && *at != nil && (*at).Inject <= last {
			l = *at
		}
		followed := l != nil
		if snapshot.Bool(a, &followed); followed {
			archiveLife(x, &l)
		}
		if a.Reading() {
			*tr.live.Open(id) = l
		}
	})
	if a.Reading() {
		tr.started, tr.kept = started, kept
	}
}

// archiveLife archives the record of a packet that is followed, or has been.
func archiveLife(x *core.Archiver, p **life) {
	a := x.Archive
	if a.Reading() {
		*p = &life{}
	}
	l := *p
	snapshot.Value(a, &l.PacketTrace)
	hops := l.path.list()
	snapshot.Value(a, &hops)
	for i := range hops {
		if a.Reading() {
			*l.path.at(i) = hops[i]
		}
	}
}
