package fabric

// This file follows packets of one flit that find their queue empty and meet
// nothing there but allocation: no stall, nobody behind. That is most of them
// below saturation, and what blame costs is what it costs for them: the times
// follow from the step that the switch itself keeps for the front of a queue,
// and are put down in a row to be added to the records of packets and channels
// later, many at a time, so that the processor fetches several of these at once
// instead of waiting for each.

// passage is a packet's way through a switch, times in cycles. 40 bytes.
type passage struct {
	packet     int32
	link       int32 // port that it leaves by
	pair       int32 // of the ports that it came and leaves by, in Blame.pairs
	pairCycles int32
	route      int32
	vc         int32
	crossbar   int32 // switch allocation and the crossbar
	queue      int32 // waiting for the channel
	wire       int32
	part       int32 // that queue is
}

// passages are added up at once: 10 kB of them.
const passages = 256

// pass notes the packet at the front of queue q, which has no clock, as it
// crosses.
func (b *Blame) pass(f *Fabric, sw *switchState, m request, v *inVC, q int32, t *stepTime) {
	s, c, o := &f.steps, f.cycle, sw.outPort(m.output())
	ready := v.ready // for switch allocation; before, it had its virtual channel, had its route, and arrived:
	took, routed, arrived := ready, ready, ready-f.routeDelay
	if f.combined == 0 {
		took, arrived = ready-f.vaDelay, b.took0[q]
		routed = arrived + f.routeDelay
	}
	sinceReady := s.cyclesSince(ready, c)
	sinceTook, sinceRouted, sinceArrived := sinceReady, sinceReady, sinceReady
	if took != ready {
		sinceTook = s.cyclesSince(took, c)
	}
	if routed != took {
		sinceRouted = s.cyclesSince(routed, c)
	} else {
		sinceRouted = sinceTook
	}
	if arrived != routed {
		sinceArrived = s.cyclesSince(arrived, c)
	} else {
		sinceArrived = sinceRouted
	}
	through := t.depart>>intervalShift - c
	if len(b.passed) == cap(b.passed) {
		b.settle()
	}
	b.passed = b.passed[:len(b.passed)+1]
	*(&b.passed[len(b.passed)-1]) = passage{
		packet: v.packet >> packetBits, link: sw.port0 + int32(m.output()),
		pair:       b.pairRow[sw.port0+int32(m.port())] + int32(m.output()),
		pairCycles: more(sinceArrived-sinceRouted) + more(sinceRouted-sinceTook) + more(sinceTook-sinceReady) + more(sinceReady),
		route:      sinceArrived - sinceRouted, vc: sinceRouted - sinceReady, crossbar: sinceReady + int32(through),
		queue: int32(wholeCycle(max(t.depart, o.nextFree)) - c - through), wire: o.latency, part: int32(queueing(o)),
	}
}

// more is a wait as it counts for a pair of ports: a single cycle does not.
func more(cycles int32) int32 {
	if cycles > 1 {
		return cycles
	}
	return 0
}

// cyclesSince is the number of cycles from the one that a step belongs to, c at
// the latest, to c, the present one.
func (s *stepTimes) cyclesSince(step uint32, c int64) int32 {
	before := int32(uint32(s.first) - step)
	switch {
	case before <= 0:
		return 0
	case s.whole != 0:
		return int32((uint32(before) + uint32(s.whole) - 1) / uint32(s.whole))
	}
	return int32(c - s.cycleOf(s.wide(step)))
}

// settle adds what packets passed to the sums.
func (b *Blame) settle() {
	for i := range b.passed {
		e := &b.passed[i]
		k := &b.packets[e.packet]
		if !k.measured() {
			continue
		}
		k.times[0] += uint64(e.route) | uint64(e.vc)<<32
		k.times[1] += uint64(e.crossbar)
		k.add(Part(e.part), int64(e.queue))
		k.times[3] += uint64(e.wire)
		link := &b.Links[e.link]
		link[PartRoute] += int64(e.route)
		link[PartVC] += int64(e.vc)
		link[PartSwitch] += int64(e.crossbar)
		link[e.part] += int64(e.queue)
		link[PartWire] += int64(e.wire)
		if e.pairCycles > 0 {
			b.pairs[e.pair] += int64(e.pairCycles)
		}
	}
	b.passed = b.passed[:0]
}

// start starts the clock of a queue, with what its front waits for and has
// waited for until now.
func (b *Blame) start(f *Fabric, q int32, r *blameQueue, v *inVC) {
	s := &f.steps
	r.tails, r.since = 0, f.cycle
	r.until, r.then = s.cycleOf(s.wide(v.ready)), uint8(PartSwitch)
	if v.packet&headFlit == 0 {
		r.first = uint8(PartSerial)
		return
	}
	took := f.combined == 0 && v.out >= 0
	if !took {
		r.first, r.then = uint8(PartRoute), uint8(f.bidding())
	}
	arrived := v.ready - f.routeDelay
	if took {
		arrived = b.took0[q]
	}
	if v.packet&tailFlit != 0 {
		if k := &b.packets[v.packet>>packetBits]; k.measured() {
			k.enter(r)
			r.tails, r.since = 1, s.cycleOf(s.wide(arrived))
		}
	}
	if took {
		r.first, r.then = uint8(PartRoute), uint8(PartVC)
		until := r.until
		r.until = s.cycleOf(s.wide(arrived + f.routeDelay))
		b.sync(r, v, s.cycleOf(s.wide(v.ready-f.vaDelay)))
		r.first, r.until, r.then = uint8(PartVC), until, uint8(PartSwitch)
	}
}
