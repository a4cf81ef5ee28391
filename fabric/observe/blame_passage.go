package observe

import (
	"unsafe"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
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

// leastTimesOf are what no packet of one flit can take less of.
type leastTimes struct {
	account           account    // at a switch
	parts             core.Parts // the same
	always            uint32     // 1: all passages are put down, even those that took no more
	source            int64      // at its terminal
	wire, longestWire int64      // on a channel
}

// longLeast is the time at a switch from which on none of it is, so that 255
// switches have room in an account; nor is any where steps are no whole part of
// a cycle.
const longLeast = 256

func leastTimesOf(d *core.Domain) leastTimes {
	l := leastTimes{source: int64(d.Config.Terminal.InjectionCycles), wire: fabric.Never, always: 1}
	if s := &d.Steps; s.Whole != 0 && d.Upcoming == nil { // or stages may cost nothing behind others
		given := int64(d.RouteDelay)
		if d.Combined == 0 {
			given += int64(d.VADelay)
		}
		routed := int64(d.RouteDelay) / s.Whole
		parts := core.Parts{core.PartRoute: routed, core.PartVC: given/s.Whole - routed, core.PartSwitch: s.CycleFrom(s.Traverse)}
		if parts.Total() < longLeast {
			l.parts = parts
			if max(parts[core.PartRoute], parts[core.PartVC]) <= 1 { // otherwise pairs of ports count it
				l.always = 0
			}
		}
	}
	for part := core.PartRoute; part < core.PartWire; part++ {
		l.account.add(part, l.parts[part])
	}
	for i := range d.Out {
		latency := d.Latency(&d.Out[i])
		l.wire, l.longestWire = min(l.wire, latency), max(l.longestWire, latency)
	}
	return l
}

// passage is a packet's way through a switch that may have taken more than the
// least. 40 bytes.
type passage struct {
	packet  int32
	port0   int32        // of the switch
	request core.Request // for the crossbar
	ready   uint32       // step in which it was ready for switch allocation
	arrived uint32       // in the queue, where virtual channels are given in a stage of their own
	depart  int64        // as in stepTime
	free    int64        // when the channel is, likewise
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
func (b *Blame) foldCycles(d *core.Domain, ports int32) int64 {
	const crossbar, queue = 1<<crossbarBits - 1, 1<<(64-crossbarBits) - 1
	perCycle := int64(ports)*int64(d.VCs()) + core.MaxSpeedup*(d.Steps.Traverse+1)
	return max(1, min(crossbar/perCycle, queue/(core.MaxSpeedup*longWait)))
}

// GrantedSwitch notes the flits that are about to cross a switch in a step.
func (b *Blame) GrantedSwitch(d *core.Domain, sw *core.SwitchState, matches []core.Request, t *core.StepTime) {
	if len(matches) == 0 {
		return
	}
	if b.pending >= passages {
		b.settle(d)
	}
	late := b.least.always
	if t.Depart>>core.IntervalShift-d.Cycle != b.least.parts[core.PartSwitch] {
		late = 1
	}
	clocked := b.clocked[sw.Queue0>>6:]
	n, none, mixed := b.pending, b.under+b.elsewhere.under == 0, b.others+b.elsewhere.others != 0
	for _, m := range matches {
		local := m.Local()
		v := sw.Queue(local)
		if clocked[local>>6]>>(local&63)&1 != 0 {
			b.crosses(d, sw, m, t, d.EndsPacket(v.Packet), max(t.Depart, sw.OutPort(m.Output()).NextFree))
			continue
		}
		if ^v.Packet&(core.HeadFlit|core.TailFlit) != 0 || none || d.Unit != nil && !d.EndsPacket(v.Packet) {
			continue
		}
		id, o, e := v.Packet>>core.PacketBits, sw.OutPort(m.Output()), &b.passed[n]
		measured := uint32(1)
		if mixed {
			measured = b.isMeasured(id)
		}
		b.sent[sw.Port0+int32(m.Output())] += measured
		if !counted(v) && measured != 0 {
			b.packets.At(id).plus(&b.least.account)
		}
		e.packet, e.port0, e.request, e.ready, e.depart, e.free = id, sw.Port0, m, v.Ready, t.Depart, o.NextFree
		steps := t.Number - v.Ready | late
		if b.came != nil {
			e.arrived = b.came[sw.Queue0+int32(local)]
			steps |= v.Ready - d.RouteDelay - d.VADelay - e.arrived
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
func (b *Blame) settle(d *core.Domain) {
	if mem.Prefetching {
		for i := range b.passed[:b.pending] {
			mem.Prefetch(unsafe.Pointer(b.packets.At(b.passed[i].packet)))
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
		if d.Combined == 0 {
			sinceTook := b.cyclesSince(d, e.ready-d.VADelay)
			routed = e.arrived + d.RouteDelay
			sinceRouted = b.cyclesSince(d, routed)
			pair += more(sinceRouted-sinceTook) + more(sinceTook-sinceReady)
		}
		route := int32(0)
		if d.RouteDelay != 0 {
			route = b.cyclesSince(d, routed-d.RouteDelay) - sinceRouted
			pair += more(route)
		}
		if pair > 0 {
			b.pairs[b.pairRow[e.port0+int32(e.request.Port())]+int32(e.request.Output())] += int64(pair)
		}
		crossed := e.depart >> core.IntervalShift
		queue := core.WholeCycle(max(e.depart, e.free)) - crossed
		crossbar := int64(sinceReady) + crossed - d.Cycle
		port := e.port0 + int32(e.request.Output())
		if max(queue, int64(sinceRouted), int64(route)) >= longWait {
			parts := core.Parts{core.PartRoute: int64(route), core.PartVC: int64(sinceRouted - sinceReady), core.PartSwitch: crossbar}
			parts[queueing(&d.Out[port])] = queue
			b.waitsLong(e.packet, &b.links[port], &parts)
			continue
		}
		late := account{uint64(crossbar) + uint64(sinceRouted-sinceReady)<<laneBits + uint64(route)<<(2*laneBits) - least}
		late[1] = uint64(queue) << (laneBits * (1 - d.Out[port].Bounded) & 63) // serialisation or ejection
		b.packets.At(e.packet).plus(&late)
		b.late[port] += linkLate(late[0]&laneMask | uint64(queue)<<crossbarBits)
		if late[0]>>laneBits != 0 {
			link := &b.links[port]
			link[core.PartVC] += int64(late[0] >> laneBits & laneMask)
			link[core.PartRoute] += int64(late[0] >> (2 * laneBits))
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
func (b *Blame) cyclesSince(d *core.Domain, step uint32) int32 {
	if b.perStep == 0 {
		return int32(d.Cycle - d.Steps.CycleOf(d.Steps.Wide(step)))
	}
	before := max(int32(uint32(d.Steps.First)-step), 0)
	return int32((uint64(before) + b.roundUp) * b.perStep >> 32)
}

// cycleOf is the cycle that a step belongs to, up to 2^28 before or after that
// which the present cycle, or the last before it, begins with.
func (b *Blame) cycleOf(d *core.Domain, step uint32) uint32 {
	if b.perStep == 0 {
		return uint32(d.Steps.CycleOf(d.Steps.Wide(step)))
	}
	if first := d.Steps.First; first != b.first {
		b.first, b.firstCycle = first, uint32(d.Steps.CycleOf(first))
	}
	if after := int32(step - uint32(b.first)); after > 0 {
		return b.firstCycle + uint32(uint64(after)*b.perStep>>32)
	}
	return b.firstCycle - uint32((uint64(uint32(b.first)-step)+b.roundUp)*b.perStep>>32)
}

// waitsLong adds what an account has no room for.
func (b *Blame) waitsLong(id int32, link, parts *core.Parts) {
	for part := core.PartRoute; part < core.PartWire; part++ {
		cycles := parts[part] - b.least.parts[part]
		link[part] += cycles
		b.add(id, part, cycles)
	}
}

// EndCycle brings the records of packets up to date, which may arrive in the
// next cycle.
func (b *Blame) EndCycle(d *core.Domain) {
	b.settle(d)
	if d.Cycle >= b.foldAt {
		b.fold()
	}
	if d.Cycle == b.emptyAt {
		b.empty(d)
	}
	if d.Cycle >= b.emptyAt { // the cycle was left out if nothing was there
		b.emptyAt += (1 + (d.Cycle-b.emptyAt)/b.emptyIn) * b.emptyIn
	}
}

// Next is when accounts are emptied: at the same time in all domains, since the clocks
// of queues are read then, which divides what they count for pairs of ports.
func (b *Blame) Next() int64 {
	if b.under+b.elsewhere.under == 0 || b.emptyAt <= b.domain.Cycle {
		return fabric.Never
	}
	return b.emptyAt
}

// fold brings the links of the domain up to date.
func (b *Blame) fold() {
	d := b.domain
	b.foldAt = d.Cycle + b.foldIn
	for _, s := range d.Mine {
		port0 := d.Switches[s].Port0
		for port := range d.Switches[s].Ports {
			b.foldPort(d, port0+port)
		}
	}
	for _, t := range d.Ends {
		link, passed := b.wired(d, d.TerminalOut0+t)
		link[core.PartSource] += passed*b.least.source + b.queued[t]
		b.queued[t] = 0
	}
}

func (b *Blame) foldPort(d *core.Domain, port int32) {
	link, passed := b.wired(d, port)
	for part := core.PartRoute; part <= core.PartSwitch; part++ {
		link[part] += passed * b.least.parts[part]
	}
	late := b.late[port]
	b.late[port] = 0
	link[core.PartSwitch] += int64(late & (1<<crossbarBits - 1))
	link[queueing(&d.Out[port])] += int64(late >> crossbarBits)
}

// wired is a channel with the time on its wires of the packets passed since the last
// fold, and the number of these.
func (b *Blame) wired(d *core.Domain, channel int32) (link *core.Parts, passed int64) {
	o, link := &d.Out[channel], &b.links[channel]
	passed = int64(b.sent[channel])
	b.sent[channel] = 0
	link[core.PartWire] += passed * d.Latency(o)
	return link, passed
}

// start starts the clock of a queue, with what its front waits for and has
// waited for until now.
func (b *Blame) start(d *core.Domain, q int32, r *blameQueue, v *core.InVC) {
	r.clock, r.tails, r.since = account{}, 0, uint32(d.Cycle)
	r.until, r.then = b.cycleOf(d, v.Ready), uint8(core.PartSwitch)
	if v.Packet&core.HeadFlit == 0 || d.IsStreaming(q) {
		r.first = uint8(core.PartSerial)
		return
	}
	took := d.Combined == 0 && v.Out >= 0
	if !took {
		r.first, r.then = uint8(core.PartRoute), uint8(d.Bidding())
	}
	arrived := v.Ready - d.RouteDelay
	if took {
		arrived = b.came[q]
	}
	if d.EndsPacket(v.Packet) {
		if id := v.Packet >> core.PacketBits; b.isMeasured(id) != 0 {
			b.packets.At(id).minus(&r.clock)
			r.tails, r.since = 1, b.cycleOf(d, arrived)
		}
	}
	if took {
		r.first, r.then = uint8(core.PartRoute), uint8(core.PartVC)
		until := r.until
		r.until = b.cycleOf(d, arrived+d.RouteDelay)
		b.sync(d, q, r, v, b.cycleOf(d, v.Ready-d.VADelay))
		r.first, r.until, r.then = uint8(core.PartVC), until, uint8(core.PartSwitch)
	}
}
