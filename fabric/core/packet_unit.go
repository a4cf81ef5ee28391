package core

import (
	"math"
	"slices"
	"unsafe"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/mem"
)

// newPacketUnit makes what f needs beyond its state for flits.
func newPacketUnit(f *Fabric) *packetUnit {
	u := &packetUnit{
		credits: make([]portCredits, len(f.Out)), streams: make([]streams, len(f.Masks)),
	}
	for i := range u.credits {
		u.credits[i].ov, u.credits[i].roomAt = -1, fabric.Never
	}
	for i, p := range f.paces {
		like := slices.IndexFunc(f.paces[:i], func(q pace) bool { return q.Interval == p.Interval && q.window == p.window })
		if like < 0 {
			f.paces[i].slope = u.slope(p.Interval)
		} else {
			f.paces[i].slope = f.paces[like].slope
		}
	}
	s := &f.Config.Switch
	u.stepRate = u.slope(int64(math.Ceil((1 << IntervalShift) / s.Speedup)))
	u.creditRate = u.stepRate
	if float64(s.CreditsPerCycle) < s.Speedup && s.CreditsPerCycle > 0 {
		u.creditRate = u.slope(f.creditInterval)
	}
	if f.watched {
		u.flows, u.quiet = make([][]flow, len(f.in)), make([]int64, len(f.in))
		few := mem.HugePages(make([]flow, fewFlows*len(f.in)))
		for p := range u.flows {
			u.flows[p], few = few[:0:fewFlows], few[fewFlows:]
		}
	}
	return u
}

// prefetchTails asks for what the tails of a cycle are going to touch.
func (u *packetUnit) prefetchTails(d *Domain, batch []event) {
	n, size := len(batch), unsafe.Sizeof(event{})
	mem.PrefetchEach(&batch[0].number, n, size, unsafe.Pointer(&d.Queues[0]), unsafe.Sizeof(InVC{}))
	if u.timed { // they do not let go of anything
		return
	}
	if d.watched {
		for i := range batch {
			if e := &batch[i]; e.kind == tailCrosses {
				u.prefetchFlowsOf(e.port)
			}
		}
	}
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&d.Out[0]), unsafe.Sizeof(OutPort{}))
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&d.OutVC[0]), uintptr(d.vcs)*unsafe.Sizeof(outVC{}))
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&d.hold.ports[0]), unsafe.Sizeof(heldPort{}))
}

// prefetchFlows asks for what a look at some ports is going to touch.
func (u *packetUnit) prefetchFlows(d *Domain, first, count int32) {
	for port := first; port < first+count; port++ {
		if d.watched && d.Cycle >= u.quiet[port] {
			u.prefetchFlowsOf(port)
			mem.Prefetch(unsafe.Pointer(&u.credits[port]))
		}
	}
}

// prefetchFlowsOf asks for the first of the flows of a port.
func (u *packetUnit) prefetchFlowsOf(port int32) {
	mem.PrefetchRow(unsafe.Pointer(unsafe.SliceData(u.flows[port])))
}

// prefetchCredits asks for what the credits of a cycle are going to touch.
func (u *packetUnit) prefetchCredits(d *Domain, batch []flitSchedule) {
	n, size := len(batch), unsafe.Sizeof(flitSchedule{})
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&u.credits[0]), unsafe.Sizeof(portCredits{}))
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&d.Out[0]), unsafe.Sizeof(OutPort{}))
	mem.PrefetchEach(&batch[0].ov, n, size, unsafe.Pointer(&d.OutVC[0]), unsafe.Sizeof(outVC{}))
}

// prefetchInflows asks for the records of packets whose heads arrive.
func (d *Domain) prefetchInflows(batch []Flit) {
	for i := range batch {
		mem.Prefetch(unsafe.Pointer(d.inflow(batch[i].Packet >> PacketBits)))
	}
}

// prefetchHolds asks for what tells whether the ports of heads that have been routed are held.
func (u *packetUnit) prefetchHolds(d *Domain, sw *SwitchState, inputs, outputs []int32) {
	n, held := len(outputs), unsafe.Pointer(&d.hold.ports[sw.Port0])
	mem.PrefetchEach(&outputs[0], n, 4, held, unsafe.Sizeof(heldPort{}))
	mem.PrefetchEach(&inputs[0], n, 4, held, unsafe.Sizeof(heldPort{}))
}

type transit struct {
	in      inflow // how it comes
	granted int64  // step
	crossed int64  // step in which its last flit crosses
	first   int64  // when its first flit leaves by the channel, in cycles << intervalShift
	last    int64  // and its last
	window  int64  // of the output's pace
	lov     int32  // local output virtual channel
	decided int32  // likewise: that its flits are counted under while they wait
	late    bool   // the last flit leaves when it has come, not when the channel is free
	pace    uint8  // of the output
}

// follow finds when a packet's last flit crosses, and leaves by a channel with that interval.
func (c *transit) follow(u *packetUnit, d *Domain, interval int64) {
	s, rest := &d.Steps, int64(c.in.flits-1)
	c.crossed, c.last = c.granted+rest, c.first+rest*interval
	if rest == 0 {
		return
	}
	if c.window < fabric.Never { // before that, there is no room behind the crossbar
		c.crossed = max(c.crossed, s.FirstStep((c.last-c.window)>>IntervalShift+1))
	}
	if c.in.tail > d.Cycle {
		step := s.FirstStep(c.in.tail)
		c.crossed = max(c.crossed, step)
		if last := s.CycleFrom(step+s.Traverse) << IntervalShift; last > c.last {
			c.last, c.late = last, true
		}
		if s.Whole == 0 {
			c.phases(u, d, interval)
		}
	}
}

// phases is follow where stages take a cycle more or less by their first cycle: earlier flits may
// leave so late that they hold up the last.
func (c *transit) phases(u *packetUnit, d *Domain, interval int64) {
	const longest = 10 // cycles until the phases come again, of speedups with a digit behind the point
	s, rest := &d.Steps, int64(c.in.flits-1)
	for k := int64(1); k <= min(rest, longest); k++ {
		a := max(WholeCycle(c.in.head+(rest-k)*u.slopes[c.in.pace]), (c.in.tail<<IntervalShift-k*u.slopes[c.in.slow])>>IntervalShift)
		if a <= d.Cycle {
			return
		}
		if last := s.CycleFrom(s.FirstStep(a)+s.Traverse)<<IntervalShift + k*interval; last > c.last {
			c.last, c.late = last, false
		}
	}
}

// crosses fills an empty schedule with the steps in which the flits of a packet cross. It is about an output virtual channel.
func (c *transit) crosses(u *packetUnit, d *Domain, ov int32, r *flitSchedule) {
	r.start(c.in.flits, ov, d.Cycle<<IntervalShift+(c.granted-d.Steps.First)*u.slopes[u.stepRate], u.stepRate)
	c.limit(u, d, r, 0)
}

// leaves makes one of when they leave by the channel.
func (c *transit) leaves(u *packetUnit, d *Domain, ov int32, r *flitSchedule) {
	r.start(c.in.flits, ov, c.first, c.pace)
	if c.in.tail > d.Cycle {
		c.in.limit(u, r, d.Steps.crossCycles<<IntervalShift)
	}
}

// limit limits a packet's flits, where channels limit them, to cycles after they can cross.
func (c *transit) limit(u *packetUnit, d *Domain, r *flitSchedule, cycles int64) {
	after := cycles << IntervalShift
	if c.in.tail > d.Cycle {
		c.in.limit(u, r, after)
	}
	if c.window < fabric.Never {
		r.limit(u, c.first-c.window+1<<IntervalShift+after, c.pace)
	}
}

// expects notes the flits that come behind a head just decided.
func (u *packetUnit) expects(d *Domain, sw *SwitchState, head *Queued) {
	p := d.inflow(head.Packet >> PacketBits)
	if p.tail <= d.Cycle {
		return
	}
	var r flitSchedule
	r.flits, r.ov = p.flits, -1
	p.limit(u, &r, 0)
	decided := sw.Port0*int32(d.vcs) + int32(lowestOV(head.Hop, uint32(d.vcs)))
	u.add(d, sw.Port0+int32(head.Hop>>16), arriving, decided, &r, 1)
}

// departs notes a packet whose head crosses to an output.
func (u *packetUnit) departs(d *Domain, sw *SwitchState, output uint32, c *transit) {
	const cycle = 1 << IntervalShift
	o, port, ov0 := sw.OutPort(output), sw.Port0+int32(output), sw.Port0*int32(d.vcs)
	decided, ov := ov0+c.decided, int32(-1)
	if c.decided < 0 {
		decided = -1
	}
	if o.Bounded != 0 {
		ov = ov0 + c.lov
		d.OutVC[ov].credits--
	}
	var crosses, leaves flitSchedule
	c.crosses(u, d, ov, &crosses)
	u.add(d, port, crossing, decided, &crosses, 1)
	if !d.needs.Queues || decided < 0 {
		return
	}
	if d.crossed != nil {
		d.crossed[decided]++
	}
	c.leaves(u, d, ov, &leaves)
	leaves.delay(cycle)
	u.add(d, port, leaving, decided, &leaves, 0)
}

// An input serves one packet at a time and sends its credits in order: one schedule at a time comes
// back to a channel's sending end, on any virtual channel. Its credits are counted when somebody
// asks.

// arriveCredits takes the schedules whose first credit comes back in cycle c.
func (u *packetUnit) arriveCredits(d *Domain, c int64) {
	for batch := u.schedules[0].Next(c); batch != nil; batch = u.schedules[0].Next(c) {
		if d.large {
			u.prefetchCredits(d, batch)
		}
		for i := range batch {
			r := &batch[i]
			u.finish(d, r.port)
			u.credits[r.port].flitSchedule = *r
			if d.watched && r.port < d.TerminalOut0 {
				u.quiet[r.port] = 0
			}
			u.wakeFor(d, r.port)
		}
	}
}

// headsArrive tells the observer of packets put into queues, at most one each, and files their
// tails.
func (w *followed) headsArrive(d *Domain, batch []Flit) {
	w.seen = w.seen[:0]
	for _, e := range batch {
		if p := d.inflow(e.Packet >> PacketBits); p.flits > 1 {
			*w.tails.Place(p.tail) = Flit{e.Queue, e.Packet &^ HeadFlit, e.dst, e.State}
			e.Packet &^= TailFlit
		}
		w.seen = append(w.seen, e)
	}
	d.observer.Arrived(d, w.seen)
}

// tailsArrive tells the observer of the tails that arrive in cycle c.
func (w *followed) tailsArrive(d *Domain, c int64) {
	for batch := w.tails.Next(c); batch != nil; batch = w.tails.Next(c) {
		d.observer.Arrived(d, batch)
	}
}

// tailCrosses tells the observer that a queue's front packet's tail crosses to an output.
func (w *followed) tailCrosses(d *Domain, sw *SwitchState, local, output uint32, step uint32) {
	o := sw.OutPort(output)
	d.observer.TailCrosses(d, sw, newRequest(local, uint32(d.Matcher.Places[local].Port)<<16|output), &d.Steps.at[d.Steps.Wide(step)-d.Steps.First], o.NextFree-d.Pace(o).Interval)
}

// HeldUp is in how many cycles, of a range, only the lack of room behind the crossbar for its next
// flit holds up a packet on its way out of a queue, whose flits are all there.
func (w *followed) HeldUp(d *Domain, queue int32, o *OutPort, from, to int64) (cycles int64) {
	pace, s, p := d.Pace(o), &d.Steps, &w.passing[queue]
	if pace.window == fabric.Never {
		return 0
	}
	flit := int64(0)
	crosses := func() int64 {
		return max(p.granted+flit, s.FirstStep((p.first+flit*pace.Interval-pace.window)>>IntervalShift+1))
	}
	for c := from; c < to; c++ {
		last := s.FirstStep(c+1) - 1
		for crosses() < last {
			flit++
		}
		if crosses() > last {
			cycles++
		}
	}
	return cycles
}
