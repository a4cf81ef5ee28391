package core

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// moving is what is in the wheels of all domains, by cycle and place. What is due at one
// place in one cycle, which is one switch's or terminal's doing, keeps its order; in which
// order a cycle's other items come is of no account.
type moving struct {
	toTerminals, toSwitches []filed[Flit]
	credits                 []filed[int32]
	held                    []filed[heldCredit]
	behind                  []filed[int32]
	schedules               []filed[flitSchedule]
	events                  []filed[event]
	tails                   []filed[Flit]  // of packets as the unit, for observers
	wakes                   []filed[int32] // of terminals, which an earlier one has made void
}

// filed is an item of a wheel.
type filed[T any] struct {
	cycle, place int64
	item         T
}

// collect lists what is in some wheels of all domains.
func collect[T any](f *Fabric, wheels func(*Domain) []*sim.Wheel[T]) []filed[T] {
	count := 0
	each := func(visit func(cycle int64, item *T)) {
		for _, d := range f.domains {
			for _, w := range wheels(d) {
				if w != nil {
					w.Items(visit)
				}
			}
		}
	}
	each(func(int64, *T) { count++ })
	list := make([]filed[T], 0, count)
	each(func(cycle int64, item *T) { list = append(list, filed[T]{cycle: cycle, item: *item}) })
	return list
}

// order sorts items by cycle and place.
func order[T any](list []filed[T], place func(*T) int64) {
	for i := range list {
		list[i].place = place(&list[i].item)
	}
	slices.SortStableFunc(list, func(a, b filed[T]) int {
		return cmp.Or(cmp.Compare(a.cycle, b.cycle), cmp.Compare(a.place, b.place))
	})
}

func placeOfFlit(e *Flit) int64             { return int64(e.Queue) }
func placeOfOV(ov *int32) int64             { return int64(*ov) }
func placeOfHeld(h *heldCredit) int64       { return int64(h.port) }
func placeOfSchedule(r *flitSchedule) int64 { return int64(r.port) }
func placeOfEvent(e *event) int64           { return int64(e.kind)<<32 | int64(e.number) }

// take fills m with what is in the wheels of f.
func (m *moving) take(f *Fabric) {
	m.toTerminals = collect(f, func(d *Domain) []*sim.Wheel[Flit] { return d.Flits[toTerminals : toTerminals+1] })
	m.toSwitches = collect(f, func(d *Domain) []*sim.Wheel[Flit] { return d.Flits[toSwitches:] })
	m.credits = collect(f, func(d *Domain) []*sim.Wheel[int32] { return d.credits[:] })
	m.held = collect(f, func(d *Domain) []*sim.Wheel[heldCredit] { return []*sim.Wheel[heldCredit]{d.held} })
	if f.domains[0].behind != nil {
		m.behind = collect(f, func(d *Domain) []*sim.Wheel[int32] { return []*sim.Wheel[int32]{d.behind.until} })
		for _, d := range f.domains {
			m.behind = d.behind.collect(m.behind, d.Cycle)
		}
	}
	if f.unit != nil {
		m.schedules = collect(f, func(d *Domain) []*sim.Wheel[flitSchedule] { return d.Unit.schedules[:] })
		m.events = collect(f, func(d *Domain) []*sim.Wheel[event] { return []*sim.Wheel[event]{d.Unit.events} })
		if f.domains[0].Unit.Followed != nil {
			m.tails = collect(f, func(d *Domain) []*sim.Wheel[Flit] { return []*sim.Wheel[Flit]{d.Unit.Followed.tails} })
		}
	}
	m.takeWakes(f)
	order(m.toTerminals, placeOfFlit)
	order(m.toSwitches, placeOfFlit)
	order(m.credits, placeOfOV)
	order(m.held, placeOfHeld)
	order(m.behind, placeOfOV)
	order(m.schedules, placeOfSchedule)
	order(m.events, placeOfEvent)
	order(m.tails, placeOfFlit)
}

// collect appends the flits that have crossed and wait for the next few cycles after now.
func (b *behind) collect(list []filed[int32], now int64) []filed[int32] {
	for cycle := now + 1; cycle <= now+soonCycles; cycle++ {
		for _, ov := range b.soon[cycle%soonCycles] {
			list = append(list, filed[int32]{cycle: cycle, item: ov})
		}
	}
	return list
}

// wheels archives what is in wheels.
func (x *Archiver) wheels(m *moving) {
	a := x.Archive
	a.Mark("on the way")
	snapshot.List(a, &m.toTerminals, func(_ *snapshot.Archive, e *filed[Flit]) { x.at(&e.cycle); x.flit(&e.item) })
	snapshot.List(a, &m.toSwitches, func(_ *snapshot.Archive, e *filed[Flit]) { x.at(&e.cycle); x.flit(&e.item) })
	snapshot.List(a, &m.credits, func(a *snapshot.Archive, e *filed[int32]) { x.at(&e.cycle); snapshot.Int(a, &e.item) })
	snapshot.List(a, &m.held, func(a *snapshot.Archive, e *filed[heldCredit]) { x.at(&e.cycle); snapshot.Value(a, &e.item) })
	snapshot.List(a, &m.behind, func(a *snapshot.Archive, e *filed[int32]) { x.at(&e.cycle); snapshot.Int(a, &e.item) })
	snapshot.List(a, &m.schedules, func(a *snapshot.Archive, e *filed[flitSchedule]) { x.at(&e.cycle); snapshot.Value(a, &e.item) })
	snapshot.List(a, &m.events, func(a *snapshot.Archive, e *filed[event]) { x.at(&e.cycle); snapshot.Value(a, &e.item) })
	snapshot.List(a, &m.tails, func(_ *snapshot.Archive, e *filed[Flit]) { x.at(&e.cycle); x.flit(&e.item) })
	if x.Fabric.hostModel != nil {
		snapshot.List(a, &m.wakes, func(a *snapshot.Archive, e *filed[int32]) { x.at(&e.cycle); snapshot.Int(a, &e.item) })
	}
}

// at archives the cycle of an item, as what is left until then.
func (x *Archiver) at(cycle *int64) {
	left := *cycle - x.Fabric.cycle
	snapshot.Int(x.Archive, &left)
	*cycle = x.Fabric.cycle + left
}

// file puts what is on its way into the wheels of those who wait for it.
func (m *moving) file(f *Fabric) {
	for _, e := range m.toTerminals {
		*f.ofEnd(f.TerminalOut0 + ^e.item.Queue).Flits[toTerminals].Place(e.cycle) = e.item
	}
	for _, e := range m.toSwitches {
		*f.ofQueue(e.item.Queue).Flits[toSwitches].Place(e.cycle) = e.item
	}
	for _, e := range m.credits {
		*f.ofEnd(e.item / int32(f.vcs)).credits[0].Place(e.cycle) = e.item
	}
	for _, e := range m.held {
		*f.ofEnd(e.item.port).held.Place(e.cycle) = e.item
	}
	for _, e := range m.behind {
		*f.ofEnd(e.item / int32(f.vcs)).behind.until.Place(e.cycle) = e.item
	}
	for _, e := range m.schedules {
		*f.ofEnd(e.item.port).Unit.schedules[0].Place(e.cycle) = e.item
	}
	for _, e := range m.events {
		d := f.ofQueue
		if e.item.kind == creditsCome {
			d = f.ofEnd
		}
		*d(e.item.number).Unit.events.Place(e.cycle) = e.item
	}
	for _, e := range m.tails {
		*f.ofQueue(e.item.Queue).Unit.Followed.tails.Place(e.cycle) = e.item
	}
	for _, e := range m.wakes {
		*f.owner(topology.TerminalID(e.item)).wakes.Place(e.cycle) = e.item
	}
}

// toPresent lets the empty wheels of a domain begin with the present cycle.
func (d *Domain) toPresent() {
	if d.Cycle < 0 {
		return
	}
	for _, w := range d.Flits {
		begin(w, d.Cycle)
	}
	for _, w := range d.credits {
		begin(w, d.Cycle)
	}
	begin(d.held, d.Cycle)
	begin(d.wakes, d.Cycle)
	if d.behind != nil {
		begin(d.behind.until, d.Cycle)
	}
	if d.Unit != nil {
		for _, w := range d.Unit.schedules {
			begin(w, d.Cycle)
		}
		begin(d.Unit.events, d.Cycle)
		if d.Unit.Followed != nil {
			begin(d.Unit.Followed.tails, d.Cycle)
		}
	}
}

func begin[T any](w *sim.Wheel[T], cycle int64) {
	if w != nil {
		w.Next(cycle)
	}
}
