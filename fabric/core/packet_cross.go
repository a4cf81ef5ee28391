package core

import (
	"math/bits"

	"github.com/weft-sim/weft/sim/check"
)

// crossPackets is [Domain.crossFlits] for packets: heads have been granted the crossbar in step t.
// All of the rest of their packets follows from that.
//
// Let a packet of n flits be granted in step g, its flits arrive at a(i), and its
// output's channel take a flit in I and be free at F. Stages, channels and credits
// take as long as for flits. Flit i then crosses in step
//
//	x(i) = max(g + i, first step of a(i), first step with room behind the crossbar)
//
// as arrivals are a cycle apart at least, and so are the times at which the channel
// makes room; it leaves at
//
//	d(i) = max(d(0) + i I, a(i) + stages),  d(0) = max(F, g + stages)
//
// since d(0) is at least a(0) + stages, and a(i) is a straight line from the first
// flit to the last or, where the packet has come by channels of several rates, bent
// upwards. So head and tail are known exactly from head and tail, hop by hop; see
// [inflow] for those between. The output's room changes x, for the credits, and no d:
// [fabric.Config.Check] refuses bounds that small.
func (d *Domain) crossPackets(sw *SwitchState, matches []Request, t *StepTime, advance bool) {
	for _, tell := range d.notices {
		tell(d, sw, matches, t)
	}
	u, vcs := d.Unit, uint32(d.vcs)
	for _, r := range matches {
		local, port, output := r.Local(), r.Port(), r.Output()
		v, o, in := sw.Queue(local), sw.OutPort(output), sw.inPort(port)
		if advance {
			o.grant, in.accept, in.vc = uint16(port+1), uint16(output+1), uint16(local-port*vcs+1)
		}
		pace, p := d.Pace(o), d.inflow(v.Packet>>PacketBits)
		n := p.flits
		// Field by field, here and below: what is copied in pieces of 16 bytes as it has
		// been put together of shorter ones waits until all that was written before is
		// in the cache.
		var c transit
		c.granted, c.first = d.Steps.Wide(t.Number), max(o.NextFree, t.Depart)
		c.in.head, c.in.tail, c.in.flits, c.in.pace, c.in.slow = p.head, p.tail, n, p.pace, p.slow
		c.window, c.pace, c.lov, c.decided = pace.window, pace.slope, v.Out, int32(lowestOV(v.Hop, vcs))
		c.follow(u, d, pace.Interval)
		if u.Followed != nil {
			u.Followed.passing[sw.Queue0+int32(local)] = passing{c.granted, c.first}
		}
		vc := uint32(v.Out) - output*vcs
		u.send(d, sw, output, v, v.Packet, &c)
		u.returnCredits(d, in, in.upstream+int32(local-port*vcs), t, &c)
		if n == 1 {
			u.leave(d, sw, local, v, t.Number, d.Combined == 0)
			continue
		}
		if u.timed {
			u.holdUntil(d, sw, local, port, output, c.crossed)
			continue
		}
		if d.Combined != 0 {
			sw.outVC(uint32(v.Out)).owner = sw.Queue0 + int32(local)
			o.free &^= 1 << (vc & 15)
		}
		u.begin(d, sw, local, port, output, c.crossed)
	}
}

// send puts a packet, from the front of a queue or a copy of that one, onto its channel.
func (u *packetUnit) send(d *Domain, sw *SwitchState, output uint32, v *InVC, packet int32, c *transit) {
	o, n, p := sw.OutPort(output), c.in.flits, d.inflow(packet>>PacketBits)
	pace := d.Pace(o)
	latency := int64(pace.latency)
	o.NextFree = c.last + pace.Interval
	p.head, p.tail, p.flits, p.pace, p.slow = c.first+latency<<IntervalShift, WholeCycle(c.last)+latency, n, c.pace, c.in.slow
	if !c.late {
		p.slow = p.pace
	}
	ov := sw.outVC(uint32(c.lov))
	ov.Flits += uint32(n)
	d.FlitHops += int64(n)
	arrival := p.tail // a terminal has no use for the head
	if o.Bounded != 0 {
		arrival = WholeCycle(c.first) + latency
	}
	e := Flit{Queue: o.dest + (c.lov-int32(output)*int32(d.vcs))*int32(o.Bounded), Packet: packet, dst: v.dst, State: v.State + 1<<HopShift}
	if v.State >= MaxHops<<HopShift {
		e.State = v.State
		d.countHop(packet, v.dst)
	}
	d.fileFlit(o.wheel, arrival, e)
	if d.watched {
		u.departs(d, sw, output, c)
	} else {
		ov.credits -= n * int32(o.Bounded)
	}
}

// returnCredits sends the credits of a packet's flits back for ov upstream. It returns
// when the first of them comes.
func (u *packetUnit) returnCredits(d *Domain, in *inPort, upstream int32, t *StepTime, c *transit) (first int64) {
	s := &d.Steps
	stored := t.credit
	if u.creditRate == u.stepRate {
		// One a step, sent in the next cycle that begins: the line is so far above the
		// cycle of the first as steps are left that have credits in the same cycle.
		left := s.FirstStep(t.credit>>IntervalShift) - c.granted - s.alloc
		stored += max(0, int64(s.speedup)-1-left) * u.slopes[u.stepRate]
	} else {
		stored = max(stored, in.nextCredit)
	}
	var r flitSchedule
	r.start(c.in.flits, upstream, stored, u.creditRate)
	if c.in.flits > 1 {
		c.limit(u, d, &r, s.allocCycles)
	}
	in.nextCredit = r.exact(u, c.in.flits-1) + d.creditInterval
	r.delay(int64(in.delay) << IntervalShift)
	sent := u.scheduleTo(d, in.wheel, r.time(u, 0))
	r.copyTo(sent)
	sent.port = in.upstream / int32(d.vcs)
	return r.at[0]
}

// held tells whether another packet holds a port that the packet at the front of a queue
// wants to cross between, which then sleeps.
func (u *packetUnit) held(d *Domain, sw *SwitchState, local, port, output uint32) bool {
	ports := check.Of(d.hold.ports).From(uint32(sw.Port0))
	if from := ports.At(port); from.input {
		u.sleep(d, sw, local, &from.inputWaiters)
		return true
	}
	to := ports.At(output)
	if to.output {
		u.sleep(d, sw, local, &to.outputWaiters)
	}
	return to.output
}

// requestPackets is [Domain.requestCrossbar] for packets in the usual case.
func (d *Domain) requestPackets(sw *SwitchState, step uint32) []Request {
	u := d.Unit
	requests, places := check.Of(d.Matcher.requests), check.Of(d.Matcher.Places)
	accepts := check.Of(d.acceptOV).From(uint32(sw.Queue0))
	vcs, n := uint32(d.vcs), uint32(0)
	now, wide := d.Cycle<<IntervalShift, d.Steps.Wide(step)
	full := now + d.leastWindow // before that, there is room behind the crossbar in any case
	for w := range sw.masks {
		m := &sw.masks[w]
		for left := m.sa; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.Queue(local)
			if int32(v.Ready-step) > 0 {
				continue
			}
			port, output := uint32(places.At(local).Port), v.Hop>>16
			o := sw.OutPort(output)
			if !u.timed {
				if u.held(d, sw, local, port, output) {
					continue
				}
			} else if until := max(sw.inPort(port).until, o.until); until >= wide {
				u.waitUntil(d, sw, local, until)
				continue
			}
			if o.NextFree >= full {
				if from := o.NextFree - d.Pace(o).window; from >= now {
					u.sleepUntil(d, sw, local, from>>IntervalShift+1)
					continue
				}
			}
			free := v.Hop & uint32(o.free)
			lov := output*vcs + uint32(bits.TrailingZeros32(free))
			if free != 0 && free&(free-1) == 0 && sw.outVC(lov).credits >= d.inflow(v.Packet>>PacketBits).flits {
				v.Out = int32(lov) // chooseVC in most cases
				*accepts.At(local) = v.Out + 1
			} else if !d.chooseVC(sw, local, v, free) {
				d.sleepForVC(sw, w, left&-left)
				if d.observer != nil {
					d.observer.Sleeps(d, sw.Queue0+int32(local), lacking(free))
				}
				continue
			}
			*requests.At(n) = newRequest(local, port<<16|output)
			n++
		}
	}
	return d.Matcher.requests[:n]
}
