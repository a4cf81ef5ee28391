package core

import (
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
func (b *Blame) sync(d *domain, q int32, r *blameQueue, v *inVC, c uint32) {
	cycles := int32(c - r.since)
	if cycles <= 0 {
		return
	}
	if r.tails > 0 {
		if d.isStreaming(q) {
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
func (b *Blame) charge(d *domain, q int32, r *blameQueue, v *inVC, part uint8, cycles, at int64) {
	r.clock.add(Part(part), cycles)
	sw, out := &d.switches[d.wordSwitch[q>>6]], int32(v.hop>>16)
	cycles *= int64(r.tails)
	b.links[sw.port0+out][part] += cycles
	if at*int64(r.tails) > 1 { // otherwise no more than the present packet is held up, by one cycle
		b.pairs[b.pairRow[sw.port0+int32(d.matcher.places[q-sw.queue0].port)]+out] += cycles
	}
}

// chargeStreaming moves the hands of a clock on while the front of its queue crosses as a
// whole, a flit in each step or as the channel makes room.
func (b *Blame) chargeStreaming(d *domain, q int32, r *blameQueue, v *inVC, cycles int64) {
	o := &d.out[d.switches[d.wordSwitch[q>>6]].port0+int32(v.hop>>16)]
	if part := queueing(o); part != PartSerial {
		since := d.cycle - int64(uint32(d.cycle)-r.since)
		if n := d.unit.followed.heldUp(d, q, o, since, since+cycles); n > 0 {
			b.charge(d, q, r, v, uint8(part), n, 1)
			cycles -= n
		}
	}
	b.charge(d, q, r, v, uint8(PartSerial), cycles, 1)
}

// arrived notes the last flits of packets that have come behind others, of their own
// packet or of others.
func (b *Blame) arrived(d *domain, flits []flit) {
	for i := range flits {
		e := &flits[i]
		if e.packet&tailFlit == 0 || e.packet&headFlit != 0 && check.At(d.queues, uint32(e.queue)).count == 1 {
			continue
		}
		if id := e.packet >> packetBits; b.isMeasured(id) != 0 {
			r := b.synced(d, e.queue)
			r.tails++
			b.packets.at(id).minus(&r.clock)
		}
	}
}

// synced is the clock of a queue, running and advanced to the present cycle.
func (b *Blame) synced(d *domain, q int32) *blameQueue {
	r, v := &b.queues[q], &d.queues[q]
	if word, bit := &b.clocked[q>>6], uint64(1)<<(q&63); *word&bit == 0 {
		*word |= bit
		b.start(d, q, r, v)
	}
	b.sync(d, q, r, v, uint32(d.cycle))
	return r
}

// sleeps notes what the front of a queue waits for from now on.
func (b *Blame) sleeps(d *domain, q int32, part Part) { b.synced(d, q).then = uint8(part) }

// resumes notes the same.
func (b *Blame) resumes(d *domain, q int32, part Part) { b.synced(d, q).then = uint8(part) }

// blocked notes that the flit at the front of a queue has no room behind the
// crossbar in this cycle.
func (b *Blame) blocked(d *domain, q int32, o *outPort) {
	r := b.synced(d, q)
	r.first, r.until = uint8(queueing(o)), uint32(d.cycle+1)
}

// queueing is the part that waiting for a channel is.
func queueing(o *outPort) Part {
	if o.bounded == 0 {
		return PartEjection
	}
	return PartSerial
}

// grantedVC notes the virtual channels that packets are given in a step.
func (b *Blame) grantedVC(d *domain, sw *switchState, matches []request, step uint32) {
	until := b.cycleOf(d, step+d.vaDelay)
	for _, m := range matches {
		q := sw.queue0 + int32(m.local())
		if !b.isClocked(q) {
			b.came[q] = sw.queue(m.local()).ready - d.routeDelay
			continue
		}
		r := &b.queues[q]
		b.sync(d, q, r, &d.queues[q], uint32(d.cycle))
		r.first, r.until, r.then = uint8(PartVC), until, uint8(PartSwitch)
	}
}

// tailCrosses notes the last flit of a packet that is the unit.
func (b *Blame) tailCrosses(d *domain, sw *switchState, m request, t *stepTime, leaves int64) {
	if b.isClocked(sw.queue0 + int32(m.local())) {
		b.crosses(d, sw, m, t, true, leaves)
	}
}

// crosses notes the flit at the front of a queue with a clock, which is about to
// cross a switch in a step and leaves by the channel at a time.
func (b *Blame) crosses(d *domain, sw *switchState, m request, t *stepTime, tail bool, leaves int64) {
	q, v, o := sw.queue0+int32(m.local()), sw.queue(m.local()), sw.outPort(m.output())
	r := &b.queues[q]
	b.sync(d, q, r, v, uint32(d.cycle))
	if id := v.packet >> packetBits; tail && b.isMeasured(id) != 0 {
		b.depart(id, r, v, &b.links[sw.port0+int32(m.output())], o, d.cycle, t.depart, leaves)
	}
	if r.tails == 0 { // what comes to the front is what start makes of it
		b.clocked[q>>6] &^= 1 << (q & 63)
		return
	}
	r.first, r.until, r.then = uint8(PartSerial), b.cycleOf(d, t.number+1), uint8(PartSwitch)
	if tail {
		routed, ready, held := d.comes(q, t.number+1)
		part := PartRoute
		if held {
			part, routed = PartVC, ready
		} else {
			r.then = uint8(d.bidding())
		}
		if routed != t.number+1 {
			r.first, r.until = uint8(part), b.cycleOf(d, routed)
		}
	}
}

func (b *Blame) isClocked(q int32) bool { return b.clocked[q>>6]>>(q&63)&1 != 0 }

// depart closes a packet's stay in a queue, in cycle c, and adds what is known
// from then on: its way through the crossbar, which ends at ready, and onto
// the channel.
func (b *Blame) depart(id int32, r *blameQueue, v *inVC, link *Parts, o *outPort, c, ready, leaves int64) {
	r.tails--
	k := b.packets.at(id)
	k.plus(&r.clock)
	if counted(v) {
		k.minus(&b.least.account)
	}
	through := ready>>intervalShift - c
	wait := wholeCycle(leaves) - c - through
	queue := queueing(o)
	k.add(PartSwitch, through)
	b.add(id, queue, wait)
	link[PartSwitch] += through
	link[queue] += wait
	link[PartWire] += b.domain.latency(o)
	if b.domain.unit != nil {
		b.spill(id)
	}
}

// counted tells whether a flit's next switch will be among the hops of its
// delivery.
func counted(v *inVC) bool { return v.state < maxHops<<hopShift }
