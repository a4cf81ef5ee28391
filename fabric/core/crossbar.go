package core

import (
	"math/bits"

	"github.com/weft-sim/weft/sim/check"
)

// allocateSwitch is switch allocation, one step: flits ask for their output
// port; each output grants the input port nearest to its round-robin pointer,
// each input accepts the output nearest to its own (iSLIP: McKeown 1999), and
// the matched flits cross. Of several virtual channels of an input that want
// the same output the round robin of the input decides. With the allocator
// input-first, each input puts forward only the virtual channel next in its
// round robin, and every grant is accepted. A flit without a credit goes to
// sleep until one comes. Other allocators are registered ones ([registered]).
//
// A flit that is alone both at its input and at its output crosses in any
// case; the round robins are played out among the others only.
func (d *Domain) allocateSwitch(sw *SwitchState, t *StepTime) {
	var requests []Request
	if d.Unit != nil && d.Unit.requestsPlainly(d) {
		requests, _, _ = d.Unit.request(d, sw, t.Number)
	} else if d.plain {
		requests = d.requestPlainly(sw, t.Number)
	} else {
		requests = d.requestCrossbar(sw, t.Number)
	}
	if d.multicast != nil {
		requests = d.multicast.exclude(requests)
	}
	if d.lanes != nil {
		requests = d.arbitrateLanes(sw, requests)
	}
	if d.hold != nil && d.Unit == nil {
		requests = d.hold.body(d, sw, requests, t)
	}
	if d.registered != nil {
		d.registered.allocate(d, sw, requests, t)
		return
	}
	if len(requests) < 2 || len(requests) == 2 && !requests[0].meets(requests[1]) {
		d.cross(sw, requests, t, true)
		return
	}
	rivalInputs, rivalOutputs := rivals(requests)
	if rivalInputs|rivalOutputs == 0 {
		d.cross(sw, requests, t, true)
		return
	}
	d.allocateRivals(sw, requests, rivalInputs, rivalOutputs, t)
}

// meets tells whether two requests are for the same output or from the same input.
func (r Request) meets(other Request) bool {
	return r.Port() == other.Port() || r.Output() == other.Output()
}

// rivals are the ports, modulo 64, that several of some requests come from, and those that several
// want.
func rivals(requests []Request) (rivalInputs, rivalOutputs uint64) {
	var inputs, outputs uint64
	for _, r := range requests {
		in, out := uint64(1)<<(r.Port()&63), uint64(1)<<(r.Output()&63)
		rivalInputs |= inputs & in
		inputs |= in
		rivalOutputs |= outputs & out
		outputs |= out
	}
	return rivalInputs, rivalOutputs
}

// allocateRivals is the end of allocateSwitch, where several flits want the same.
func (d *Domain) allocateRivals(sw *SwitchState, requests []Request, rivalInputs, rivalOutputs uint64, t *StepTime) {
	// No branches: whether a request has rivals cannot be predicted.
	alone, met, rivals := 0, 0, d.Matcher.rivals
	for _, r := range requests {
		meets := int((rivalInputs>>(r.Port()&63) | rivalOutputs>>(r.Output()&63)) & 1)
		requests[alone], rivals[met] = r, r
		alone += 1 - meets
		met += meets
	}
	if d.Config.Switch.Iterations == 1 && d.multicast == nil {
		// In one go: loops that are short end unpredictably.
		if met == 2 && sw.Ports <= 64 && !d.Matcher.inputFirst {
			requests = append(requests[:alone], d.Matcher.matchPair(sw, rivals[0], rivals[1]))
		} else {
			requests = d.Matcher.match(sw, rivals[:met], requests[:alone])
		}
		d.cross(sw, requests, t, true)
		return
	}
	d.cross(sw, requests[:alone], t, true)
	d.arbitrate(sw, rivals[:met], t)
}

// requestCrossbar lists the flits that may cross in this step. Flits without a credit go
// to sleep.
func (d *Domain) requestCrossbar(sw *SwitchState, step uint32) []Request {
	requests, origins := check.Of(d.Matcher.requests), check.Of(d.Matcher.origins)
	combined, cutThrough, vcs := d.Combined, d.cutThrough, uint32(d.vcs)
	n := uint32(0)
	now := d.Cycle << IntervalShift
	for w := range sw.masks {
		m := &sw.masks[w]
		for left := m.sa; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.Queue(local)
			if int32(v.Ready-step) > 0 {
				continue
			}
			if d.storeForward && d.incomplete(sw, local, v) || d.hold != nil && v.Packet&HeadFlit != 0 && d.inputHeld(sw, local) {
				continue
			}
			if d.escape != nil && v.Packet&combined != 0 && !d.escape.decide(d, sw, local, v) {
				continue
			}
			output := v.Hop >> 16
			o := sw.OutPort(output)
			if d.hold != nil && v.Packet&HeadFlit != 0 && d.outputHeld(sw, local, output, o) {
				continue
			}
			if v.Packet&combined != 0 {
				free := v.Hop & uint32(o.free)
				lov := output*vcs + uint32(bits.TrailingZeros32(free))
				if free&(free-1) == 0 && free != 0 && sw.outVC(lov).credits > 0 && !cutThrough {
					v.Out = int32(lov) // chooseVC in most cases
				} else if !d.chooseVC(sw, local, v, free) {
					d.sleepForVC(sw, w, left&-left)
					if d.observer != nil {
						d.observer.Sleeps(d, sw.Queue0+int32(local), lacking(free))
					}
					continue
				}
			} else if sw.outVC(uint32(v.Out)).credits == 0 {
				m.sa &^= left & -left
				if d.observer != nil {
					d.observer.Sleeps(d, sw.Queue0+int32(local), PartCredit)
				}
				continue
			}
			if o.NextFree-d.Pace(o).window >= now { // no room behind the crossbar
				if d.observer != nil {
					d.observer.Blocked(d, sw.Queue0+int32(local), o)
				}
				continue
			}
			*requests.At(n) = *origins.At(local) | Request(output)
			n++
		}
	}
	return d.Matcher.requests[:n]
}

// arbitrate plays out the round robins of switch allocation, iteration by
// iteration among those not matched yet.
func (d *Domain) arbitrate(sw *SwitchState, rivals []Request, t *StepTime) {
	m := &d.Matcher
	for iteration := range d.Config.Switch.Iterations {
		if iteration > 0 {
			rivals = m.unmatched(rivals)
		}
		matches := m.match(sw, rivals, m.matches[:0])
		if len(matches) == 0 {
			break
		}
		for _, r := range matches {
			m.matched[2*r.Port()], m.matched[2*r.Output()+1] = true, true
		}
		d.cross(sw, matches, t, iteration == 0)
	}
	clear(m.matched[:2*sw.Ports])
}

// cross sends the flits at the front of some queues, of different inputs to
// different outputs, through the crossbar onto their channels and their
// credits upstream, and moves the round-robin pointers behind them where told
// to. With a packet's last flit its output virtual channel is released.
func (d *Domain) cross(sw *SwitchState, matches []Request, t *StepTime, advance bool) {
	if d.crossNoted && d.noteCrossing(sw, matches, t, advance) {
		return
	}
	d.FlitHops += int64(len(matches))
	vcs, timed := uint32(d.vcs), d.crossTimed
	if timed {
		d.findLate(sw, matches, t)
	}
	// Nothing is called but at the end, so that most of this stays in registers.
	for i, r := range matches {
		local, port, output := r.Local(), r.Port(), r.Output()
		v, o, in := sw.Queue(local), sw.OutPort(output), sw.inPort(port)
		vcIn := local - port*vcs
		if advance {
			o.grant, in.accept, in.vc = uint16(port+1), uint16(output+1), uint16(vcIn+1)
		}
		if !timed || d.late[i] == 0 {
			// As sendCredit.
			wait := in.nextCredit - t.credit
			send := t.credit + wait&^(wait>>63) // the later one: nothing predicts which it is
			in.nextCredit = send + d.creditInterval
			back := send>>IntervalShift + int64(in.delay)
			if credits := d.credits[in.wheel&15]; credits.HasRoom(back) {
				*credits.Fill(back) = in.upstream + int32(vcIn)
			} else {
				d.unfiled.creditWheel, d.unfiled.back, d.unfiled.any = in.wheel, back, true
				d.unfiled.credit = in.upstream + int32(vcIn)
			}
		}

		// The output queue is not simulated: the channel's next free time is.
		wait := o.NextFree - t.Depart
		depart, pace := t.Depart+wait&^(wait>>63), d.Pace(o)
		o.NextFree = depart + pace.Interval
		arrival := (depart + pace.travel) >> IntervalShift
		e := &d.unfiled.flit
		if flits := d.Flits[o.wheel&15]; flits.HasRoom(arrival) {
			e = flits.Fill(arrival)
		} else {
			d.unfiled.flitWheel, d.unfiled.arrival, d.unfiled.any = o.wheel, arrival, true
		}
		lov := uint32(v.Out)
		ov, vc := sw.outVC(lov), lov-output*vcs
		e.Queue, e.Packet, e.dst, e.State = o.dest+int32(vc)*int32(o.Bounded), v.Packet, v.dst, v.State+1<<HopShift
		if v.State >= MaxHops<<HopShift {
			e.State = v.State
			d.unfiled.hop, d.unfiled.any = true, true
		}
		ov.Flits++
		ov.credits -= int32(o.Bounded)
		if check.On {
			d.checkCredits(sw.Port0*int32(vcs) + v.Out)
		}
		v.Count--
		first, waiters := v.Packet&d.Combined, int32(0) // first: the packet holds no virtual channel yet
		if v.Packet&TailFlit == 0 {
			if first != 0 {
				ov.owner = sw.Queue0 + int32(local)
				o.free &^= 1 << (vc & 15)
			}
		} else {
			v.Out = -1
			if first == 0 {
				ov.owner = ^ov.owner
				o.free |= 1 << (vc & 15)
				waiters = o.waiters
			}
		}
		if v.Count|waiters == 0 && !timed && !d.unfiled.any {
			sw.mask(local).sa &^= 1 << (local & 63)
			continue
		}
		d.finishCrossing(sw, i, r, lov, depart, t)
	}
}

// finishCrossing does for flit i of those that have crossed, to a local output virtual channel what not every
// one needs: what is timed, what waits for its virtual channel, and what follows it.
func (d *Domain) finishCrossing(sw *SwitchState, i int, r Request, lov uint32, depart int64, t *StepTime) {
	local := r.Local()
	v, o := sw.Queue(local), sw.OutPort(r.Output())
	if d.unfiled.any {
		d.file(v)
	}
	if d.crossTimed {
		ov := sw.Port0*int32(d.vcs) + int32(lov)
		if d.receives() && o.Bounded == 0 {
			d.toTerminal(sw.outVC(lov), ov, WholeCycle(depart)+2*d.Latency(o))
		}
		if d.behind != nil {
			if decided := lowestOV(v.Hop, uint32(d.vcs)); d.leaving != nil && depart == t.Depart && d.late[i] == 0 {
				*d.leaving = append(*d.leaving, sw.Port0*int32(d.vcs)+int32(decided))
			} else {
				d.behind.cross(d, sw, decided, depart, d.late[i])
			}
		}
	}
	// The next packet comes to the front, and those that wait for the virtual channel may
	// ask for it.
	tail, m, bit := v.Packet&TailFlit != 0, sw.mask(local), uint64(1)<<(local&63)
	if tail && v.Packet&d.Combined == 0 && o.waiters != 0 {
		d.wakeWaiters(o)
	}
	if v.Count == 0 {
		m.sa &^= bit
		return
	}
	if tail && d.Combined == 0 {
		m.sa &^= bit
		m.va |= bit
	}
	d.advance(v, t.Number)
	if d.Upcoming == nil {
		return
	}
	if tail {
		d.leaves(sw, local, v, t.Number)
	} else if m.second&bit != 0 {
		d.behindFront(sw, local).left--
	}
}

// noteCrossing tells what keeps account of flits that cross about some; true: packets are the
// unit and have crossed themselves.
func (d *Domain) noteCrossing(sw *SwitchState, matches []Request, t *StepTime, advance bool) bool {
	if d.observer != nil {
		d.observer.GrantedSwitch(d, sw, matches, t)
	}
	if d.multicast != nil {
		d.multicast.crossed(sw, matches)
	}
	if d.lanes != nil {
		d.crossedLanes(sw, matches)
	}
	if d.hold == nil {
		return false
	}
	if d.Unit != nil {
		d.Unit.cross(d, sw, matches, t, advance)
		return true
	}
	d.hold.crossing(sw, matches)
	return false
}

// unfiled is a flit that crosses, and its credit, if their wheels have no room at hand for them,
// and whether the flit has no digits for the hop.
type unfiled struct {
	any, hop               bool
	creditWheel, flitWheel uint8
	back, arrival          int64 // when they are due; 0: is filed
	credit                 int32
	flit                   Flit
}

// file files what is unfiled of the flit in front of a queue.
func (d *Domain) file(v *InVC) {
	u := &d.unfiled
	if u.hop {
		d.countHop(v.Packet, v.dst)
	}
	if u.back != 0 {
		*d.credits[u.creditWheel&15].Place(u.back) = u.credit
	}
	if u.arrival != 0 {
		*d.Flits[u.flitWheel&15].Place(u.arrival) = u.flit
	}
	u.any, u.hop, u.back, u.arrival = false, false, 0, 0
}

// countHop counts a switch beyond MaxHops that a flit crosses, if it is a tail. Copies of
// multicast packets share their record, and count no further.
func (d *Domain) countHop(packet, dst int32) {
	if packet&TailFlit != 0 && dst >= 0 {
		d.Packet(packet>>PacketBits).more++
	}
}

// findLate prepares what is timed of some flits that cross: by how many cycles credit sensing
// sends the credit of each late, which it keeps then, and where those are listed that
// leave at once.
func (d *Domain) findLate(sw *SwitchState, matches []Request, t *StepTime) {
	if d.behind != nil {
		d.leaving = d.behind.list(d, t.Depart)
	}
	if d.sensing == nil {
		return
	}
	for i, r := range matches {
		v, port, late := sw.Queue(r.Local()), sw.Port0+int32(r.Port()), int64(0)
		if sw.OutPort(r.Output()).Bounded != 0 {
			p := &d.sensing.probes[sw.Port0*int32(d.vcs)+v.Out]
			p.time(d.buffer-sw.outVC(uint32(v.Out)).credits+1, d.Cycle)
			late = d.sensing.late(p, port)
			if d.sensing.allCongested(sw.Port0) {
				late = max(0, late-d.sensing.findLeast(&d.network, sw.Port0))
			}
		}
		if d.late[i] = late; late > 0 {
			d.holdCredit(port, d.in[port].upstream+int32(r.Local()-r.Port()*uint32(d.vcs)), t.credit, late)
		}
	}
}

// advance brings the second flit of a queue to its front.
func (d *Domain) advance(v *InVC, step uint32) {
	last := &d.Pool[v.Last-1]
	n := last.Next
	b := &d.Pool[n-1]
	last.Next = b.Next
	b.Next = d.poolFree
	d.poolFree = n
	v.Ready = step + 1
	if v.Packet&TailFlit != 0 {
		v.Hop = b.Hop
		v.Ready += d.RouteDelay
	}
	v.Packet, v.dst, v.State = b.Packet, b.dst, b.State
}

// Credits travel on wires of their own beside the channel, credits_per_cycle of
// them in a cycle of the flit clock, whatever the channel's data rate. The slots
// that an input frees, on any of its virtual channels, wait for that in one queue.
// As with the output queue, only the time at which the wires are free again is
// kept: inPort.nextCredit. An input takes at most a flit a cycle, so the queue
// empties; it holds more than one credit only while the core, faster than the
// channel, drains a buffer.

// heldCredit is a credit that credit sensing holds back, and the event of its
// release.
type heldCredit struct {
	port     int32 // input port
	upstream int32 // ov that it is for
}

// creditIntervalOf is the time that a credit takes the wires, in cycles <<
// intervalShift.
func creditIntervalOf(perCycle int) int64 {
	if perCycle == 0 {
		return 0
	}
	return (1<<IntervalShift + int64(perCycle) - 1) / int64(perCycle)
}

// sendCredit queues a credit that may leave an input from a time on, in cycles <<
// intervalShift, for the far end's ov upstream.
func (d *Domain) sendCredit(in *inPort, upstream int32, ready int64) {
	send := max(ready, in.nextCredit)
	in.nextCredit = send + d.creditInterval
	*d.credits[in.wheel&15].Place(send>>IntervalShift + int64(in.delay)) = upstream
}

// toTerminal takes the credit of a flit for a terminal, and files its return: the terminal
// takes the flit as it arrives, and the credit leaves in the cycle after. back is when it
// would be back if it left at once.
func (d *Domain) toTerminal(o *outVC, ov int32, back int64) {
	o.credits--
	*d.credits[0].Place(back + 1 + int64(d.Config.Switch.CreditCycles)) = ov
}

// holdCredit keeps back, for so many cycles, a credit that could leave an input at
// a time. It joins the input's queue only then: those of later flits pass it.
func (d *Domain) holdCredit(port, upstream int32, ready, late int64) {
	*d.held.Place(ready>>IntervalShift + late - 1) = heldCredit{port, upstream}
}

// releaseCredits queues the credits that may leave from the cycle after c on.
func (d *Domain) releaseCredits(c int64) {
	for batch := d.held.Next(c); batch != nil; batch = d.held.Next(c) {
		for _, h := range batch {
			d.sendCredit(&d.in[h.port], h.upstream, (c+1)<<IntervalShift)
		}
	}
}
