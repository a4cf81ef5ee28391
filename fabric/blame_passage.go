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
	ejection   int32 // 1: to the destination
}

// passages are added up at once. More would take too much of the first cache.
const passages = 64

// linkSums are what passages and injections have spent at a channel since they
// were last added to Blame.Links, four to a line of cache.
type linkSums struct {
	packets  uint32
	crossbar uint32 // cycles
	queue    uint64 // cycles; of terminals in the source queue
}

// crossing notes the flits that are about to cross a switch in a step.
func (b *Blame) crossing(f *Fabric, sw *switchState, matches []request, t *stepTime) {
	if b.pending >= passages {
		b.settle()
	}
	c := f.cycle
	through := int32(t.depart>>intervalShift - c)
	row := b.pairRow[sw.port0]
	for _, m := range matches {
		local := m.local()
		q, v := sw.queue0+int32(local), sw.queue(local)
		if b.isClocked(q) {
			b.crosses(f, sw, m, t)
			continue
		}
		if ^v.packet&(headFlit|tailFlit) != 0 || b.open == 0 {
			continue
		}
		// Steps ago, the packet was ready for switch allocation, and before
		// that took its virtual channel, had its route, and arrived.
		sinceReady := b.cyclesSince(f, v.ready)
		sinceRouted, vcCycles := sinceReady, int32(0)
		routed := v.ready
		if f.combined == 0 {
			sinceTook := b.cyclesSince(f, v.ready-f.vaDelay)
			routed = b.arrived[q] + f.routeDelay
			sinceRouted = b.cyclesSince(f, routed)
			vcCycles = more(sinceRouted-sinceTook) + more(sinceTook-sinceReady)
		}
		route := int32(0)
		if f.routeDelay != 0 {
			route = b.cyclesSince(f, routed-f.routeDelay) - sinceRouted
		}
		output := m.output()
		o, e := sw.outPort(output), &b.passed[b.pending]
		b.pending++
		e.packet, e.link = v.packet>>packetBits, sw.port0+int32(output)
		e.pair, e.pairCycles = row+int32(m.port())*sw.ports+int32(output), more(route)+vcCycles+more(sinceReady)
		e.route, e.vc, e.crossbar = route, sinceRouted-sinceReady, sinceReady+through
		e.queue = int32(wholeCycle(max(t.depart, o.nextFree))-c) - through
		e.wire, e.ejection = o.latency, 1-int32(o.bounded)
	}
}

// more is a wait as it counts for a pair of ports: a single cycle does not.
func more(cycles int32) int32 {
	counts := int32(0)
	if cycles > 1 {
		counts = cycles
	}
	return counts
}

// cyclesSince is the number of cycles to the present one from the one that a
// step, of the present one at the latest, belongs to. Without branches, since
// how long something waits cannot be predicted; exact up to 2^28 steps.
func (b *Blame) cyclesSince(f *Fabric, step uint32) int32 {
	if b.perStep == 0 {
		return int32(f.cycle - f.steps.cycleOf(f.steps.wide(step)))
	}
	before := max(int32(uint32(f.steps.first)-step), 0)
	return int32((uint64(before) + b.roundUp) * b.perStep >> 32)
}

// settle adds what packets passed to the sums.
func (b *Blame) settle() {
	for i := range b.passed[:b.pending] {
		e := &b.passed[i]
		k := &b.packets[e.packet]
		if !k.measured() {
			continue
		}
		k.times[0] += uint64(e.route) | uint64(e.vc)<<32
		k.times[1] += uint64(e.crossbar)
		k.times[2] += uint64(e.queue) << (e.ejection & 1 * 32)
		k.times[3] += uint64(e.wire)
		sums := &b.sums[e.link]
		sums.packets++
		sums.crossbar += uint32(e.crossbar)
		sums.queue += uint64(e.queue)
		if e.route|e.vc != 0 {
			link := &b.Links[e.link]
			link[PartRoute] += int64(e.route)
			link[PartVC] += int64(e.vc)
		}
		if e.pairCycles > 0 {
			b.pairs[e.pair] += int64(e.pairCycles)
		}
	}
	b.pending = 0
}

// foldCycles bounds the cycles between two calls of fold, so that the sums fit:
// no more packets than a switch has queues wait for a port in each of them.
const foldCycles = 1 << 16

// endCycle brings the records of packets up to date, which may arrive in the
// next cycle.
func (b *Blame) endCycle(f *Fabric) {
	b.settle()
	if f.cycle >= b.foldAt {
		b.fold(f)
	}
}

// fold brings Links up to date.
func (b *Blame) fold(f *Fabric) {
	b.foldAt = f.cycle + foldCycles
	for i := range b.sums {
		o, sums, link := &f.out[i], &b.sums[i], &b.Links[i]
		link[PartSwitch] += int64(sums.crossbar)
		if i >= int(f.terminalOut0) {
			link[PartSource] += int64(sums.queue)
		} else {
			link[queueing(o)] += int64(sums.queue)
		}
		link[PartWire] += int64(sums.packets) * int64(o.latency)
		*sums = linkSums{}
	}
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
		arrived = b.arrived[q]
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
