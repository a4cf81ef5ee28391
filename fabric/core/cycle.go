package core

import (
	"math/bits"
	"unsafe"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/mem"
)

// simulate is [Fabric.Advance] for a domain, up to a cycle, until it hears of others.
func (d *domain) simulate(end int64) {
	if d.purged == d.cycle+1 { // who waited for what was discarded is awake
		d.tick(d.purged)
	}
	for d.cycle < end {
		next, any := d.nextWork()
		if !any || next > end {
			d.cycle = end
			return
		}
		d.tick(next)
	}
}

// nextWork is the next cycle in which anything can happen: the next one, if a switch
// has work, or that of the next arrival or fault.
func (d *domain) nextWork() (cycle int64, any bool) {
	if d.anyActive() {
		return d.cycle + 1, true
	}
	return d.nextChange()
}

// nextArrival is the next cycle in which a flit or credit arrives, or a terminal
// wakes or has set an alarm.
func (d *domain) nextArrival() (cycle int64, any bool) {
	if next := d.cycle + 1; d.flits[toSwitches].Has(next) || d.flits[toTerminals].Has(next) || d.wakes.Has(next) || d.unit != nil && d.unit.has(next) {
		return next, true
	}
	cycle = sooner(fabric.Never, d.flits[toSwitches])
	if d.unit != nil {
		cycle = sooner(sooner(cycle, d.unit.events), d.unit.schedules[0])
		if d.unit.followed != nil {
			cycle = sooner(cycle, d.unit.followed.tails)
		}
	}
	if d.flitRuns != nil {
		cycle = min(cycle, d.flitRuns.next(d.cycle))
	}
	if cycle == d.cycle+1 { // nothing is sooner
		return cycle, true
	}
	cycle = sooner(sooner(sooner(cycle, d.credits[0]), d.wakes), d.flits[toTerminals])
	if d.held != nil {
		cycle = sooner(cycle, d.held)
	}
	if d.listener != nil {
		cycle = sooner(cycle, d.listener.alarms)
	}
	if d.behind != nil {
		if c, ok := d.behind.next(d.cycle); ok {
			cycle = min(cycle, c)
		}
	}
	return cycle, cycle < fabric.Never
}

// sooner is the next cycle in which something is filed in a wheel, if that is before
// another one.
func sooner[T any](cycle int64, w *sim.Wheel[T]) int64 {
	if c, ok := w.NextCycle(); ok {
		return min(cycle, c)
	}
	return cycle
}

// nextChange is the next cycle in which something arrives, a terminal wakes, a fault
// begins or ends, or an observer wants to look.
func (d *domain) nextChange() (cycle int64, any bool) {
	cycle, any = d.nextArrival()
	if d.faults != nil {
		if len(d.doomed) > 0 {
			return d.cycle + 1, true
		}
		if c, ok := d.faults.next(); ok && (!any || c < cycle) {
			cycle, any = c, true
		}
	}
	if d.observer != nil {
		if c := d.observer.next(); c < fabric.Never && (!any || c < cycle) {
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
	return sim.Time(next) * f.config.Fabric.Clock
}

// Tick simulates the cycle that begins at now.
func (f *Fabric) Tick(now sim.Time) {
	f.cycle = int64(now / f.config.Fabric.Clock)
	f.domains[0].tick(f.cycle)
	f.count()
	if f.ticks++; f.ticks%stopTicks == 0 && f.kernel != nil {
		f.kernel.Stop()
	}
}

// tick simulates cycle c: first terminals whose routing reads queues send and decide, in
// any order, then everything arrives, in any order, and other terminals send, and those
// that now have the credit that they lacked; then the switches do that have work, by
// number. What a switch does reaches others at least one cycle later.
func (d *domain) tick(c int64) {
	d.cycle, d.worked = c, c
	if d.faults != nil && d.alone {
		d.faults.tick(c)
	}
	if d.behind != nil {
		d.behind.release(d, c)
	}
	if d.observer != nil {
		d.observer.begins(d)
	}
	if d.departsAhead {
		d.departing = true
		d.serveDue(c)
		d.departing = false
	}
	if d.unit != nil {
		d.unit.arrive(d, c)
	} else {
		d.arriveCredits(c)
	}
	if d.flitRuns != nil && d.flitRuns.begun {
		d.flitRuns.arrive(d, c)
	}
	if d.held != nil {
		d.releaseCredits(c)
	}
	d.arriveFlits(c)
	if d.listener != nil {
		d.listener.ring(c)
	}
	d.serveTerminals(c)
	d.steps.set(c)
	if d.routesAhead {
		d.evaluateAhead()
	} else {
		d.evaluateInTurn()
	}
	if d.observer != nil {
		d.observer.endCycle(d)
	}
}

// nextActive is the first mask word from a number on that has work; -1: none.
func (d *domain) nextActive(from int) int {
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

func (d *domain) arriveCredits(c int64) {
	for batch := d.credits[0].Next(c); batch != nil; batch = d.credits[0].Next(c) {
		if d.large {
			mem.PrefetchEach(&batch[0], len(batch), 4, unsafe.Pointer(&d.outVC[0]), unsafe.Sizeof(outVC{}))
		}
		if d.sensing != nil {
			d.sensing.returned(&d.network, batch, c)
		}
		for _, ov := range batch {
			o := check.At(d.outVC, uint32(ov))
			o.credits++
			if check.On {
				d.checkCredits(ov)
			}
			if o.credits == 1 || d.cutThrough {
				d.creditReturned(o, ov)
			}
		}
	}
}

// creditReturned wakes who may have waited for a credit that has come back: the
// first credit of a virtual channel or, under cut-through, any.
func (d *domain) creditReturned(o *outVC, ov int32) {
	if ov >= d.terminalOV0 {
		d.creditTerminal(ov)
		return
	}
	if o.credits == 1 && o.owner >= 0 {
		d.wakeQueue(o.owner)
	} else if d.combined != 0 || d.cutThrough {
		d.wakeWaiters(&d.out[ov/int32(d.vcs)])
	}
}

// wakeQueue puts a packet that stopped for want of a credit back to work, if
// its next flit is there.
func (d *domain) wakeQueue(q int32) {
	if d.queues[q].count > 0 {
		d.masks[q>>6].sa |= 1 << (q & 63)
		d.activate(q >> 6)
		if d.upcoming != nil {
			sw := &d.switches[d.wordSwitch[q>>6]]
			d.offerSecond(sw, uint32(q-sw.queue0), &d.queues[q])
		}
		if d.observer != nil {
			d.observer.resumes(d, q, PartSwitch)
		}
	}
}

func (d *domain) arriveFlits(c int64) {
	if !d.flits[toTerminals].Skip(c) {
		d.arriveAtTerminals(c)
	}
	if !d.flits[toSwitches].Skip(c) {
		d.arriveAtSwitches(c)
	}
	if d.unit != nil && d.unit.followed != nil {
		d.unit.followed.tailsArrive(d, c)
	}
}

func (d *domain) arriveAtTerminals(c int64) {
	for batch := d.flits[toTerminals].Next(c); batch != nil; batch = d.flits[toTerminals].Next(c) {
		if d.large {
			d.touched += d.touchPackets(batch)
		}
		for i := range batch {
			d.deliver(&batch[i])
		}
	}
}

func (d *domain) arriveAtSwitches(c int64) {
	timed := d.unit != nil && d.unit.timed
	for batch := d.flits[toSwitches].Next(c); batch != nil; batch = d.flits[toSwitches].Next(c) {
		if d.large {
			mem.PrefetchEach(&batch[0].queue, len(batch), unsafe.Sizeof(flit{}), unsafe.Pointer(&d.queues[0]), unsafe.Sizeof(inVC{}))
			if d.unit != nil {
				d.prefetchInflows(batch)
			}
		}
		for i := range batch {
			e := &batch[i]
			v := check.At(d.queues, uint32(e.queue))
			if v.count == 1 && timed {
				d.unit.follows(d, e.queue, v)
			}
			hop := v.hop // of the packet that a body flit belongs to
			if v.count == 0 {
				v.packet, v.dst, v.state = e.packet, e.dst, e.state
			} else {
				hop = d.append(v, e)
			}
			v.count++
			if check.On && v.count > d.buffer {
				d.broken("queue %d takes %d flits", e.queue, v.count)
			}
			word, bit := e.queue>>6, uint64(1)<<(e.queue&63)
			if e.packet&headFlit != 0 {
				check.At(d.masks, uint32(word)).route |= bit
				d.activate(word)
				continue
			}
			if d.needs.Queues {
				d.countWaiting(word, hop)
			}
			if v.count == 1 { // its packet holds an output already
				d.masks[word].sa |= bit
				d.activate(word)
			}
		}
		if d.observer != nil {
			if d.unit != nil {
				d.unit.followed.headsArrive(d, batch)
			} else {
				d.observer.arrived(d, batch)
			}
		}
	}
}

// append puts a flit behind the others of a queue and returns the decision for
// the packet that the last of those belongs to.
func (d *domain) append(v *inVC, e *flit) (hop uint32) {
	n := d.poolFree
	if n == 0 {
		d.pool = append(d.pool, buffered{})
		n = int32(len(d.pool))
	} else {
		d.poolFree = d.pool[n-1].next
	}
	hop = v.hop
	next := n // a single flit in the pool follows itself
	if v.count > 1 {
		last := &d.pool[v.last-1]
		hop, next = last.hop, last.next
		last.next = n
	}
	v.last = n
	d.pool[n-1] = buffered{next, queued{e.packet, e.dst, e.state, hop}}
	return hop
}
