package core

import (
	"unsafe"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/mem"
)

// This file follows packets of one flit that find their queue empty and meet
// nothing there but allocation: no stall, nobody behind. That is most of them
// below saturation, and what blame costs is what it costs for them: the times
// follow from the step that the switch itself keeps for the front of a queue,
// and what is beyond the least that it can be is put down in a row to be added
// to the records of packets and channels later, many at a time, so that the
// processor fetches several of these at once instead of waiting for each. Of
// most packets there is nothing to be put down.

// leastTimes are what no packet of one flit can take less of.
type leastTimes struct {
	account           account // at a switch
	parts             Parts   // the same
	always            uint32  // 1: all passages are put down, even those that took no more
	source            int64   // at its terminal
	wire, longestWire int64   // on a channel
}

// longLeast is the time at a switch from which on none of it is, so that 255
// switches have room in an account; nor is any where steps are no whole part of
// a cycle.
const longLeast = 256

func (d *domain) leastTimes() leastTimes {
	l := leastTimes{source: int64(d.config.Terminal.InjectionCycles), wire: fabric.Never, always: 1}
	if s := &d.steps; s.whole != 0 && d.upcoming == nil { // or stages may cost nothing behind others
		given := int64(d.routeDelay)
		if d.combined == 0 {
			given += int64(d.vaDelay)
		}
		routed := int64(d.routeDelay) / s.whole
		parts := Parts{PartRoute: routed, PartVC: given/s.whole - routed, PartSwitch: s.cycleFrom(s.traverse)}
		if parts.Total() < longLeast {
			l.parts = parts
			if max(parts[PartRoute], parts[PartVC]) <= 1 { // otherwise pairs of ports count it
				l.always = 0
			}
		}
	}
	for part := PartRoute; part < PartWire; part++ {
		l.account.add(part, l.parts[part])
	}
	for i := range d.out {
		latency := d.latency(&d.out[i])
		l.wire, l.longestWire = min(l.wire, latency), max(l.longestWire, latency)
	}
	return l
}

// passage is a packet's way through a switch that may have taken more than the
// least. 40 bytes.
type passage struct {
	packet  int32
	port0   int32   // of the switch
	request request // for the crossbar
	ready   uint32  // step in which it was ready for switch allocation
	arrived uint32  // in the queue, where virtual channels are given in a stage of their own
	depart  int64   // as in stepTime
	free    int64   // when the channel is, likewise
}

// passages are added up at once.
const passages = 64

// linkLate is the time beyond the least that passages have spent at a port and
// that has not been added to Blame.links: for the crossbar and, above, for
// the channel behind it.
type linkLate uint64

const crossbarBits = 26

// foldCycles is how often they must be added, so that there is room for them:
// no more packets than a switch has queues wait for a port in a cycle, no more
// than maxSpeedup cross to it, and none of these waits for longWait or more.
func (b *Blame) foldCycles(d *domain, ports int32) int64 {
	const crossbar, queue = 1<<crossbarBits - 1, 1<<(64-crossbarBits) - 1
	perCycle := int64(ports)*int64(d.vcs) + maxSpeedup*(d.steps.traverse+1)
	return max(1, min(crossbar/perCycle, queue/(maxSpeedup*longWait)))
}

// grantedSwitch notes the flits that are about to cross a switch in a step.
func (b *Blame) grantedSwitch(d *domain, sw *switchState, matches []request, t *stepTime) {
	if len(matches) == 0 {
		return
	}
	if b.pending >= passages {
		b.settle(d)
	}
	late := b.least.always
	if t.depart>>intervalShift-d.cycle != b.least.parts[PartSwitch] {
		late = 1
	}
	clocked := b.clocked[sw.queue0>>6:]
	n, none, mixed := b.pending, b.under+b.elsewhere.under == 0, b.others+b.elsewhere.others != 0
	for _, m := range matches {
		local := m.local()
		v := sw.queue(local)
		if clocked[local>>6]>>(local&63)&1 != 0 {
			b.crosses(d, sw, m, t, d.endsPacket(v.packet), max(t.depart, sw.outPort(m.output()).nextFree))
			continue
		}
		if ^v.packet&(headFlit|tailFlit) != 0 || none || d.unit != nil && !d.endsPacket(v.packet) {
			continue
		}
		id, o, e := v.packet>>packetBits, sw.outPort(m.output()), &b.passed[n]
		measured := uint32(1)
		if mixed {
			measured = b.isMeasured(id)
		}
		b.sent[sw.port0+int32(m.output())] += measured
		if !counted(v) && measured != 0 {
			b.packets.at(id).plus(&b.least.account)
		}
		e.packet, e.port0, e.request, e.ready, e.depart, e.free = id, sw.port0, m, v.ready, t.depart, o.nextFree
		steps := t.number - v.ready | late
		if b.came != nil {
			e.arrived = b.came[sw.queue0+int32(local)]
			steps |= v.ready - d.routeDelay - d.vaDelay - e.arrived
		}
		// No branches: whether a packet waits cannot be predicted.
		waits := 0
		if steps != 0 {
			waits = 1
		}
		if e.free > e.depart {
			waits = 1
		}
		n += waits & int(measured)
	}
	b.pending = n
}

// settle adds what packets passed in this cycle to the sums.
func (b *Blame) settle(d *domain) {
	if mem.Prefetching {
		for i := range b.passed[:b.pending] {
			mem.Prefetch(unsafe.Pointer(b.packets.at(b.passed[i].packet)))
		}
	}
	least := b.least.account[0]
	for i := range b.passed[:b.pending] {
		e := &b.passed[i]
		// Steps ago, the packet was ready for switch allocation, and before
		// that took its virtual channel, had its route, and arrived.
		sinceReady := b.cyclesSince(d, e.ready)
		sinceRouted, routed := sinceReady, e.ready
		pair := more(sinceReady)
		if d.combined == 0 {
			sinceTook := b.cyclesSince(d, e.ready-d.vaDelay)
			routed = e.arrived + d.routeDelay
			sinceRouted = b.cyclesSince(d, routed)
			pair += more(sinceRouted-sinceTook) + more(sinceTook-sinceReady)
		}
		route := int32(0)
		if d.routeDelay != 0 {
			route = b.cyclesSince(d, routed-d.routeDelay) - sinceRouted
			pair += more(route)
		}
		if pair > 0 {
			b.pairs[b.pairRow[e.port0+int32(e.request.port())]+int32(e.request.output())] += int64(pair)
		}
		crossed := e.depart >> intervalShift
		queue := wholeCycle(max(e.depart, e.free)) - crossed
		crossbar := int64(sinceReady) + crossed - d.cycle
		port := e.port0 + int32(e.request.output())
		if max(queue, int64(sinceRouted), int64(route)) >= longWait {
			parts := Parts{PartRoute: int64(route), PartVC: int64(sinceRouted - sinceReady), PartSwitch: crossbar}
			parts[queueing(&d.out[port])] = queue
			b.waitsLong(e.packet, &b.links[port], &parts)
			continue
		}
		late := account{uint64(crossbar) + uint64(sinceRouted-sinceReady)<<laneBits + uint64(route)<<(2*laneBits) - least}
		late[1] = uint64(queue) << (laneBits * (1 - d.out[port].bounded) & 63) // serialisation or ejection
		b.packets.at(e.packet).plus(&late)
		b.late[port] += linkLate(late[0]&laneMask | uint64(queue)<<crossbarBits)
		if late[0]>>laneBits != 0 {
			link := &b.links[port]
			link[PartVC] += int64(late[0] >> laneBits & laneMask)
			link[PartRoute] += int64(late[0] >> (2 * laneBits))
		}
	}
	b.pending = 0
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
func (b *Blame) cyclesSince(d *domain, step uint32) int32 {
	if b.perStep == 0 {
		return int32(d.cycle - d.steps.cycleOf(d.steps.wide(step)))
	}
	before := max(int32(uint32(d.steps.first)-step), 0)
	return int32((uint64(before) + b.roundUp) * b.perStep >> 32)
}

// cycleOf is the cycle that a step belongs to, up to 2^28 before or after that
// which the present cycle, or the last before it, begins with.
func (b *Blame) cycleOf(d *domain, step uint32) uint32 {
	if b.perStep == 0 {
		return uint32(d.steps.cycleOf(d.steps.wide(step)))
	}
	if first := d.steps.first; first != b.first {
		b.first, b.firstCycle = first, uint32(d.steps.cycleOf(first))
	}
	if after := int32(step - uint32(b.first)); after > 0 {
		return b.firstCycle + uint32(uint64(after)*b.perStep>>32)
	}
	return b.firstCycle - uint32((uint64(uint32(b.first)-step)+b.roundUp)*b.perStep>>32)
}

// waitsLong adds what an account has no room for.
func (b *Blame) waitsLong(id int32, link, parts *Parts) {
	for part := PartRoute; part < PartWire; part++ {
		cycles := parts[part] - b.least.parts[part]
		link[part] += cycles
		b.add(id, part, cycles)
	}
}

// endCycle brings the records of packets up to date, which may arrive in the
// next cycle.
func (b *Blame) endCycle(d *domain) {
	b.settle(d)
	if d.cycle >= b.foldAt {
		b.fold()
	}
	if d.cycle == b.emptyAt {
		b.empty(d)
	}
	if d.cycle >= b.emptyAt { // the cycle was left out if nothing was there
		b.emptyAt += (1 + (d.cycle-b.emptyAt)/b.emptyIn) * b.emptyIn
	}
}

// next is when accounts are emptied: at the same time in all domains, since the clocks
// of queues are read then, which divides what they count for pairs of ports.
func (b *Blame) next() int64 {
	if b.under+b.elsewhere.under == 0 || b.emptyAt <= b.domain.cycle {
		return fabric.Never
	}
	return b.emptyAt
}

// fold brings the links of the domain up to date.
func (b *Blame) fold() {
	d := b.domain
	b.foldAt = d.cycle + b.foldIn
	for _, s := range d.mine {
		port0 := d.switches[s].port0
		for port := range d.switches[s].ports {
			b.foldPort(d, port0+port)
		}
	}
	for _, t := range d.ends {
		link, passed := b.wired(d, d.terminalOut0+t)
		link[PartSource] += passed*b.least.source + b.queued[t]
		b.queued[t] = 0
	}
}

func (b *Blame) foldPort(d *domain, port int32) {
	link, passed := b.wired(d, port)
	for part := PartRoute; part <= PartSwitch; part++ {
		link[part] += passed * b.least.parts[part]
	}
	late := b.late[port]
	b.late[port] = 0
	link[PartSwitch] += int64(late & (1<<crossbarBits - 1))
	link[queueing(&d.out[port])] += int64(late >> crossbarBits)
}

// wired is a channel with the time on its wires of the packets passed since the last
// fold, and the number of these.
func (b *Blame) wired(d *domain, channel int32) (link *Parts, passed int64) {
	o, link := &d.out[channel], &b.links[channel]
	passed = int64(b.sent[channel])
	b.sent[channel] = 0
	link[PartWire] += passed * d.latency(o)
	return link, passed
}

// start starts the clock of a queue, with what its front waits for and has
// waited for until now.
func (b *Blame) start(d *domain, q int32, r *blameQueue, v *inVC) {
	r.clock, r.tails, r.since = account{}, 0, uint32(d.cycle)
	r.until, r.then = b.cycleOf(d, v.ready), uint8(PartSwitch)
	if v.packet&headFlit == 0 || d.isStreaming(q) {
		r.first = uint8(PartSerial)
		return
	}
	took := d.combined == 0 && v.out >= 0
	if !took {
		r.first, r.then = uint8(PartRoute), uint8(d.bidding())
	}
	arrived := v.ready - d.routeDelay
	if took {
		arrived = b.came[q]
	}
	if d.endsPacket(v.packet) {
		if id := v.packet >> packetBits; b.isMeasured(id) != 0 {
			b.packets.at(id).minus(&r.clock)
			r.tails, r.since = 1, b.cycleOf(d, arrived)
		}
	}
	if took {
		r.first, r.then = uint8(PartRoute), uint8(PartVC)
		until := r.until
		r.until = b.cycleOf(d, arrived+d.routeDelay)
		b.sync(d, q, r, v, b.cycleOf(d, v.ready-d.vaDelay))
		r.first, r.until, r.then = uint8(PartVC), until, uint8(PartSwitch)
	}
}
