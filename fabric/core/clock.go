package core

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/wheel"
)

// simulate is [Fabric.Advance] for a domain, up to a cycle, until it hears of others.
func (d *Domain) simulate(end int64) {
	if d.purged == d.Cycle+1 { // who waited for what was discarded is awake
		d.tick(d.purged)
	}
	for d.Cycle < end {
		next, any := d.nextWork()
		if !any || next > end {
			d.Cycle = end
			return
		}
		d.tick(next)
	}
}

// nextWork is the next cycle in which anything can happen: the next one, if a switch
// has work, or that of the next arrival or fault.
func (d *Domain) nextWork() (cycle int64, any bool) {
	if d.anyActive() {
		return d.Cycle + 1, true
	}
	return d.nextChange()
}

// nextArrival is the next cycle in which a flit or credit arrives, or a terminal
// wakes or has set an alarm.
func (d *Domain) nextArrival() (cycle int64, any bool) {
	if next := d.Cycle + 1; d.Flits[toSwitches].Has(next) || d.Flits[toTerminals].Has(next) || d.wakes.Has(next) || d.Unit != nil && d.Unit.has(next) {
		return next, true
	}
	cycle = sooner(fabric.Never, d.Flits[toSwitches])
	if d.Unit != nil {
		cycle = sooner(sooner(cycle, d.Unit.events), d.Unit.schedules[0])
		if d.Unit.Followed != nil {
			cycle = sooner(cycle, d.Unit.Followed.tails)
		}
	}
	if cycle == d.Cycle+1 { // nothing is sooner
		return cycle, true
	}
	cycle = sooner(sooner(sooner(cycle, d.credits[0]), d.wakes), d.Flits[toTerminals])
	if d.held != nil {
		cycle = sooner(cycle, d.held)
	}
	if d.listener != nil {
		cycle = sooner(cycle, d.listener.alarms)
	}
	if d.behind != nil {
		if c, ok := d.behind.next(d.Cycle); ok {
			cycle = min(cycle, c)
		}
	}
	return cycle, cycle < fabric.Never
}

// sooner is the next cycle in which something is filed in a wheel, if that is before
// another one.
func sooner[T any](cycle int64, w *wheel.Wheel[T]) int64 {
	if c, ok := w.NextCycle(); ok {
		return min(cycle, c)
	}
	return cycle
}

// nextChange is the next cycle in which something arrives, a terminal wakes, a fault
// begins or ends, or an observer wants to look.
func (d *Domain) nextChange() (cycle int64, any bool) {
	cycle, any = d.nextArrival()
	if d.retry != nil {
		if len(d.doomed) > 0 {
			return d.Cycle + 1, true
		}
		if c, ok := d.retry.x.next(); ok && (!any || c < cycle) {
			cycle, any = c, true
		}
	}
	if d.observer != nil {
		if c := d.observer.Next(); c < fabric.Never && (!any || c < cycle) {
			cycle, any = c, true
		}
	}
	return cycle, any
}

// NextTick makes a Fabric, which then has one domain, a component of a sim.Kernel.
func (f *Fabric) NextTick() sim.Time {
	next, any := f.domains[0].nextWork()
	if !any {
		return sim.MaxTime
	}
	return sim.Time(next) * f.Config.Fabric.Clock
}

// Tick simulates the cycle that begins at now.
func (f *Fabric) Tick(now sim.Time) {
	f.cycle = int64(now / f.Config.Fabric.Clock)
	f.domains[0].tick(f.cycle)
	f.count()
	if f.ticks++; f.ticks%stopTicks == 0 && f.kernel != nil {
		f.kernel.Stop()
	}
}

// nextActive is the first mask word from a number on that has work; -1: none.
func (d *Domain) nextActive(from int) int {
	i := from >> 6
	if i >= len(d.active) {
		return -1
	}
	left := d.active[i] >> (from & 63) << (from & 63)
	for left == 0 {
		if i++; i == len(d.active) {
			return -1
		}
		left = d.active[i]
	}
	return i<<6 + bits.TrailingZeros64(left)
}

// evaluateInTurn evaluates the switches that have work, by number.
func (d *Domain) evaluateInTurn(c int64) {
	d.Steps.set(c)
	for word := d.nextActive(0); word >= 0; {
		s := d.WordSwitch[word]
		word = d.nextBehind(s)
		d.evaluate(d, &d.Switches[s], topology.SwitchID(s))
	}
}

// evaluateAhead does so for routings that do not look around. Each switch routes the packets
// that have come to it, and asks for the records of their ports, before the switch ahead of
// it is evaluated: these have come then when they are used.
func (d *Domain) evaluateAhead(c int64) {
	d.Steps.set(c)
	word, next := d.nextActive(0), int32(-1)
	for {
		this := next
		if next = -1; word >= 0 {
			next = d.WordSwitch[word]
			word = d.nextBehind(next)
			d.routeAhead(next)
		}
		if this >= 0 {
			d.evaluate(d, &d.Switches[this], topology.SwitchID(this))
		} else if next < 0 {
			return
		}
	}
}

// nextBehind is the first mask word with work of the switches behind one; -1: none. It asks
// for the queues there.
func (d *Domain) nextBehind(s int32) int {
	sw := &d.Switches[s]
	word := d.nextActive(int(sw.Queue0>>6) + len(sw.masks))
	if d.large && word >= 0 {
		d.prefetchQueues(word)
	}
	return word
}

// routeAhead routes what has come to a switch.
func (d *Domain) routeAhead(s int32) {
	sw := &d.Switches[s]
	for w := range sw.masks {
		if sw.masks[w].route != 0 {
			d.routeArrivals(sw, topology.SwitchID(s), w)
		}
	}
	d.followRouting(sw)
}

// mayRouteAhead tells whether evaluateAhead gives the same results, and is worth while: no
// decision may go by what other switches do in its cycle.
func (d *Domain) mayRouteAhead() bool {
	return d.large && d.memory == nil && d.Unit != nil && d.Unit.timed
}
