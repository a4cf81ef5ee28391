package mpi

import (
	"math"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// copies archives which CPUs copy, and the copies of every memory domain. Rates follow
// from which copies there are.
func (x *archiver) copies() {
	first := x.parts[0].copies
	if first == nil {
		return
	}
	x.Mark("copies")
	r := int32(-1)
	snapshot.Array(x.Archive, "ranks that can copy", first.ranks, func(_ *snapshot.Archive, c *copier) {
		r++
		x.copier(r, c)
	})
	if x.Reading() {
		x.ends = make([]bool, len(first.memory.domains))
	}
	of := int32(-1)
	snapshot.Array(x.Archive, "memory domains", first.memory.domains, func(_ *snapshot.Archive, d *domain) {
		of++
		x.domain(of, d)
	})
}

func (x *archiver) copier(r int32, c *copier) {
	a := x.Archive
	if snapshot.Bool(a, &c.held); !c.held {
		if x.Reading() {
			*c = copier{}
		}
		return
	}
	snapshot.Bool(a, &c.stepped)
	snapshot.Int(a, &c.then)
	snapshot.Int(a, &c.id)
	snapshot.Int(a, &c.began)
	snapshot.Float(a, &c.bytes)
	snapshot.List(a, &c.late, snapshot.Int)
	if !x.Reading() || x.Err() != nil {
		return
	}
	x.Check(c.then <= thenRelay && c.began >= 0 && c.began <= latest && c.bytes > 0 && c.bytes <= math.MaxInt64, "rank %d copies %g B for %d since %d ps", r, c.bytes, c.then, int64(c.began))
	c.most = bytesPerPicosecond(x.all.Protocols.CopyRate)
	switch c.then {
	case thenLeave: // the message that the CPU works on
	case thenWorked:
		s := x.parts[0].schedule
		if x.Check(s != nil && s.costs.Copy > 0, "rank %d copies", r); x.Err() != nil {
			return
		}
		c.most = 1 / s.costs.Copy
		x.underway = append(x.underway, Underway{r, c.id, false})
	case thenMatched, thenUnpacked:
		x.copied(r, c.id, matching)
	default:
		x.copied(r, c.id, copiedOnly)
	}
	for _, id := range c.late {
		x.late(r, id)
	}
}

// copied notes a message that rank r copies.
func (x *archiver) copied(r, id int32, at place) {
	if x.see(id, at) {
		m := x.all.messages.At(id)
		x.Check(m.hop == r && (at != matching || m.to == r), "rank %d copies a message to rank %d", r, m.to)
	}
}

// late notes a message that is put off, or, with ^, the end of one's writing.
func (x *archiver) late(r, id int32) {
	if id < 0 {
		if x.seeWritten(^id) {
			m := x.all.messages.At(^id)
			x.Check(m.from == r, "rank %d hears of a message of rank %d", r, m.from)
		}
		return
	}
	if id >= int32(len(x.sightings)) {
		x.Fail("message %d is put off", id)
		return
	}
	m, at := x.all.messages.At(id), delivered
	if _, to := m.ends(); m.hop != to {
		at = travelling
	}
	if x.see(id, at) {
		x.Check(m.hop == r, "rank %d puts off a message to rank %d", r, m.hop)
	}
}

func (x *archiver) domain(of int32, d *domain) {
	a := x.Archive
	snapshot.Int(a, &d.since)
	snapshot.Int(a, &d.serial)
	first := x.parts[0].copies
	snapshot.List(a, &d.copies, func(a *snapshot.Archive, c *copying) {
		snapshot.Int(a, &c.rank)
		snapshot.Float(a, &c.left)
		if !x.Reading() || x.Err() != nil {
			return
		}
		ok := x.isRank(c.rank) && first.memory.domainOf[c.rank] == of && first.ranks[c.rank].held
		if x.Check(ok, "rank %d copies in memory domain %d", c.rank, of); !ok {
			return
		}
		c.most = first.ranks[c.rank].most
		x.moves[c.rank] = min(2, x.moves[c.rank]+1)
	})
	if !x.Reading() || x.Err() != nil {
		return
	}
	fairShares(d.copies, first.memory.bandwidth)
	for i := range d.copies {
		c := &d.copies[i]
		x.Check(c.left >= -c.rate && c.left <= math.MaxInt64, "rank %d has %g B left to copy", c.rank, c.left)
	}
	x.Check(d.since >= 0 && d.since <= latest, "memory domain %d is at %d ps", of, int64(d.since))
}

// domainEvent archives the argument of a memory domain's event and tells its part.
func (x *archiver) domainEvent(e *sim.Event) (part int) {
	snapshot.Int(x.Archive, &e.Arg)
	if !x.Reading() || x.Err() != nil {
		return 0
	}
	domains := x.parts[0].copies.memory.domains
	if x.Check(e.Kind == 0 && e.Target >= 0 && int(e.Target) < len(domains), "an event %d of memory domain %d", e.Kind, e.Target); x.Err() != nil {
		return 0
	}
	d := &domains[e.Target]
	if e.Arg == d.serial && len(d.copies) > 0 {
		x.Check(!x.ends[e.Target] && e.At == d.nextEnd(), "memory domain %d has an end at %d ps", e.Target, int64(e.At))
		x.ends[e.Target] = true
	}
	x.Check(e.Arg <= d.serial, "memory domain %d has an event to come", e.Target)
	return int(x.all.partOf[int(e.Target)/x.all.Memory.Domains])
}
