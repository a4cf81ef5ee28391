package observe

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/sim/snapshot"
)

// This file writes what has been seen.

// Archive implements observer. The parts have been gathered.
func (b *Blame) Archive(x *core.Archiver) {
	a := x.Archive
	a.Mark("blame")
	snapshot.Value(a, &b.Packets)
	snapshot.Value(a, &b.Classes)
	snapshot.Array(a, "service levels", b.Levels, snapshot.Value)
	snapshot.Array(a, "channels", b.links, snapshot.Value)
	snapshot.Array(a, "pairs of ports", b.pairs, snapshot.Int)
	snapshot.Array(a, "queues", b.clocks, snapshot.Value)
	x.Packets.Each(a, func(id int32) {
		k := b.packets.Open(id)
		if snapshot.Bool(a, &k.measured); k.measured {
			snapshot.Value(a, &k.Parts)
		}
		if a.Reading() && k.measured {
			b.under++
		}
	})
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
