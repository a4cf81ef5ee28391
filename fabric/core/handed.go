package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim"
)

// What a domain sends to another in a window is filed in wheels as what stays within is,
// so that a switch need not tell them apart. At the end of the window the domain writes it
// all down in one piece. The other reads that only: whatever both touch moves from the
// cache of one core to that of the other and back, at a hundred nanoseconds a line, and a
// wheel is a dozen lines besides its items.
//
// There are two such pieces, for windows in turn: while the other reads what was sent in
// the last one, the domain may be through with this one.

// handed is what a domain has sent to another, by the last bit of the window's number.
type handed [2]handedWindow

// window is what a domain has sent to another in a window. The other only reads it.
type handedWindow struct {
	first     int64 // cycle in which the first of it arrives; Never if there is nothing
	flits     post[Flit]
	credits   post[int32]
	schedules post[flitSchedule]
	_         [64]byte // not in one cache line with the next
}

// post is items of one kind, with the cycles in which they arrive.
type post[T any] struct {
	items  []T
	cycles []cycleItems // in the order of items
}

type cycleItems struct {
	cycle int64
	items int32
}

// pack takes all items of a wheel whose time is now in place of those before, and tells
// the first cycle in which any arrives, or the one given if that is sooner.
func (p *post[T]) pack(w *sim.Wheel[T], now, first int64) int64 {
	p.items, p.cycles = p.items[:0], p.cycles[:0]
	w.Drain(now, func(cycle int64, batch []T) {
		p.items = append(p.items, batch...)
		p.cycles = append(p.cycles, cycleItems{cycle, int32(len(batch))})
		first = min(first, cycle)
	})
	return first
}

// unpack files all items in a wheel.
func (p *post[T]) unpack(w *sim.Wheel[T]) {
	items := p.items
	for _, c := range p.cycles {
		for i := range items[:c.items] {
			*w.Place(c.cycle) = items[i]
		}
		items = items[c.items:]
	}
}

// send packs what d has sent to others up to a cycle: that in which a window ends.
func (d *Domain) send(window, now int64) {
	d.sent = fabric.Never
	for i := range d.handed {
		m := &d.handed[i][window&1]
		m.first = m.flits.pack(d.Flits[firstOutbox+i], now, fabric.Never)
		m.first = m.credits.pack(d.credits[1+i], now, m.first)
		if d.Unit != nil {
			m.first = m.schedules.pack(d.Unit.schedules[1+i], now, m.first)
		}
		d.sent = min(d.sent, m.first)
	}
}

// receive takes what other domains have sent to d, number me, in a window.
func (d *Domain) receive(domains []*Domain, me int, window int64) {
	for _, from := range domains {
		if from == d {
			continue
		}
		m := &from.handed[me][window&1]
		if m.first == fabric.Never {
			continue
		}
		m.flits.unpack(d.Flits[toSwitches])
		m.credits.unpack(d.credits[0])
		if d.Unit != nil {
			m.schedules.unpack(d.Unit.schedules[0])
		}
	}
}

// deliverHanded lets all domains have what was sent to them, while nothing is simulated.
func (f *Fabric) deliverHanded() {
	for i, d := range f.domains {
		d.receive(f.domains, i, f.window)
	}
	for _, d := range f.domains {
		d.sent = fabric.Never
		for i := range d.handed {
			d.handed[i][0].first, d.handed[i][1].first = fabric.Never, fabric.Never
		}
	}
}
