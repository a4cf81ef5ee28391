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
	u, steps := x.f.unit, &x.f.domains[0].steps
	for word := range u.streams {
		for left := u.streams[word].under; left != 0; left &= left - 1 {
			queue := int32(word<<6 + bits.TrailingZeros64(left))
			if x.Check(x.queueOf(queue), "flits cross from queue %d", queue); x.Err() != nil {
				return
			}
			p := &w.passing[queue]
			archivePassing(x.Archive, p)
			ago := steps.firstStep(x.f.cycle+1) - p.granted
			x.Check(ago > 0 && ago <= farthestStep, "a packet crosses from queue %d since step %d", queue, p.granted)
		}
	}
}

// farthestStep bounds how long ago the head of a packet under way has crossed: steps are
// told apart for so long.
const farthestStep = 1 << 28

func archivePassing(a *snapshot.Archive, p *passing) {
	snapshot.Int(a, &p.granted)
	snapshot.Int(a, &p.first)
	snapshot.Int(a, &p.tail)
}

// archive implements observer: each of them in turn.
func (all observers) archive(x *archiver) {
	for _, o := range all {
		o.archive(x)
	}
}

func archiveParts(a *snapshot.Archive, p *Parts) { snapshot.Array(a, "parts", p[:], snapshot.Int) }

func archiveLevelBlame(a *snapshot.Archive, l *LevelBlame) {
	snapshot.Int(a, &l.Packets)
	archiveParts(a, &l.Parts)
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
	snapshot.Array(a, "classes of packets", b.Classes[:], archiveParts)
	snapshot.Array(a, "service levels", b.Levels, archiveLevelBlame)
	snapshot.Array(a, "channels", b.links, archiveParts)
	snapshot.Array(a, "pairs of ports", b.pairs, snapshot.Int)
	snapshot.Array(a, "queues", b.came, snapshot.Int)
	b.archiveClocks(x)
	b.archiveAccounts(x)
}

// archiveClocks archives the clocks that run.
func (b *Blame) archiveClocks(x *archiver) {
	a, now := x.Archive, uint32(x.f.cycle)
	snapshot.Array(a, "words of queues", b.clocked, snapshot.Int)
	for word := range b.clocked {
		for left := b.clocked[word]; left != 0; left &= left - 1 {
			queue := int32(word<<6 + bits.TrailingZeros64(left))
			if x.Check(x.queueOf(queue), "queue %d has a clock", queue); a.Err() != nil {
				return
			}
			r := &b.queues[queue]
			archiveBlameQueue(a, r)
			x.Check(r.first < NumParts && r.then < NumParts && r.tails >= 0 && (r.tails == 0 || int64(int32(now-r.since)) <= b.emptyIn), "the clock of queue %d: %+v", queue, *r)
		}
	}
}

func archiveBlameQueue(a *snapshot.Archive, r *blameQueue) {
	archiveAccount(a, &r.clock)
	snapshot.Int(a, &r.since)
	snapshot.Int(a, &r.until)
	snapshot.Int(a, &r.tails)
	snapshot.Int(a, &r.first)
	snapshot.Int(a, &r.then)
}

func archiveAccount(a *snapshot.Archive, k *account) {
	snapshot.Array(a, "words", k[:], snapshot.Uint64)
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
	x.Check(m == 0 || m&markMeasured != 0 && m <= markMeasured|markLong, "packet %d is marked %d", id, m)
	if a.Reading() {
		b.packets.open(id)
		*b.marks.open(id), *b.long.open(id) = m, nil
	}
	if m == 0 || a.Err() != nil {
		return 0
	}
	archiveAccount(a, b.packets.at(id))
	if m&markLong != 0 {
		archiveParts(a, b.longOf(id))
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
	x.Check(len(started) <= tr.plan.Packets && len(kept) <= tr.plan.Packets, "%d packets have been begun with and %d kept, of %d that are wanted", len(started), len(kept), tr.plan.Packets)
	for _, l := range kept {
		x.Check(len(l.Path) > 0, "a packet that has arrived has crossed nothing")
	}
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
	x.packetTrace(&l.PacketTrace)
	hops := l.path.list()
	snapshot.List(a, &hops, func(_ *snapshot.Archive, h *TraceHop) { x.traceHop(h) })
	if x.Check(len(hops) <= maxHops, "a packet has crossed %d switches", len(hops)); a.Err() != nil {
		return
	}
	for i := range hops {
		*l.path.at(i) = hops[i]
	}
}

func (x *archiver) packetTrace(p *PacketTrace) {
	a := x.Archive
	archiveDelivery(a, &p.Delivery)
	x.Check(x.someone(int32(p.Src)) && x.someone(int32(p.Dst)), "a packet from terminal %d to %d is followed", p.Src, p.Dst)
	snapshot.Int(a, &p.Number)
	snapshot.Int(a, &p.VC)
	snapshot.Int(a, &p.InjectTail)
	snapshot.Int(a, &p.HeadCycle)
	snapshot.List(a, &p.Path, func(_ *snapshot.Archive, h *TraceHop) { x.traceHop(h) })
}

func archiveDelivery(a *snapshot.Archive, d *fabric.Delivery) {
	snapshot.Int(a, &d.Src)
	snapshot.Int(a, &d.Dst)
	for _, n := range []*int64{&d.Birth, &d.Inject, &d.Cycle} {
		snapshot.Int(a, n)
	}
	snapshot.Int(a, &d.Hops)
	snapshot.Int(a, &d.Flits)
	snapshot.Bool(a, &d.NonMinimal)
	snapshot.Bool(a, &d.Multicast)
	snapshot.Int(a, &d.Tag)
}

func (x *archiver) traceHop(h *TraceHop) {
	a := x.Archive
	snapshot.Int(a, &h.In)
	snapshot.Int(a, &h.InVC)
	snapshot.Int(a, &h.Out)
	snapshot.Int(a, &h.OutVC)
	snapshot.Int(a, &h.VCs)
	for _, n := range []*int64{&h.Arrive, &h.Front, &h.Routed, &h.Held, &h.Cross, &h.Ready, &h.Depart, &h.TailArrive, &h.TailCross, &h.TailDepart} {
		snapshot.Int(a, n)
	}
	snapshot.List(a, &h.Waits, archiveTraceWait)
	ports := len(x.f.in)
	x.Check(h.In >= 0 && int(h.In) < ports && h.Out >= 0 && int(h.Out) < ports, "a packet that is followed goes from port %d to %d", h.In, h.Out)
}

func archiveTraceWait(a *snapshot.Archive, w *TraceWait) {
	snapshot.Int(a, &w.From)
	snapshot.Int(a, &w.To)
	snapshot.Int(a, &w.Part)
}
