package core

import (
	"math/bits"
	"unsafe"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/mem"
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
	if d.Faults != nil {
		if len(d.doomed) > 0 {
			return d.Cycle + 1, true
		}
		if c, ok := d.Faults.next(); ok && (!any || c < cycle) {
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

// tick simulates cycle c: first terminals whose routing reads queues send and decide, in
// any order, then everything arrives, in any order, and other terminals send, and those
// that now have the credit that they lacked; then the switches do that have work, by
// number. What a switch does reaches others at least one cycle later.
func (d *Domain) tick(c int64) {
	d.Cycle, d.worked = c, c
	if d.Faults != nil && d.alone {
		d.Faults.tick(c)
	}
	if d.behind != nil {
		d.behind.release(d, c)
	}
	if d.observer != nil {
		d.observer.Begins(d)
	}
	if d.departsAhead {
		d.departing = true
		d.serveDue(c)
		d.departing = false
	}
	if d.Unit != nil {
		d.Unit.arrive(d, c)
	} else {
		d.arriveCredits(c)
	}
	if d.held != nil {
		d.releaseCredits(c)
	}
	d.arriveFlits(c)
	if d.listener != nil {
		d.listener.ring(c)
	}
	d.serveTerminals(c)
	d.Steps.set(c)
	if d.routesAhead {
		d.evaluateAhead()
	} else {
		d.evaluateInTurn()
	}
	if d.observer != nil {
		d.observer.EndCycle(d)
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

func (d *Domain) arriveCredits(c int64) {
	for batch := d.credits[0].Next(c); batch != nil; batch = d.credits[0].Next(c) {
		if d.large {
			mem.PrefetchEach(&batch[0], len(batch), 4, unsafe.Pointer(&d.OutVC[0]), unsafe.Sizeof(outVC{}))
		}
		if d.sensing != nil {
			d.sensing.returned(&d.network, batch, c)
		}
		for _, ov := range batch {
			o := check.At(d.OutVC, uint32(ov))
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
func (d *Domain) creditReturned(o *outVC, ov int32) {
	if ov >= d.terminalOV0 {
		d.creditTerminal(ov)
		return
	}
	if o.credits == 1 && o.owner >= 0 {
		d.wakeQueue(o.owner)
	} else if d.Combined != 0 || d.cutThrough {
		d.wakeWaiters(&d.Out[ov/int32(d.vcs)])
	}
}

// wakeQueue puts a packet that stopped for want of a credit back to work, if
// its next flit is there.
func (d *Domain) wakeQueue(q int32) {
	if d.Queues[q].Count > 0 {
		d.Masks[q>>6].sa |= 1 << (q & 63)
		d.activate(q >> 6)
		if d.Upcoming != nil && d.Upcoming[q].out < 0 {
			sw := &d.Switches[d.WordSwitch[q>>6]]
			d.offerSecond(sw, uint32(q-sw.Queue0), &d.Queues[q])
		}
		if d.observer != nil {
			d.observer.Resumes(d, q, PartSwitch)
		}
	}
}

func (d *Domain) arriveFlits(c int64) {
	if !d.Flits[toTerminals].Skip(c) {
		d.arriveAtTerminals(c)
	}
	if !d.Flits[toSwitches].Skip(c) {
		d.arriveAtSwitches(c)
	}
	if d.Unit != nil && d.Unit.Followed != nil {
		d.Unit.Followed.tailsArrive(d, c)
	}
}

func (d *Domain) arriveAtTerminals(c int64) {
	for batch := d.Flits[toTerminals].Next(c); batch != nil; batch = d.Flits[toTerminals].Next(c) {
		if d.large {
			d.touched += d.touchPackets(batch)
		}
		for i := range batch {
			d.deliver(&batch[i])
		}
	}
}

func (d *Domain) arriveAtSwitches(c int64) {
	timed := d.Unit != nil && d.Unit.timed
	for batch := d.Flits[toSwitches].Next(c); batch != nil; batch = d.Flits[toSwitches].Next(c) {
		if d.large {
			mem.PrefetchEach(&batch[0].Queue, len(batch), unsafe.Sizeof(Flit{}), unsafe.Pointer(&d.Queues[0]), unsafe.Sizeof(InVC{}))
			if d.Unit != nil {
				d.prefetchInflows(batch)
			}
		}
		for i := range batch {
			e := &batch[i]
			v := check.At(d.Queues, uint32(e.Queue))
			if v.Count == 1 && timed { // its packet may have left
				d.Unit.follows(d, e.Queue, v)
			}
			hop := v.Hop // of the packet that a body flit belongs to
			if v.Count == 0 {
				v.Packet, v.dst, v.State = e.Packet, e.dst, e.State
			} else {
				hop = d.append(v, e)
			}
			v.Count++
			if check.On && v.Count > d.buffer {
				d.broken("queue %d takes %d flits", e.Queue, v.Count)
			}
			word, bit := e.Queue>>6, uint64(1)<<(e.Queue&63)
			if e.Packet&HeadFlit != 0 {
				check.At(d.Masks, uint32(word)).route |= bit
				d.activate(word)
				continue
			}
			if d.needs.Queues {
				d.countWaiting(word, hop)
			}
			if v.Count == 1 { // its packet holds an output already
				d.Masks[word].sa |= bit
				d.activate(word)
			}
		}
		if d.observer != nil {
			if d.Unit != nil {
				d.Unit.Followed.headsArrive(d, batch)
			} else {
				d.observer.Arrived(d, batch)
			}
		}
	}
}

// append puts a flit behind the others of a queue and returns the decision for
// the packet that the last of those belongs to.
func (d *Domain) append(v *InVC, e *Flit) (hop uint32) {
	n := d.poolFree
	if n == 0 {
		d.Pool = append(d.Pool, buffered{})
		n = int32(len(d.Pool))
	} else {
		d.poolFree = d.Pool[n-1].Next
	}
	hop = v.Hop
	next := n // a single flit in the pool follows itself
	if v.Count > 1 {
		last := &d.Pool[v.Last-1]
		hop, next = last.Hop, last.Next
		last.Next = n
	}
	v.Last = n
	d.Pool[n-1] = buffered{next, Queued{e.Packet, e.dst, e.State, hop}}
	return hop
}

// largeState, which only tests change, is from how many bytes of state on a fabric
// asks for what it will touch: such as do not fit into the caches of one core.
var largeState = 1 << 20

// isLarge tells whether the network asks for its memory ahead.
func (s *state) isLarge() bool {
	bytes := len(s.Queues)*int(unsafe.Sizeof(InVC{})) + len(s.OutVC)*int(unsafe.Sizeof(outVC{})) +
		len(s.Out)*int(unsafe.Sizeof(OutPort{})) + len(s.Terminals)*int(unsafe.Sizeof(terminal{}))
	return mem.Prefetching && bytes > largeState
}

// prefetchQueues asks for the queues of a switch that have work, from a mask word
// on.
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

// prefetchPorts asks for the ports of a switch that packets come from and have
// been routed to in this cycle.
func (d *Domain) prefetchPorts(sw *SwitchState, inputs, outputs []int32) {
	n := len(outputs)
	mem.PrefetchEach(&outputs[0], n, 4, unsafe.Pointer(sw.outs.At(0)), unsafe.Sizeof(OutPort{}))
	mem.PrefetchEach(&outputs[0], n, 4, unsafe.Pointer(sw.outVCs.At(0)), uintptr(d.vcs)*unsafe.Sizeof(outVC{}))
	mem.PrefetchEach(&inputs[0], n, 4, unsafe.Pointer(sw.ins.At(0)), unsafe.Sizeof(inPort{}))
}

// prefetchTerminals asks for the sending side of some terminals.
func (d *Domain) prefetchTerminals(batch []int32) {
	n := len(batch)
	mem.PrefetchEach(&batch[0], n, 4, unsafe.Pointer(&d.Terminals[0]), unsafe.Sizeof(terminal{}))
	mem.PrefetchEach(&batch[0], n, 4, unsafe.Pointer(&d.Out[d.TerminalOut0]), unsafe.Sizeof(OutPort{}))
	mem.PrefetchEach(&batch[0], n, 4, unsafe.Pointer(&d.OutVC[d.terminalOV0]), uintptr(d.vcs)*unsafe.Sizeof(outVC{}))
	if d.prefetcher != nil {
		d.prefetcher.Prefetch(batch)
	}
}

// touchPackets reads the records of some packets all at once. The sum keeps it
// from being left out.
func (d *Domain) touchPackets(batch []Flit) (sum int32) {
	for i := range batch {
		sum += d.Packet(batch[i].Packet >> PacketBits).Flits
	}
	return sum
}

// evaluateInTurn evaluates the switches that have work, by number.
func (d *Domain) evaluateInTurn() {
	for word := d.nextActive(0); word >= 0; {
		s := d.WordSwitch[word]
		word = d.nextBehind(s)
		d.evaluate(&d.Switches[s], topology.SwitchID(s))
	}
}

// evaluateAhead does so for routings that do not look around. Each switch routes the packets
// that have come to it, and asks for the records of their ports, before the switch ahead of
// it is evaluated: these have come then when they are used.
func (d *Domain) evaluateAhead() {
	word, next := d.nextActive(0), int32(-1)
	for {
		this := next
		if next = -1; word >= 0 {
			next = d.WordSwitch[word]
			word = d.nextBehind(next)
			d.routeAhead(next)
		}
		if this >= 0 {
			d.evaluate(&d.Switches[this], topology.SwitchID(this))
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
