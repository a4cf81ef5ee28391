package core

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/wheel"
)

// wheelKind is an inWheels of any type of item.
type wheelKind interface {
	take(f *Fabric)
	archive(x *Archiver)
	begin(d *Domain)
	file()
}

// inWheels is what is in the wheels of one kind of all domains, by cycle and place. What is due at
// one place in one cycle, which is one switch's or terminal's doing, keeps its order; in which
// order a cycle's other items come is of no account.
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
		// A network that has a host model looks at the cycles of wakes that have become void all the
		// same, which the end of the run knows. The others are the terminals'.
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

// behindWheels is the wheel of flits that have crossed, with those that wait for the next few
// cycles only.
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

// take lists what is in the wheels. Of equals that are void but for their cycle one is kept.
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
