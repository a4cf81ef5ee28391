package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/wheel"
)

// handed is what a domain sends to one that another thread may simulate. It writes it down, item by item, for the
// other to file in its wheels behind the window, which reads that only: whatever both touch moves
// from the cache of one core to that of the other and back, at a hundred nanoseconds a line.
type handed struct {
	flits     post[Flit]
	credits   post[int32]
	schedules post[flitSchedule]
}

// post is items of one kind, by the last bit of the window's number: while the other reads what was sent in
// the last window, the domain may be through with this one.
type post[T any] struct {
	items [2][]timed[T]
	_     [64]byte // not in one cache line with the next
}

// timed is an item and the cycle in which it arrives.
type timed[T any] struct {
	cycle int64
	item  T
}

// out is what is handed to the domain that a wheel is for; nil: it is filed there.
func (d *Domain) out(number uint8) *handed {
	if number < firstOutbox || d.handed == nil {
		return nil
	}
	return d.handed[number-firstOutbox]
}

// fileFlit files a flit that arrives in a cycle, by the number of the wheel that it is for.
func (d *Domain) fileFlit(number uint8, cycle int64, e Flit) {
	if to := d.out(number); to != nil {
		to.flits.add(d, cycle, e)
	} else {
		*d.Flits[number].Place(cycle) = e
	}
}

// fileCredit files a credit likewise.
func (d *Domain) fileCredit(number uint8, cycle int64, ov int32) {
	if to := d.out(number); to != nil {
		to.credits.add(d, cycle, ov)
	} else {
		*d.credits[number].Place(cycle) = ov
	}
}

// scheduleTo is a place for a schedule, for the caller to fill in.
func (u *packetUnit) scheduleTo(d *Domain, number uint8, cycle int64) *flitSchedule {
	if to := d.out(number); to != nil {
		return to.schedules.add(d, cycle, flitSchedule{})
	}
	return u.schedules[number].Place(cycle)
}

// add writes down an item that d sends in this window.
func (p *post[T]) add(d *Domain, cycle int64, item T) *T {
	d.sent = min(d.sent, cycle)
	items := append(p.items[d.turn&1], timed[T]{cycle, item})
	p.items[d.turn&1] = items
	return &items[len(items)-1].item
}

// take files in a wheel what was sent in a window.
func (p *post[T]) take(window int64, w *wheel.Wheel[T]) {
	for _, e := range p.items[window&1] {
		if w.HasRoom(e.cycle) {
			*w.Fill(e.cycle) = e.item
		} else {
			*w.Place(e.cycle) = e.item
		}
	}
}

// begin empties what is sent in a window.
func (p *post[T]) begin(window int64) { p.items[window&1] = p.items[window&1][:0] }

// receive takes what other domains have sent to d in a window.
func (d *Domain) receive(window int64) {
	for _, from := range d.heard {
		from.flits.take(window, d.Flits[toSwitches])
		from.credits.take(window, d.credits[0])
		if d.Unit != nil {
			from.schedules.take(window, d.Unit.schedules[0])
		}
	}
}

// send begins what d sends in a window.
func (d *Domain) send(window int64) {
	d.turn, d.sent = window, fabric.Never
	for _, to := range d.handed {
		if to != nil {
			to.flits.begin(window)
			to.credits.begin(window)
			to.schedules.begin(window)
		}
	}
}
