package core

import (
	"math/bits"
	"unsafe"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/wheel"
)

// simulate is [Fabric.Advance] for a domain, up to a cycle, until it hears of others.
func (d *Domain) simulate(end int64) {
	if d.purged == d.Cycle+1 { // who waited for what was discarded is awake
		d.tick(d.purged)
	}
	for d.Cycle < end {
		next := d.nextWork()
		if next > end {
			d.Cycle = end
			return
		}
		d.tick(next)
	}
}

// nextWork is the next cycle in which anything can happen: the next one if a switch has work, else
// that of the next arrival or fault; Never if none.
func (d *Domain) nextWork() int64 {
	if d.anyActive() {
		return d.Cycle + 1
	}
	return d.nextChange()
}

// nextArrival is the next cycle in which a flit, credit, wake or alarm of a terminal comes; Never
// if none.
func (d *Domain) nextArrival() int64 {
	if next := d.Cycle + 1; d.Flits[toSwitches].Has(next) || d.Flits[toTerminals].Has(next) || d.wakes.Has(next) || d.Unit != nil && d.Unit.has(next) {
		return next
	}
	cycle := sooner(fabric.Never, d.Flits[toSwitches])
	if d.Unit != nil {
		cycle = sooner(sooner(cycle, d.Unit.events), d.Unit.schedules[0])
		if d.Unit.Followed != nil {
			cycle = sooner(cycle, d.Unit.Followed.tails)
		}
	}
	if cycle == d.Cycle+1 { // nothing is sooner
		return cycle
	}
	cycle = sooner(sooner(sooner(cycle, d.credits[0]), d.wakes), d.Flits[toTerminals])
	if d.held != nil {
		cycle = sooner(cycle, d.held)
	}
	if d.listener != nil {
		cycle = sooner(cycle, d.listener.alarms)
	}
	if d.behind != nil {
		cycle = min(cycle, d.behind.next(d.Cycle))
	}
	return cycle
}

// sooner is the earlier of a cycle and the next one in which something is filed in a wheel.
func sooner[T any](cycle int64, w *wheel.Wheel[T]) int64 {
	if c, ok := w.NextCycle(); ok {
		return min(cycle, c)
	}
	return cycle
}

// nextChange is the next cycle with an arrival, a wake, the begin or end of a fault, or a look of
// an observer; Never if there is none.
func (d *Domain) nextChange() int64 {
	if len(d.doomed) > 0 {
		return d.Cycle + 1
	}
	cycle := d.nextArrival()
	if d.retry != nil {
		cycle = min(cycle, d.retry.x.next())
	}
	if d.observer != nil {
		cycle = min(cycle, d.observer.Next())
	}
	return cycle
}

// NextTick makes a Fabric of one domain a component of a sim.Kernel.
func (f *Fabric) NextTick() sim.Time { return f.domains[0].NextTick() }

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

// evaluateAhead is evaluateInTurn for routings that read no other switch: while one switch is evaluated,
// the next has routed its packets and asked memory for the records of their ports.
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

// nextBehind is the first mask word with work of the switches behind s, -1: none. It prefetches
// queues.
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

// mayRouteAhead tells whether evaluateAhead gives the same results and pays: no decision may read
// what other switches do in its cycle.
func (d *Domain) mayRouteAhead() bool {
	return d.large && d.memory == nil && d.Unit != nil && d.Unit.timed
}

// NextTick implements [sim.Clocked].
func (d *Domain) NextTick() sim.Time {
	next := d.nextWork()
	if next == fabric.Never {
		return sim.MaxTime
	}
	return sim.Time(next) * d.Config.Fabric.Clock
}

// Tick implements [sim.Clocked].
func (d *Domain) Tick(now sim.Time) { d.tick(int64(now / d.Config.Fabric.Clock)) }

// stopTicks is the number of ticks after which a single kernel stops to ask its models, which may
// want to write the state: few large messages make hardly any events.
const stopTicks = 1 << 12

// consultModel lets the host model work before the next window, and skips cycles without events.
func (f *Fabric) consultModel() {
	for first := f.from + 1; ; {
		next := min(f.hostModel.Before(first, f.end), f.nextWork(first))
		if next <= first {
			break
		}
		if next > f.end {
			f.from, f.until = f.end-1, f.end
			return
		}
		f.from, first = next-1, next
	}
	f.until = min(f.end, f.from+f.lookahead)
}

// nextWork is the first cycle in which anything can happen, from first on; all before is simulated.
// Never if nothing will.
func (f *Fabric) nextWork(first int64) int64 {
	for _, d := range f.domains {
		if d.anyActive() {
			return first
		}
	}
	next := fabric.Never
	for _, d := range f.domains {
		next = min(next, d.nextChange(), d.sent)
	}
	return next
}

// over tells whether nothing more will happen at hosts or in the network. It then takes back the
// last cycles, in which nothing happened.
func (f *Fabric) over() bool {
	if !f.hostModel.Over(f.cycle) || f.nextWork(f.cycle+1) < fabric.Never {
		return false
	}
	f.cycle = f.lastWork()
	for _, d := range f.domains {
		d.Cycle = f.cycle
	}
	return true
}

// lastWork is the last cycle in which something happened; -1: none.
func (f *Fabric) lastWork() int64 {
	last := int64(-1)
	for _, d := range f.domains {
		last = max(last, d.worked)
	}
	return last
}

// Ended tells whether nothing is left to do: all packets have arrived or been given up.
func (f *Fabric) Ended() bool {
	if f.hostModel != nil {
		return f.over()
	}
	return f.Idle() && f.Settled()
}

// Idle tells whether nothing is going to happen any more.
func (f *Fabric) Idle() bool {
	for _, d := range f.domains {
		if d.anyActive() || min(d.nextArrival(), d.sent) < fabric.Never {
			return false
		}
	}
	return true
}

// prefetchQueues asks memory for a switch's queues with work, from a mask word on.
func (d *Domain) prefetchQueues(word int) {
	sw := &d.Switches[d.WordSwitch[word]]
	for w := range sw.masks {
		m := &sw.masks[w]
		if set := m.route | m.va | m.sa; set != 0 {
			mem.PrefetchSet(set, unsafe.Pointer(sw.Queue(uint32(w<<6))), unsafe.Sizeof(InVC{}))
			if d.vcs > 1 {
				mem.PrefetchSet(set, unsafe.Pointer(&d.acceptOV[int(sw.Queue0)+w<<6]), 4)
			}
		}
	}
}
