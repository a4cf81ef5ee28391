package observe

import (
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/sim/check"
)

// clock counts the cycles for which the front of a queue has waited, by what it waited for, while
// measured packets stood in the queue.
type clock struct {
	core.Parts
	since int64 // cycle up to which the clock has been advanced
	until int64 // cycle in which what the front waits for changes from first to then
	first core.Part
	then  core.Part
	tails int32 // measured packets whose last flit is in the queue
}

// synced is the clock of a queue, advanced to the present cycle.
func (b *Blame) synced(d *core.Domain, q int32) *clock {
	k := check.At(b.clocks, uint32(q))
	if k.tails > 0 && k.since < d.Cycle {
		b.advance(d, q, k)
	}
	k.since = d.Cycle
	return k
}

// set says what the front of a queue waits for from now on.
func (k *clock) set(first core.Part, until int64, then core.Part) {
	k.first, k.until, k.then = first, until, then
}

// advance moves the hands of a clock on to the present cycle. While the front of its queue
// crosses as a whole, it does so a flit in each step or as the channel makes room.
func (b *Blame) advance(d *core.Domain, q int32, k *clock) {
	cycles := d.Cycle - k.since
	sw, out := &d.Switches[d.WordSwitch[q>>6]], int32(d.Queues[q].Hop>>16)
	c := charges{k: k, link: &b.links[sw.Port0+out], pair: &b.pairs[b.pairRow[sw.Port0+int32(d.Matcher.Places[q-sw.Queue0].Port)]+out]}
	if d.IsStreaming(q) {
		o := &d.Out[sw.Port0+out]
		if part := queueing(o); part != core.PartSerial {
			n := d.Unit.Followed.HeldUp(d, q, o, k.since, d.Cycle)
			c.add(part, n, 1)
			cycles -= n
		}
		c.add(core.PartSerial, cycles, 1)
		return
	}
	if first := min(k.until-k.since, cycles); first > 0 {
		c.add(k.first, first, first)
		cycles -= first
	}
	c.add(k.then, cycles, cycles)
}

// charges are what is charged while one hand of a clock moves on: every measured packet in the queue
// has waited for the output of the front.
type charges struct {
	k    *clock
	link *core.Parts
	pair *int64
}

// add charges some cycles, so many at a time.
func (c *charges) add(part core.Part, cycles, at int64) {
	c.k.Parts[part] += cycles
	all := cycles * int64(c.k.tails)
	c.link[part] += all
	if at*int64(c.k.tails) > 1 { // otherwise no more than the present packet is held up, by one cycle
		*c.pair += all
	}
}

// Arrived notes heads that have come to the front of their queues, and the last flits of
// measured packets.
func (b *Blame) Arrived(d *core.Domain, flits []core.Flit) {
	for i := range flits {
		e := &flits[i]
		if e.Packet&core.HeadFlit != 0 && check.At(d.Queues, uint32(e.Queue)).Count == 1 {
			routed := d.Cycle
			if d.RouteDelay > 0 {
				routed = d.Steps.CycleOf(d.Steps.FirstStep(d.Cycle) + int64(d.RouteDelay))
			}
			b.clocks[e.Queue].set(core.PartRoute, routed, d.Bidding())
		}
		if e.Packet&core.TailFlit == 0 {
			continue
		}
		if account := b.packets.At(e.Packet >> core.PacketBits); account.measured {
			k := b.synced(d, e.Queue)
			k.tails++
			account.Subtract(&k.Parts)
		}
	}
}

// Sleeps notes what the front of a queue waits for from now on.
func (b *Blame) Sleeps(d *core.Domain, q int32, part core.Part) { b.synced(d, q).then = part }

// Resumes notes the same.
func (b *Blame) Resumes(d *core.Domain, q int32, part core.Part) { b.synced(d, q).then = part }

// Blocked notes that the flit at the front of a queue has no room behind the
// crossbar in this cycle.
func (b *Blame) Blocked(d *core.Domain, q int32, o *core.OutPort) {
	k := b.synced(d, q)
	k.first, k.until = queueing(o), d.Cycle+1
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
	for _, m := range matches {
		b.synced(d, sw.Queue0+int32(m.Local())).set(core.PartVC, cycleOf(d, step+d.VADelay), core.PartSwitch)
	}
}

// GrantedSwitch notes the flits that are about to cross a switch in a step.
func (b *Blame) GrantedSwitch(d *core.Domain, sw *core.SwitchState, matches []core.Request, t *core.StepTime) {
	for _, m := range matches {
		b.crosses(d, sw, m, t, d.EndsPacket(sw.Queue(m.Local()).Packet), max(t.Depart, sw.OutPort(m.Output()).NextFree))
	}
}

// TailCrosses notes the last flit of a packet that is the unit.
func (b *Blame) TailCrosses(d *core.Domain, sw *core.SwitchState, m core.Request, t *core.StepTime, leaves int64) {
	b.crosses(d, sw, m, t, true, leaves)
}

// crosses notes the flit at the front of a queue, which is about to cross a switch in a step and
// leaves by the channel at a time.
func (b *Blame) crosses(d *core.Domain, sw *core.SwitchState, m core.Request, t *core.StepTime, tail bool, leaves int64) {
	q, v := sw.Queue0+int32(m.Local()), sw.Queue(m.Local())
	k := b.synced(d, q)
	if id := v.Packet >> core.PacketBits; tail && b.packets.At(id).measured {
		account := b.packets.At(id)
		k.tails--
		account.Add(&k.Parts)
		channel := sw.Port0 + int32(m.Output())
		o := &d.Out[channel]
		// From now on all is known: the way through the crossbar, and onto the channel.
		through := t.Depart>>core.IntervalShift - d.Cycle
		wait, wire := core.WholeCycle(leaves)-d.Cycle-through, d.Latency(o)
		for _, sum := range [...]*core.Parts{&account.Parts, &b.links[channel]} {
			sum[core.PartSwitch] += through
			sum[queueing(o)] += wait
			sum[core.PartWire] += wire
		}
	}
	if v.Count < 2 {
		k.set(core.PartSwitch, d.Cycle, core.PartSwitch)
		return
	}
	k.set(core.PartSerial, cycleOf(d, t.Number+1), core.PartSwitch)
	if !tail {
		return
	}
	part, next := core.PartRoute, t.Number+1
	routed, ready, held := d.Comes(q, next)
	if held {
		part, routed = core.PartVC, ready
	} else {
		k.then = d.Bidding()
	}
	if routed != next {
		k.first, k.until = part, cycleOf(d, routed)
	}
}

// cycleOf is the cycle of a step of the present cycle or soon after.
func cycleOf(d *core.Domain, step uint32) int64 { return d.Steps.CycleOf(d.Steps.Wide(step)) }
