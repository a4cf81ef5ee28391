package observe

import (
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/sim/check"
)

// blameQueue is the clock of a queue, valid while that runs. Cycles are modulo
// 2^32. 32 bytes.
type blameQueue struct {
	clock account
	since uint32 // cycle up to which the clock has been advanced
	until uint32 // cycle in which the front's present part changes from first to then
	tails int32  // measured packets whose last flit is in the queue
	first uint8  // part
	then  uint8  // part
}

// sync advances the clock of a queue to cycle c.
func (b *Blame) sync(d *core.Domain, q int32, r *blameQueue, v *core.InVC, c uint32) {
	cycles := int32(c - r.since)
	if cycles <= 0 {
		return
	}
	if r.tails > 0 {
		if d.IsStreaming(q) {
			b.chargeStreaming(d, q, r, v, int64(cycles))
		} else {
			first := min(max(int32(r.until-r.since), 0), cycles)
			if first > 0 {
				b.charge(d, q, r, v, r.first, int64(first), int64(first))
			}
			if first < cycles {
				b.charge(d, q, r, v, r.then, int64(cycles-first), int64(cycles-first))
			}
		}
	}
	r.since = c
	if int32(r.until-r.since) < 0 { // lest it come again
		r.until = r.since
	}
}

// charge moves one hand of a clock on: every measured packet in the queue has
// waited for the output of the front, so many cycles at a time.
func (b *Blame) charge(d *core.Domain, q int32, r *blameQueue, v *core.InVC, part uint8, cycles, at int64) {
	r.clock.add(core.Part(part), cycles)
	sw, out := &d.Switches[d.WordSwitch[q>>6]], int32(v.Hop>>16)
	cycles *= int64(r.tails)
	b.links[sw.Port0+out][part] += cycles
	if at*int64(r.tails) > 1 { // otherwise no more than the present packet is held up, by one cycle
		b.pairs[b.pairRow[sw.Port0+int32(d.Matcher.Places[q-sw.Queue0].Port)]+out] += cycles
	}
}

// chargeStreaming moves the hands of a clock on while the front of its queue crosses as a
// whole, a flit in each step or as the channel makes room.
func (b *Blame) chargeStreaming(d *core.Domain, q int32, r *blameQueue, v *core.InVC, cycles int64) {
	o := &d.Out[d.Switches[d.WordSwitch[q>>6]].Port0+int32(v.Hop>>16)]
	if part := queueing(o); part != core.PartSerial {
		since := d.Cycle - int64(uint32(d.Cycle)-r.since)
		if n := d.Unit.Followed.HeldUp(d, q, o, since, since+cycles); n > 0 {
			b.charge(d, q, r, v, uint8(part), n, 1)
			cycles -= n
		}
	}
	b.charge(d, q, r, v, uint8(core.PartSerial), cycles, 1)
}

// Arrived notes the last flits of packets that have come behind others, of their own
// packet or of others.
func (b *Blame) Arrived(d *core.Domain, flits []core.Flit) {
	for i := range flits {
		e := &flits[i]
		if e.Packet&core.TailFlit == 0 || e.Packet&core.HeadFlit != 0 && check.At(d.Queues, uint32(e.Queue)).Count == 1 {
			continue
		}
		if id := e.Packet >> core.PacketBits; b.isMeasured(id) != 0 {
			r := b.synced(d, e.Queue)
			r.tails++
			b.packets.At(id).minus(&r.clock)
		}
	}
}

// synced is the clock of a queue, running and advanced to the present cycle.
func (b *Blame) synced(d *core.Domain, q int32) *blameQueue {
	r, v := &b.queues[q], &d.Queues[q]
	if word, bit := &b.clocked[q>>6], uint64(1)<<(q&63); *word&bit == 0 {
		*word |= bit
		b.start(d, q, r, v)
	}
	b.sync(d, q, r, v, uint32(d.Cycle))
	return r
}

// Sleeps notes what the front of a queue waits for from now on.
func (b *Blame) Sleeps(d *core.Domain, q int32, part core.Part) { b.synced(d, q).then = uint8(part) }

// Resumes notes the same.
func (b *Blame) Resumes(d *core.Domain, q int32, part core.Part) { b.synced(d, q).then = uint8(part) }

// Blocked notes that the flit at the front of a queue has no room behind the
// crossbar in this cycle.
func (b *Blame) Blocked(d *core.Domain, q int32, o *core.OutPort) {
	r := b.synced(d, q)
	r.first, r.until = uint8(queueing(o)), uint32(d.Cycle+1)
}

// queueing is the part that waiting for a channel is.
func queueing(o *core.OutPort) core.Part {
	if o.Bounded == 0 {
		return core.PartEjection
	}
	return core.PartSerial
}

// GrantedVC notes the virtual channels that packets are given in a step.
func (b *Blame) GrantedVC(d *core.Domain, sw *core.SwitchState, matches []core.Request, step uint32) {
	until := b.cycleOf(d, step+d.VADelay)
	for _, m := range matches {
		q := sw.Queue0 + int32(m.Local())
		if !b.isClocked(q) {
			b.came[q] = sw.Queue(m.Local()).Ready - d.RouteDelay
			continue
		}
		r := &b.queues[q]
		b.sync(d, q, r, &d.Queues[q], uint32(d.Cycle))
		r.first, r.until, r.then = uint8(core.PartVC), until, uint8(core.PartSwitch)
	}
}

// TailCrosses notes the last flit of a packet that is the unit.
func (b *Blame) TailCrosses(d *core.Domain, sw *core.SwitchState, m core.Request, t *core.StepTime, leaves int64) {
	if b.isClocked(sw.Queue0 + int32(m.Local())) {
		b.crosses(d, sw, m, t, true, leaves)
	}
}

// crosses notes the flit at the front of a queue with a clock, which is about to
// cross a switch in a step and leaves by the channel at a time.
func (b *Blame) crosses(d *core.Domain, sw *core.SwitchState, m core.Request, t *core.StepTime, tail bool, leaves int64) {
	q, v, o := sw.Queue0+int32(m.Local()), sw.Queue(m.Local()), sw.OutPort(m.Output())
	r := &b.queues[q]
	b.sync(d, q, r, v, uint32(d.Cycle))
	if id := v.Packet >> core.PacketBits; tail && b.isMeasured(id) != 0 {
		b.depart(id, r, v, &b.links[sw.Port0+int32(m.Output())], o, d.Cycle, t.Depart, leaves)
	}
	if r.tails == 0 { // what comes to the front is what start makes of it
		b.clocked[q>>6] &^= 1 << (q & 63)
		return
	}
	r.first, r.until, r.then = uint8(core.PartSerial), b.cycleOf(d, t.Number+1), uint8(core.PartSwitch)
	if tail {
		routed, ready, held := d.Comes(q, t.Number+1)
		part := core.PartRoute
		if held {
			part, routed = core.PartVC, ready
		} else {
			r.then = uint8(d.Bidding())
		}
		if routed != t.Number+1 {
			r.first, r.until = uint8(part), b.cycleOf(d, routed)
		}
	}
}

func (b *Blame) isClocked(q int32) bool { return b.clocked[q>>6]>>(q&63)&1 != 0 }

// depart closes a packet's stay in a queue, in cycle c, and adds what is known
// from then on: its way through the crossbar, which ends at ready, and onto
// the channel.
func (b *Blame) depart(id int32, r *blameQueue, v *core.InVC, link *core.Parts, o *core.OutPort, c, ready, leaves int64) {
	r.tails--
	k := b.packets.At(id)
	k.plus(&r.clock)
	if counted(v) {
		k.minus(&b.least.account)
	}
	through := ready>>core.IntervalShift - c
	wait := core.WholeCycle(leaves) - c - through
	queue := queueing(o)
	k.add(core.PartSwitch, through)
	b.add(id, queue, wait)
	link[core.PartSwitch] += through
	link[queue] += wait
	link[core.PartWire] += b.domain.Latency(o)
	if b.domain.Unit != nil {
		b.spill(id)
	}
}

// counted tells whether a flit's next switch will be among the hops of its
// delivery.
func counted(v *core.InVC) bool { return v.State < core.MaxHops<<core.HopShift }
