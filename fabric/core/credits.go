package core

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// chooseVC points the packet at the front of a queue to a free virtual channel that has room; false
// if none has. The choice is made anew in each step, in round robin; crossing the switch takes the
// channel.
func (d *Domain) chooseVC(sw *SwitchState, local uint32, v *InVC, free uint32) bool {
	port := v.Hop >> 16
	if free = d.withCredits(sw, port, free, d.need(sw.OutPort(port), v.Packet)); free == 0 {
		return false
	}
	v.Out = int32(nextVC(&d.acceptOV[uint32(sw.Queue0)+local], port*uint32(d.vcs), free))
	return true
}

// need is the credits that a virtual channel out of o must have to be given to a packet.
func (d *Domain) need(o *OutPort, packet int32) int32 {
	switch {
	case d.creditsBack && o.Bounded == 0:
		return d.received
	case d.creditsBack:
		return d.buffer
	case d.cutThrough:
		return d.flitsOf(packet >> PacketBits)
	}
	return 1
}

func (d *Domain) withCredits(sw *SwitchState, port, set uint32, need int32) uint32 {
	ovs := sw.outVCs.From(port * uint32(d.vcs))
	short := shortOf(ovs, set, need)
	if d.Unit != nil && set&short != 0 {
		d.Unit.room(d, sw.Port0+int32(port), set, need)
		short = shortOf(ovs, set, need)
	}
	return set &^ short
}

// shortOf is the virtual channels of a port, up to the last of a set, with less than need credits.
func shortOf(ovs check.Array[outVC], set uint32, need int32) (short uint32) {
	for vc := range uint32(bits.Len32(set)) {
		// No branch: nothing predicts it.
		short |= uint32(ovs.At(vc).credits-need) >> 31 << vc
	}
	return short
}

func withoutCredit(ovs check.Array[outVC], vcs uint32) (set uint32) {
	for vc := range vcs {
		set |= uint32(ovs.At(vc).credits-1) >> 31 << (vc & 31)
	}
	return set
}

// nextVC is the output virtual channel in a set that is nearest to a round-robin pointer, which
// moves behind it; first is the port's first channel. The pointer may be of this port or not.
func nextVC(pointer *int32, first, set uint32) (lov uint32) {
	behind := min(max(*pointer-int32(first), 0), fabric.MaxVCs)
	from := set >> (behind & 31) << (behind & 31)
	if from == 0 {
		from = set
	}
	lov = first + uint32(bits.TrailingZeros32(from))
	*pointer = int32(lov) + 1
	return lov
}

// roomFor is a port's first local output virtual channel in a set with room for the flits; -1:
// none.
func (d *Domain) roomFor(sw *SwitchState, port, set uint32, flits int32) int32 {
	if set = d.withCredits(sw, port, set, flits); set == 0 {
		return -1
	}
	return int32(port*uint32(d.vcs) + uint32(bits.TrailingZeros32(set)))
}

// Credits travel on wires of their own beside the channel, credits_per_cycle of them in a cycle of
// the flit clock, whatever the channel's data rate. The slots that an input frees, on any of its
// virtual channels, wait for that in one queue. As with the output queue, only the time at which
// the wires are free again is kept: inPort.nextCredit. An input takes at most a flit a cycle, so
// the queue empties; it holds more than one credit only while the core, faster than the channel,
// drains a buffer.

// sendCredit queues a credit that may leave an input from time ready (cycles << intervalShift) on,
// for the far end's ov upstream.
func (d *Domain) sendCredit(in *inPort, upstream int32, ready int64) {
	send := latest(ready, in.nextCredit)
	in.nextCredit = send + d.creditInterval
	d.fileCredit(in.wheel, send>>IntervalShift+int64(in.delay), upstream)
}

// toTerminal takes the credit of a flit for a terminal and files its return: it leaves in the cycle
// after the flit's arrival. back is when it would be back if it left at once.
func (d *Domain) toTerminal(o *outVC, ov int32, back int64) {
	o.credits--
	*d.credits[0].Place(back + 1) = ov
}

// holdCredit keeps a credit, which could leave at time ready, for late cycles. It joins the input's
// queue only then: credits of later flits pass it.
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

// The following counts the flits that wait for an output, as [fabric.View.Waiting] shows them: from
// their decision until their channel takes them.

// list is where to file flits that cross in this cycle, depart at a time and are not held longer;
// nil: cross must file each.
func (b *behind) list(d *Domain, depart int64) *[]int32 {
	ahead := depart>>IntervalShift - d.Cycle
	if d.crossed != nil || ahead <= 0 || ahead >= soonCycles-1 {
		return nil
	}
	return &b.soon[(d.Cycle+ahead+1)%soonCycles]
}

// cross files a flit that crosses switch sw in this cycle to local output virtual channel lov,
// departs at a time, and whose credit is sent so many cycles late.
func (b *behind) cross(d *Domain, sw *SwitchState, lov uint32, depart, late int64) {
	until := depart >> IntervalShift
	if b.slots && late > 0 {
		until = max(until, d.Cycle+late-1)
	}
	if until <= d.Cycle {
		sw.outVC(lov).waiting--
		return
	}
	ov := sw.Port0*int32(d.vcs) + int32(lov)
	if d.crossed != nil {
		d.crossed[ov]++
	}
	if until-d.Cycle < soonCycles-1 {
		list := &b.soon[(until+1)%soonCycles]
		*list = append(*list, ov)
	} else {
		*b.until.Place(until + 1) = ov
	}
}

// release ends the waiting of flits whose time came before cycle c.
func (b *behind) release(d *Domain, c int64) {
	list := &b.soon[c%soonCycles]
	b.end(d, *list)
	*list = (*list)[:0]
	for batch := b.until.Next(c); batch != nil; batch = b.until.Next(c) {
		b.end(d, batch)
	}
}

func (b *behind) end(d *Domain, ovs []int32) {
	for _, ov := range ovs {
		d.OutVC[ov].waiting--
	}
	if d.crossed != nil {
		for _, ov := range ovs {
			d.crossed[ov]--
		}
	}
}

// next is the first cycle after c in which some flit's waiting ends; Never: there is none.
func (b *behind) next(c int64) int64 {
	cycle, any := b.until.NextCycle()
	if !any {
		cycle = fabric.Never
	}
	for soon := c + 1; soon <= c+soonCycles; soon++ {
		if len(b.soon[soon%soonCycles]) > 0 {
			return min(cycle, soon)
		}
	}
	return cycle
}

// countDecision counts a packet as waiting for its output virtual channel at switch sw.
func (d *Domain) countDecision(sw *SwitchState, lov uint32) {
	if d.needs.Greedy {
		d.decided = append(d.decided, lov)
	} else {
		sw.outVC(lov).waiting++
	}
}

// countDecisions counts all decisions of a cycle at a switch, for a greedy routing.
func (d *Domain) countDecisions(sw *SwitchState) {
	for _, lov := range d.decided {
		sw.outVC(lov).waiting++
	}
	d.decided = d.decided[:0]
}

// countWaiting counts a flit of a routed packet as waiting for its output.
func (d *Domain) countWaiting(word int32, hop uint32) {
	if hop != multicastHop {
		d.Switches[d.WordSwitch[word]].outVC(lowestOV(hop, uint32(d.vcs))).waiting++
	}
}

// load is the flits counted so far that wait for a port, and that are sent without their credits
// being back.
func (d *Domain) load(p topology.PortID) (waiting, outstanding int32) {
	ovs := d.OutVC[d.ov(p, 0):][:d.vcs]
	outstanding = d.bufferOf(p) * int32(len(ovs))
	for i := range ovs {
		waiting += ovs[i].waiting
		outstanding -= ovs[i].credits
	}
	return waiting, outstanding
}
