package core

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/snapshot"
)

// This file writes what observers have seen. Each writes its part by its own method; here
// is what several have in common.

// observed archives what the observers of the network have seen, and what is noted for them.
func (x *archiver) observed() {
	a, f := x.Archive, x.f
	a.Mark("observers")
	is := f.observer != nil
	snapshot.Bool(a, &is)
	if x.Check(is == (f.observer != nil), "one of the state's run and this one is observed (blame, traces), and the other is not"); a.Err() != nil || !is {
		return
	}
	if d := f.domains[0]; d.unit != nil && d.unit.followed != nil {
		x.passings(d.unit.followed)
	}
	f.observer.archive(x)
}

// passings archives how packets as the unit are under way that are.
func (x *archiver) passings(w *followed) {
	x.underWay(func(queue int32) { snapshot.Value(x.Archive, &w.passing[queue]) })
}

// archive implements observer: each of them in turn.
func (all observers) archive(x *archiver) {
	for _, o := range all {
		o.archive(x)
	}
}

// archive implements observer. The sums of channels are brought up to date before they are
// written, so that it makes no difference when each domain did that last. Passages have
// been settled by the end of a cycle, and the parts gathered.
func (b *Blame) archive(x *archiver) {
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
func (b *Blame) archiveClocks(x *archiver) {
	snapshot.Array(x.Archive, "words of queues", b.clocked, snapshot.Int)
	for word := range b.clocked {
		for left := b.clocked[word]; left != 0 && x.Err() == nil; left &= left - 1 {
			snapshot.Value(x.Archive, &b.queues[word<<6+bits.TrailingZeros64(left)])
		}
	}
}

// archiveAccounts archives the accounts of packets, and counts those whose last flit is in
// the network.
func (b *Blame) archiveAccounts(x *archiver) {
	under := int64(0)
	x.packets.each(x.Archive, func(id int32) { under += b.archivePacket(x, id) })
	if !x.Reading() {
		return
	}
	others := int64(x.packets.count) - under
	for t := range x.f.terminals {
		if x.f.terminals[t].packet >= 0 {
			others--
		}
	}
	for _, p := range b.parts {
		p.under, p.others, p.foldAt = 0, 0, 0
		p.emptyAt = (x.f.cycle/p.emptyIn + 1) * p.emptyIn
	}
	b.under, b.others = under, others
}

// archivePacket archives the account of a packet, if there is one, which it counts.
func (b *Blame) archivePacket(x *archiver, id int32) (accounts int64) {
	a, m := x.Archive, mark(0)
	if before := b.marks.lookUp(id); !a.Reading() && before != nil {
		m = *before
	}
	snapshot.Int(a, &m)
	if a.Reading() {
		b.packets.open(id)
		*b.marks.open(id), *b.long.open(id) = m, nil
	}
	if m == 0 || a.Err() != nil {
		return 0
	}
	snapshot.Value(a, b.packets.at(id))
	if m&markLong != 0 {
		snapshot.Value(a, b.longOf(id))
	}
	return 1
}

// archive implements observer. Of the candidates of all domains it writes those that count,
// which do not depend on how the network is divided; the first domain gets them.
func (tr *Tracer) archive(x *archiver) {
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
	snapshot.List(a, &kept, func(_ *snapshot.Archive, l **life) { x.life(l) })
	x.packets.each(a, func(id int32) {
		var l *life
		if at := tr.live.lookUp(id); !a.Reading() && at != nil && *at != nil && (*at).Inject <= last {
			l = *at
		}
		followed := l != nil
		if snapshot.Bool(a, &followed); followed {
			x.life(&l)
		}
		if a.Reading() {
			*tr.live.open(id) = l
		}
	})
	if a.Reading() {
		tr.started, tr.kept = started, kept
	}
}

// life archives the record of a packet that is followed, or has been.
func (x *archiver) life(p **life) {
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
