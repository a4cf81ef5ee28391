package fabric

import (
	"math/bits"
	"unsafe"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/mem"
)

// Advance simulates so many cycles.
func (f *Fabric) Advance(cycles int64) {
	if f.shards != nil {
		f.shards.advance(f, cycles)
		return
	}
	f.simulate(cycles)
}

// simulate is Advance on one thread.
func (f *Fabric) simulate(cycles int64) {
	for end := f.cycle + cycles; f.cycle < end; {
		next := f.cycle + 1
		if !f.anyActive() {
			// Nothing can happen before the next arrival: skip to it.
			idle, any := f.nextChange()
			if !any || idle > end {
				f.cycle = end
				return
			}
			next = idle
		}
		f.tick(next)
	}
}

// nextArrival is the next cycle in which a flit or credit arrives, or a terminal
// wakes or has set an alarm.
func (f *Fabric) nextArrival() (cycle int64, any bool) {
	cycle = sooner(Never, f.flits[toSwitches])
	if f.unit != nil {
		cycle = sooner(sooner(cycle, f.unit.events), f.unit.ramps[0])
	}
	if cycle == f.cycle+1 { // nothing is sooner
		return cycle, true
	}
	cycle = sooner(sooner(sooner(cycle, f.credits[0]), f.wakes), f.flits[toTerminals])
	if f.held != nil {
		cycle = sooner(cycle, f.held)
	}
	if f.alarms != nil {
		cycle = sooner(cycle, f.alarms)
	}
	if f.behind != nil {
		if c, ok := f.behind.next(f.cycle); ok {
			cycle = min(cycle, c)
		}
	}
	return cycle, cycle < Never
}

// sooner is the next cycle in which something is filed in a wheel, if that is before
// another one.
func sooner[T any](cycle int64, w *sim.Wheel[T]) int64 {
	if c, ok := w.NextCycle(); ok {
		return min(cycle, c)
	}
	return cycle
}

// nextChange is the next cycle in which something arrives, a terminal wakes, or
// a fault begins or ends.
func (f *Fabric) nextChange() (cycle int64, any bool) {
	cycle, any = f.nextArrival()
	if f.faults != nil {
		if c, ok := f.faults.next(f.cycle); ok && (!any || c < cycle) {
			cycle, any = c, true
		}
	}
	return cycle, any
}

// NextTick makes a Fabric a component of a sim.Kernel.
func (f *Fabric) NextTick() sim.Time {
	next := f.cycle + 1
	if !f.anyActive() {
		idle, any := f.nextChange()
		if !any {
			return sim.MaxTime
		}
		next = idle
	}
	return sim.Time(next) * f.config.Fabric.Clock
}

// Tick simulates the cycle that begins at now.
func (f *Fabric) Tick(now sim.Time) { f.tick(int64(now / f.config.Fabric.Clock)) }

// tick simulates cycle c: first everything that arrives, in any order, then
// the switches that have work, by number. What a switch does reaches others at
// least one cycle later.
func (f *Fabric) tick(c int64) {
	f.cycle = c
	if f.faults != nil {
		f.faults.tick(f, c)
	}
	if f.unit != nil {
		f.unit.arrive(f, c)
	} else {
		f.arriveCredits(c)
	}
	if f.held != nil {
		f.releaseCredits(c)
	}
	if f.behind != nil {
		f.behind.release(f, c)
	}
	f.arriveFlits(c)
	if f.alarms != nil {
		f.ring(c)
	}
	f.serveTerminals(c)
	f.steps.set(c)
	for word := f.nextActive(0); word >= 0; {
		s := f.wordSwitch[word]
		sw := &f.switches[s]
		word = f.nextActive(int(sw.queue0>>6) + len(sw.masks))
		if f.large && word >= 0 {
			f.prefetchQueues(word)
		}
		f.evaluate(sw, topology.SwitchID(s))
	}
	if f.blame != nil {
		f.blame.endCycle(f)
	}
}

// nextActive is the first mask word from a number on that has work; -1: none.
func (f *Fabric) nextActive(from int) int {
	i := from >> 6
	if i >= len(f.active) {
		return -1
	}
	left := f.active[i] >> (from & 63) << (from & 63)
	for left == 0 {
		if i++; i == len(f.active) {
			return -1
		}
		left = f.active[i]
	}
	return i<<6 + bits.TrailingZeros64(left)
}

func (f *Fabric) arriveCredits(c int64) {
	for batch := f.credits[0].Next(c); batch != nil; batch = f.credits[0].Next(c) {
		if f.large {
			mem.PrefetchEach(&batch[0], len(batch), 4, unsafe.Pointer(&f.outVC[0]), unsafe.Sizeof(outVC{}))
		}
		if f.sensing != nil {
			f.sensing.returned(f, batch, c)
		}
		for _, ov := range batch {
			o := of(f.outVC, uint32(ov))
			o.credits++
			if o.credits == 1 || f.cutThrough {
				f.creditReturned(o, ov)
			}
		}
	}
}

// creditReturned wakes who may have waited for a credit that has come back: the
// first credit of a virtual channel or, under cut-through, any.
func (f *Fabric) creditReturned(o *outVC, ov int32) {
	if ov >= f.terminalOV0 {
		f.creditTerminal(ov)
		return
	}
	if o.credits == 1 && o.owner >= 0 {
		f.wakeQueue(o.owner)
	} else if f.combined != 0 || f.cutThrough {
		f.wakeWaiters(&f.out[ov/int32(f.vcs)])
	}
}

// wakeQueue puts a packet that stopped for want of a credit back to work, if
// its next flit is there.
func (f *Fabric) wakeQueue(q int32) {
	if f.queues[q].count > 0 {
		f.masks[q>>6].sa |= 1 << (q & 63)
		f.activate(q >> 6)
		if f.observed {
			f.resumes(q, PartSwitch)
		}
	}
}

func (f *Fabric) arriveFlits(c int64) {
	for batch := f.flits[toTerminals].Next(c); batch != nil; batch = f.flits[toTerminals].Next(c) {
		if f.large {
			f.touched += f.touchPackets(batch)
		}
		for i := range batch {
			f.deliver(&batch[i])
		}
	}
	for batch := f.flits[toSwitches].Next(c); batch != nil; batch = f.flits[toSwitches].Next(c) {
		if f.large {
			mem.PrefetchEach(&batch[0].queue, len(batch), unsafe.Sizeof(flit{}), unsafe.Pointer(&f.queues[0]), unsafe.Sizeof(inVC{}))
			if f.unit != nil {
				f.prefetchTrains(batch)
			}
		}
		for i := range batch {
			e := &batch[i]
			v := of(f.queues, uint32(e.queue))
			hop := v.hop // of the packet that a body flit belongs to
			if v.count == 0 {
				v.packet, v.dst, v.state = e.packet, e.dst, e.state
			} else {
				hop = f.append(v, e)
				if f.blame != nil && e.packet&tailFlit != 0 {
					f.blame.joins(f, e)
				}
			}
			v.count++
			word, bit := e.queue>>6, uint64(1)<<(e.queue&63)
			if e.packet&headFlit != 0 {
				of(f.masks, uint32(word)).route |= bit
				f.activate(word)
				continue
			}
			if f.occupancy {
				f.countWaiting(word, hop)
			}
			if v.count == 1 { // its packet holds an output already
				f.masks[word].sa |= bit
				f.activate(word)
				if f.blame != nil && e.packet&tailFlit != 0 {
					f.blame.joins(f, e)
				}
			}
		}
		if f.trace != nil {
			f.trace.arrived(f, batch)
		}
	}
}

// append puts a flit behind the others of a queue and returns the decision for
// the packet that the last of those belongs to.
func (f *Fabric) append(v *inVC, e *flit) (hop uint32) {
	n := f.poolFree
	if n == 0 {
		f.pool = append(f.pool, buffered{})
		n = int32(len(f.pool))
	} else {
		f.poolFree = f.pool[n-1].next
	}
	hop = v.hop
	next := n // a single flit in the pool follows itself
	if v.count > 1 {
		last := &f.pool[v.last-1]
		hop, next = last.hop, last.next
		last.next = n
	}
	v.last = n
	f.pool[n-1] = buffered{next, queued{e.packet, e.dst, e.state, hop}}
	return hop
}

// countWaiting counts a flit of a routed packet as waiting for its output.
func (f *Fabric) countWaiting(word int32, hop uint32) {
	if hop != multicastHop {
		f.switches[f.wordSwitch[word]].outVC(lowestOV(hop, uint32(f.vcs))).waiting++
	}
}
