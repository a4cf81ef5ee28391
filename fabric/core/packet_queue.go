package core

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// begin has the packet at the front of a queue hold its ports until its tail crosses, in
// a step.
func (u *packetUnit) begin(d *Domain, sw *SwitchState, local, port, output uint32, tail int64) {
	held := check.Of(d.hold.ports).From(uint32(sw.Port0))
	held.At(port).input, held.At(output).output = true, true
	u.awaitTail(d, sw, local, output, tail)
}

// awaitTail takes a queue, whose head crosses to an output, out of the bidding until the
// tail crosses, in a step.
func (u *packetUnit) awaitTail(d *Domain, sw *SwitchState, local, output uint32, tail int64) {
	queue, bit := sw.Queue0+int32(local), uint64(1)<<(local&63)
	sw.mask(local).sa &^= bit
	sw.Queue(local).Ready = uint32(tail)
	m := check.At(u.streams, uint32(queue)>>6)
	m.under |= bit
	if c := d.Steps.CycleOf(tail); c > d.Cycle {
		u.at(c, tailCrosses, queue, sw.Port0+int32(output))
	} else {
		m.tail |= bit
		u.tails++
	}
}

// evaluatePackets is [Domain.evaluateAll] with packets as the unit.
func (d *Domain) evaluatePackets(sw *SwitchState, s topology.SwitchID) {
	u := d.Unit
	va, sa := d.routeAll(sw, s)
	u.tails = u.countTails(sw)
	for i := range d.Steps.n {
		t := &d.Steps.at[i]
		if va {
			d.allocateVCs(sw, t.Number)
		}
		if sa {
			d.allocate(d, sw, s, t)
		}
		u.step++
		if u.tails > 0 {
			u.pass(d, sw, t.Number)
		}
		if va, sa = sw.nextStep(); !va && !sa && u.tails == 0 {
			break // nothing is left to do
		}
	}
	u.step = 0
	d.rest(sw)
}

// countTails is the number of tails that cross in this cycle at a switch.
func (u *packetUnit) countTails(sw *SwitchState) (tails int) {
	first := check.Of(u.streams).From(uint32(sw.Queue0) >> 6)
	for w := range sw.masks {
		tails += bits.OnesCount64(first.At(uint32(w)).tail)
	}
	return tails
}

// pass has the tails cross that do so in a step at a switch: they release what their
// packets hold.
func (u *packetUnit) pass(d *Domain, sw *SwitchState, step uint32) {
	first, held := check.Of(u.streams).From(uint32(sw.Queue0)>>6), check.Of(d.hold.ports).From(uint32(sw.Port0))
	places := check.Of(d.Matcher.Places)
	for w := range sw.masks {
		m := first.At(uint32(w))
		for left := m.tail; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.Queue(local)
			if v.Ready != step {
				continue
			}
			u.tails--
			m.tail &^= left & -left
			if u.Followed != nil {
				u.Followed.tailCrosses(d, sw, local, v.Hop>>16, step)
			}
			m.under &^= left & -left
			if u.timed {
				u.leave(d, sw, local, v, step, false)
				continue
			}
			if v.dst < 0 {
				u.endPass(d, sw, local, v, step)
				continue
			}
			output := v.Hop >> 16
			in, out := held.At(uint32(places.At(local).Port)), held.At(output)
			in.input, out.output = false, false
			if d.watched {
				u.complete(d, sw.Port0+int32(output), crossing)
			}
			u.leave(d, sw, local, v, step, true)
			if in.inputWaiters|out.outputWaiters != 0 {
				u.wakeAll(d, &in.inputWaiters)
				u.wakeAll(d, &out.outputWaiters)
			}
		}
	}
}

// leave brings the next packet to the front of a queue whose packet has left in a step
// and releases the virtual channel if that packet held one.
func (u *packetUnit) leave(d *Domain, sw *SwitchState, local uint32, v *InVC, step uint32, held bool) {
	if held {
		ov, o := sw.outVC(uint32(v.Out)), sw.OutPort(v.Hop>>16)
		ov.owner = ^ov.owner
		o.free |= 1 << ((uint32(v.Out) - v.Hop>>16*uint32(d.vcs)) & 15)
		if o.waiters != 0 {
			d.wakeWaiters(o)
		}
		u.wakeMulticast(d, sw)
	}
	v.Out = -1
	m, bit := sw.mask(local), uint64(1)<<(local&63)
	m.sa &^= bit
	if v.Count--; v.Count > 0 {
		if d.Combined != 0 {
			m.sa |= bit
		} else {
			m.va |= bit
		}
		d.advance(v, step)
	}
	if d.Upcoming != nil && v.Count > 0 {
		d.leaves(sw, local, v, step)
	}
}

// sleep takes a queue out of the bidding until the ports that it waits for are let go.
func (u *packetUnit) sleep(d *Domain, sw *SwitchState, local uint32, list *int32) {
	if u.Followed != nil && u.Followed.polls {
		return
	}
	sw.mask(local).sa &^= 1 << (local & 63)
	queue := sw.Queue0 + int32(local)
	d.waitNext[queue] = *list
	*list = queue + 1
}

// sleepUntil takes a queue out of the bidding until a later cycle.
func (u *packetUnit) sleepUntil(d *Domain, sw *SwitchState, local uint32, cycle int64) {
	m := sw.mask(local)
	m.sa &^= 1 << (local & 63)
	if sw.Queue(local).Out < 0 { // otherwise it is the packet behind that asks
		m.va &^= 1 << (local & 63)
	}
	u.at(cycle, queueWakes, sw.Queue0+int32(local), sw.Port0)
}

// wakeAll lets those of a list bid again.
func (u *packetUnit) wakeAll(d *Domain, list *int32) {
	for q := *list; q != 0; q = d.waitNext[q-1] {
		u.wake(d, q-1)
	}
	*list = 0
}

// wake lets the packet at the front of a queue bid again.
func (u *packetUnit) wake(d *Domain, queue int32) {
	m, bit := &d.Masks[queue>>6], uint64(1)<<(queue&63)
	if d.Combined == 0 && d.Queues[queue].Out < 0 {
		m.va |= bit
	} else {
		m.sa |= bit
	}
	d.activate(queue >> 6)
}

// arrive takes what has come in cycle c beside heads.
func (u *packetUnit) arrive(d *Domain, c int64) {
	if u.timed && c-u.swept >= sweepEvery {
		u.sweep(d, c)
	}
	if !u.schedules[0].Skip(c) {
		u.arriveCredits(d, c)
	}
	if u.events.Skip(c) {
		return
	}
	for batch := u.events.Next(c); batch != nil; batch = u.events.Next(c) {
		if d.large {
			u.prefetchTails(d, batch)
		}
		for _, e := range batch {
			switch e.kind {
			case tailCrosses:
				u.streams[e.number>>6].tail |= 1 << (e.number & 63)
				d.activate(e.number >> 6)
			case queueWakes:
				u.wake(d, e.number)
			case creditsCome:
				if r := &u.credits[e.number]; r.roomAt == c {
					r.roomAt = fabric.Never
				}
				u.wakeFor(d, e.number)
			}
		}
	}
}

// has tells whether credits or an event come in the cycle after this one.
func (u *packetUnit) has(next int64) bool { return u.schedules[0].Has(next) || u.events.Has(next) }

// queuedFlits is the length of the packets in a queue of the domain; 0 while the tail of the first is
// known to leave.
func (u *packetUnit) queuedFlits(d *Domain, queue int32) (flits int) {
	v := &d.Queues[queue]
	if v.Count == 0 || u.streams[queue>>6].under>>(queue&63)&1 != 0 {
		return 0
	}
	flits = int(d.flitsOf(v.Packet >> PacketBits))
	pool, n := d.Pool, v.Last
	for range v.Count - 1 {
		n = pool[n-1].Next
		flits += int(d.flitsOf(pool[n-1].Packet >> PacketBits))
	}
	return flits
}

// flitSchedule is when each flit of a packet does something, such as cross a switch, or when
// its credit comes back, kept as a few lines in place of an event a flit: flit i does
// it in the cycle in which the largest of at[k] + i*slope(every[k]) falls. Times are
// in cycles << intervalShift. 56 bytes.
//
// The lines are those of what limits the flits of a packet that holds its ports: the
// core takes those that are stored, one a step; others come no faster than the channel
// brings them, or than a slower one before it did; the output takes them no faster
// than its channel; and credits leave no faster than their wires take them.
type flitSchedule struct {
	at    [scheduleLines]int64
	every [scheduleLines]uint8 // slope, of packetUnit.slopes
	lines int8                 // in use
	flits int32
	done  int32 // flits that have been counted already
	ov    int32 // output virtual channel that it is about; -1: the schedule is of nothing
	port  int32 // of ov, as of Fabric.out, where it is of credits
}

const scheduleLines = 4

// start makes an empty schedule one of so many flits, with a line for the first of what limits
// them.
func (r *flitSchedule) start(flits, ov int32, at int64, every uint8) {
	r.at[0], r.every[0] = at, every
	r.lines, r.flits, r.ov = 1, flits, ov
}

// copyTo copies a schedule that has just been made, line by line (see [Domain.crossPackets]), but
// for its port. No two neighbours are copied together: the compiler would make one of them.
func (r *flitSchedule) copyTo(to *flitSchedule) {
	for k := range to.at {
		to.at[k], to.every[k] = r.at[k], r.every[k]
	}
	to.lines, to.flits, to.ov = r.lines, r.flits, r.ov
	to.done, to.port = 0, 0
}

// limit adds a line, unless one that is there lies above it everywhere.
func (r *flitSchedule) limit(u *packetUnit, at int64, every uint8) {
	last := int64(r.flits - 1)
	end := at + last*u.slopes[every]
	for k := range r.lines {
		if r.at[k] >= at && r.at[k]+last*u.slopes[r.every[k]] >= end {
			return
		}
	}
	if int(r.lines) == scheduleLines {
		panic("core: a packet is limited in more ways than there are")
	}
	r.at[r.lines], r.every[r.lines] = at, every
	r.lines++
}

// time is the cycle of flit i.
func (r *flitSchedule) time(u *packetUnit, i int32) int64 { return r.exact(u, i) >> IntervalShift }

// exact is the time of flit i in cycles << intervalShift.
func (r *flitSchedule) exact(u *packetUnit, i int32) int64 {
	t := r.at[0] + int64(i)*u.slopes[r.every[0]]
	for k := int8(1); k < r.lines; k++ {
		t = max(t, r.at[k]+int64(i)*u.slopes[r.every[k]])
	}
	return t
}

// before is the number of flits before a time in cycles << intervalShift.
func (r *flitSchedule) before(u *packetUnit, time int64) int32 {
	n := int64(r.flits)
	last := time - 1
	for k := range r.lines {
		left, slope := last-r.at[k], u.slopes[r.every[k]]
		if left < 0 {
			return 0
		}
		if n*slope > left {
			if slope == 1<<IntervalShift { // one a cycle, as nearly always
				n = left>>IntervalShift + 1
			} else {
				n = left/slope + 1
			}
		}
	}
	return int32(min(n, int64(r.flits)))
}

// take is how many flits there are before a time that no call before has returned.
func (r *flitSchedule) take(u *packetUnit, time int64) int32 {
	n := r.before(u, time)
	fresh := n - r.done
	r.done = n
	return fresh
}

// delay puts a schedule off.
func (r *flitSchedule) delay(time int64) {
	for k := range r.lines {
		r.at[k] += time
	}
}

// from drops the first flits of a schedule.
func (r *flitSchedule) from(u *packetUnit, i int32) {
	for k := range r.lines {
		r.at[k] += int64(i) * u.slopes[r.every[k]]
	}
	r.flits -= i
}

// In most networks nothing can come between the head of a packet and its tail: ports are
// then not held until the tail lets them go but up to a step that is known from the
// start, and who waits for them knows when to ask again. The tail itself is an event only
// where another packet is behind it in its queue. Otherwise the queue is found to be empty
// when the next packet comes.

// timesHolds tells whether ports are held up to a time.
func (u *packetUnit) timesHolds(d *Domain) bool {
	return u.soon(d) && u.requestsPlainly(d) && !d.watched && u.Followed == nil && d.multicast == nil && d.Upcoming == nil && d.lanes == nil
}

// holdUntil has the packet at the front of a queue hold its ports up to a step, that of its
// tail.
func (u *packetUnit) holdUntil(d *Domain, sw *SwitchState, local, port, output uint32, tail int64) {
	in, v := sw.inPort(port), sw.Queue(local)
	in.until, in.by, sw.OutPort(output).until = tail, uint8(local-port*uint32(d.vcs)), tail
	if v.Count > 1 {
		u.awaitTail(d, sw, local, output, tail)
		return
	}
	bit := uint64(1) << (local & 63)
	sw.mask(local).sa &^= bit
	v.Ready = uint32(tail)
	check.At(u.streams, uint32(sw.Queue0)>>6+local>>6).under |= bit
}

// waitUntil takes a queue out of the bidding until the step after another one, if that is in
// a later cycle.
func (u *packetUnit) waitUntil(d *Domain, sw *SwitchState, local uint32, step int64) {
	if c := d.Steps.CycleOf(step + 1); c > d.Cycle {
		sw.mask(local).sa &^= 1 << (local & 63)
		u.at(c, queueWakes, sw.Queue0+int32(local), sw.Port0)
	}
}

// follows makes way for a packet that comes into a queue of one packet.
func (u *packetUnit) follows(d *Domain, queue int32, v *InVC) {
	m, bit := check.At(u.streams, uint32(queue)>>6), uint64(1)<<(queue&63)
	if m.under&bit == 0 {
		return
	}
	first := d.Steps.FirstStep(d.Cycle)
	tail := first + int64(int32(v.Ready-uint32(first))) // [packetUnit.sweep] sees to it that this is not long ago
	if tail < first {
		m.under &^= bit
		v.Count, v.Out = 0, -1
	} else if c := d.Steps.CycleOf(tail); c > d.Cycle {
		u.at(c, tailCrosses, queue, d.Switches[d.WordSwitch[queue>>6]].Port0+int32(v.Hop>>16))
	} else {
		m.tail |= bit
	}
}

// CrossingCycles is the step in which the tail of the packet under way from a queue crosses, if
// that is in a cycle or later; otherwise -1.
func (u *packetUnit) crossing(d *Domain, queue int32, cycle int64) int64 {
	sw := &d.Switches[d.WordSwitch[queue>>6]]
	place := check.At(d.Matcher.Places, uint32(queue-sw.Queue0))
	in := sw.inPort(uint32(place.Port))
	if uint16(in.by) != place.vc || in.until < d.Steps.FirstStep(cycle) {
		return -1
	}
	return in.until
}

// passAll empties, between cycles, the queues whose packets have left them.
func (u *packetUnit) passAll(d *Domain) {
	if !u.timed {
		return
	}
	for word := range u.streams {
		u.passWord(d, int32(word), d.Cycle+1)
	}
}

// passWord empties the queues of a mask word whose packets have left them before a cycle.
func (u *packetUnit) passWord(d *Domain, word int32, cycle int64) {
	m := &u.streams[word]
	for left := m.under; left != 0; left &= left - 1 {
		q := word<<6 + int32(bits.TrailingZeros64(left))
		if v := &d.Queues[q]; v.Count == 1 && u.crossing(d, q, cycle) < 0 {
			m.under &^= left & -left
			v.Count, v.Out = 0, -1
		}
	}
}

// sweepEvery is how many cycles pass at least between two sweeps: fewer than the steps
// of a queue, modulo 2^32, tell apart.
const sweepEvery = 1 << 24

// sweep empties, before anything happens in cycle c, the queues whose packets have left
// them, now and then: steps of queues are told apart only if they are not too far away.
func (u *packetUnit) sweep(d *Domain, c int64) {
	u.swept = c
	for _, s := range d.Mine {
		sw := &d.Switches[s]
		for w := range sw.masks {
			u.passWord(d, sw.Queue0>>6+int32(w), c)
		}
	}
}

// soon tells whether tails cross so soon behind their heads that steps modulo 2^32 say
// when.
func (u *packetUnit) soon(d *Domain) bool {
	longest := int64(0)
	for _, p := range d.paces {
		longest = max(longest, p.Interval)
	}
	return float64(d.buffer)*float64(longest>>IntervalShift+1)*MaxSpeedup < 1<<29
}
