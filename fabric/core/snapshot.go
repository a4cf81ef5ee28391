package core

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/wheel"
)

// archive writes all that the network's future depends on, between two cycles, beside its graph,
// settings, routing, seed and source; or reads it into an equal network that is attached and has
// not simulated a cycle. It does not depend on the division among threads: packets are numbered,
// and traffic is listed, by place. It includes what observers have seen (blame, traces), and what a
// host model keeps in the network. A state is trusted when read: a foreign one breaks invariants
// later. Cost: linear in ports*vcs, the terminals and the flits in flight.
func (f *Fabric) archive(a *snapshot.Archive, sent Packets) *Archiver {
	x := &Archiver{Archive: a, Fabric: f, Packets: numbers{what: "packets", number: make([]int32, f.packets.ids())}, sourcePackets: numbers{what: "source packets"}, sent: sent}
	if f.Faults != nil {
		x.sourcePackets.number = make([]int32, f.SourcePackets.ids())
	}
	if d := f.domains[0]; f.unit != nil && !a.Reading() {
		d.Unit.upToDate(d)
	}
	a.Mark("fabric")
	snapshot.Int(a, &f.cycle)
	snapshot.Value(a, &f.Counters)
	x.lastWork()
	x.hardware()
	a.Mark("on the way")
	moving := newMoving(f)
	for _, kind := range moving {
		if !a.Reading() {
			kind.take(f)
		}
		kind.archive(x)
	}
	x.faults()
	x.packetTable() // when all that names packets has
	x.sourcePacketTable()
	x.observed()
	if a.Reading() && a.Err() == nil {
		x.settleIn(moving)
	}
	return x
}

// hardware archives what is in arrays that domains share.
func (x *Archiver) hardware() {
	a, f := x.Archive, x.Fabric
	a.Mark("switches")
	for q := range f.Queues {
		x.queue(int32(q))
	}
	snapshot.Array(a, "words of queues", f.Masks, snapshot.Value)
	snapshot.Array(a, "output virtual channels", f.OutVC, snapshot.Value)
	snapshot.Array(a, "output ports", f.Out, snapshot.Value)
	snapshot.Array(a, "input ports", f.in, snapshot.Value)
	snapshot.Array(a, "queues", f.waitNext, snapshot.Int)
	snapshot.Array(a, "queues", f.acceptOV, snapshot.Int)
	snapshot.Array(a, "queues whose stages overlap", f.Upcoming, snapshot.Value)
	snapshot.Array(a, "switches", f.streams, sim.ArchiveStream)
	snapshot.Array(a, "output virtual channels", f.crossed, snapshot.Int)
	snapshot.Array(a, "ports that mark", f.marked, snapshot.Int)
	snapshot.Array(a, "ports with arbitration", f.lanes, archiveLanePort)
	for _, own := range f.allocators {
		own.Archive(a)
	}
	if f.memory != nil {
		a.Mark("memory")
		f.memory.Archive(a)
	}
	if f.sensing != nil {
		snapshot.Array(a, "output virtual channels that are sensed", f.sensing.probes, snapshot.Value)
		snapshot.Array(a, "ports that are sensed", f.sensing.witness, snapshot.Int)
	}
	if f.hold != nil {
		snapshot.Array(a, "ports that can be held", f.hold.ports, snapshot.Value)
	}
	if f.unit != nil {
		snapshot.Array(a, "ends of channels", f.unit.credits, archivePortCredits)
		snapshot.Array(a, "words of queues", f.unit.streams, snapshot.Value)
		snapshot.Array(a, "ports that are watched", f.unit.flows, snapshot.Value)
	}
	a.Mark("terminals")
	for t := range f.Terminals {
		x.terminal(&f.Terminals[t])
	}
	snapshot.Array(a, "terminals", f.departures, sim.ArchiveStream)
	snapshot.Array(a, "terminals with arbitration", f.laneQueues, func(_ *snapshot.Archive, l *laneQueues) { x.laneQueues(l) })
	x.replications()
}

// settleIn finishes reading: what follows from the rest, and what belongs to domains.
func (x *Archiver) settleIn(moving []wheelKind) {
	f := x.Fabric
	for q := range f.Upcoming {
		if f.Masks[q>>6].second>>(q&63)&1 != 0 {
			f.Upcoming[q].head, _ = f.ofQueue(int32(q)).Pool.headFrom(f.seconds[q])
		}
	}
	for _, d := range f.domains {
		d.Cycle = f.cycle
		d.Steps.set(max(0, d.Cycle))
		d.Counters = Counters{}
		d.woken = d.woken[:0]
		d.singleVCs = false // decisions that have been read may allow several
		clear(d.active)
		d.makeWheels(f)
		for _, kind := range moving {
			kind.begin(d)
		}
	}
	f.join()
	f.domains[0].Counters = f.Counters
	for word := range f.Masks {
		if m := &f.Masks[word]; m.va|m.sa != 0 {
			f.domainAt(f.WordSwitch[word]).activate(int32(word))
		}
	}
	for t := range f.Terminals {
		if at := f.Terminals[t].wake; at < fabric.Never {
			*f.owner(topology.TerminalID(t)).wakes.Place(at) = int32(t)
		}
	}
	for _, kind := range moving {
		kind.file()
	}
	f.checkAt = 0
}

// wheelKind is an inWheels of any type of item.
type wheelKind interface {
	take(f *Fabric)
	archive(x *Archiver)
	begin(d *Domain)
	file()
}

// inWheels is the contents of all domains' wheels of one kind, by cycle and place. Items due at one
// place in one cycle, which are one switch's or terminal's, keep their order; otherwise a cycle's
// order does not matter.
type inWheels[T any] struct {
	of    func(*Domain) []*wheel.Wheel[T] // a domain's
	place func(*T) int64
	owner func(*T) *Domain // that waits for it
	each  func(*Archiver, *T)
	void  func(cycle int64, item *T) bool // it need not be kept; nil: all are
	items []filed[T]
}

// filed is an item of a wheel.
type filed[T any] struct {
	cycle, place int64
	item         T
}

// newMoving is what is in the wheels of all domains, by kind: nothing yet.
func newMoving(f *Fabric) []wheelKind {
	number := func(n *int32) int64 { return int64(*n) }
	ofOV := func(ov *int32) *Domain { return f.ofEnd(*ov / int32(f.vcs)) }
	integer := func(x *Archiver, n *int32) { snapshot.Int(x.Archive, n) }
	queueOf := func(e *Flit) int64 { return int64(e.Queue) }
	ofQueue := func(e *Flit) *Domain { return f.ofQueue(e.Queue) }
	kinds := []wheelKind{
		&inWheels[Flit]{place: queueOf, each: (*Archiver).flit,
			of:    func(d *Domain) []*wheel.Wheel[Flit] { return d.Flits[toTerminals : toTerminals+1] },
			owner: func(e *Flit) *Domain { return f.owner(topology.TerminalID(^e.Queue)) }},
		&inWheels[Flit]{place: queueOf, owner: ofQueue, each: (*Archiver).flit,
			of: func(d *Domain) []*wheel.Wheel[Flit] { return d.Flits[toSwitches:firstOutbox] }},
		&inWheels[int32]{place: number, owner: ofOV, each: integer,
			of: func(d *Domain) []*wheel.Wheel[int32] { return d.credits[:1] }},
		&inWheels[heldCredit]{each: archiveValue[heldCredit],
			of:    func(d *Domain) []*wheel.Wheel[heldCredit] { return []*wheel.Wheel[heldCredit]{d.held} },
			place: func(h *heldCredit) int64 { return int64(h.port) },
			owner: func(h *heldCredit) *Domain { return f.ofEnd(h.port) }},
		&inWheels[int32]{place: number, owner: ofOV, each: integer, of: (*Domain).behindWheels},
		// With a host model a network also looks at the cycles of void wakes, which the end of the
		// run knows; the others are the terminals'.
		&inWheels[int32]{place: number, each: integer,
			of:    func(d *Domain) []*wheel.Wheel[int32] { return []*wheel.Wheel[int32]{d.wakes} },
			owner: func(t *int32) *Domain { return f.owner(topology.TerminalID(*t)) },
			void:  func(cycle int64, t *int32) bool { return f.hostModel == nil || f.Terminals[*t].wake == cycle }},
	}
	if f.unit != nil {
		kinds = append(kinds,
			&inWheels[flitSchedule]{each: archiveValue[flitSchedule],
				of:    func(d *Domain) []*wheel.Wheel[flitSchedule] { return d.Unit.schedules[:1] },
				place: func(r *flitSchedule) int64 { return int64(r.port) },
				owner: func(r *flitSchedule) *Domain { return f.ofEnd(r.port) }},
			&inWheels[event]{each: archiveValue[event],
				of:    func(d *Domain) []*wheel.Wheel[event] { return []*wheel.Wheel[event]{d.Unit.events} },
				place: func(e *event) int64 { return int64(e.kind)<<32 | int64(e.number) },
				owner: func(e *event) *Domain {
					if e.kind == creditsCome {
						return f.ofEnd(e.number)
					}
					return f.ofQueue(e.number)
				}})
		if f.domains[0].Unit.Followed != nil {
			kinds = append(kinds, &inWheels[Flit]{place: queueOf, owner: ofQueue, each: (*Archiver).flit,
				of: func(d *Domain) []*wheel.Wheel[Flit] { return []*wheel.Wheel[Flit]{d.Unit.Followed.tails} }})
		}
	}
	return kinds
}

func archiveValue[T any](x *Archiver, v *T) { snapshot.Value(x.Archive, v) }

// behindWheels is the wheel of flits that have crossed, with those listed for the next few cycles.
func (d *Domain) behindWheels() []*wheel.Wheel[int32] {
	if d.behind == nil {
		return nil
	}
	for cycle := d.Cycle + 1; cycle <= d.Cycle+soonCycles; cycle++ {
		soon := &d.behind.soon[cycle%soonCycles]
		for _, ov := range *soon {
			*d.behind.until.Place(cycle) = ov
		}
		*soon = (*soon)[:0]
	}
	return []*wheel.Wheel[int32]{d.behind.until}
}

// take lists the wheels' items. Of equals that are void but for their cycle one is kept.
func (w *inWheels[T]) take(f *Fabric) {
	for _, d := range f.domains {
		if wheels := w.of(d); len(wheels) > 0 && wheels[0] != nil {
			wheels[0].Items(func(cycle int64, item *T) {
				if w.void == nil || !w.void(cycle, item) {
					w.items = append(w.items, filed[T]{cycle, w.place(item), *item})
				}
			})
		}
	}
	order := func(a, b filed[T]) int { return cmp.Or(cmp.Compare(a.cycle, b.cycle), cmp.Compare(a.place, b.place)) }
	slices.SortStableFunc(w.items, order)
	if w.void != nil {
		w.items = slices.CompactFunc(w.items, func(a, b filed[T]) bool { return order(a, b) == 0 })
	}
}

// archive archives the items, and their cycles as what is left until then.
func (w *inWheels[T]) archive(x *Archiver) {
	snapshot.List(x.Archive, &w.items, func(a *snapshot.Archive, e *filed[T]) {
		left := e.cycle - x.Fabric.cycle
		snapshot.Int(a, &left)
		e.cycle = x.Fabric.cycle + left
		w.each(x, &e.item)
	})
}

// begin lets a domain's wheels, which are empty, begin with its present cycle.
func (w *inWheels[T]) begin(d *Domain) {
	for _, wheel := range w.of(d) {
		begin(wheel, d.Cycle)
	}
}

func begin[T any](w *wheel.Wheel[T], cycle int64) {
	if w != nil && cycle >= 0 {
		w.Next(cycle)
	}
}

// file puts the items into the wheels of those who wait for them.
func (w *inWheels[T]) file() {
	for i := range w.items {
		e := &w.items[i]
		*w.of(w.owner(&e.item))[0].Place(e.cycle) = e.item
	}
}
