package core

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/check"
)

// With packets as the unit, every copy of a multicast packet is a packet; the last is the packet
// itself. Passes are granted as for flits ([multicast.grantPasses]).

// forward has a queue's front packet cross by the outputs of the pass that it begins in step t: all
// else follows, as in [Domain.crossPackets].
func (u *packetUnit) forward(d *Domain, sw *SwitchState, local uint32, r *replication, t *StepTime) {
	v, place := sw.Queue(local), d.Matcher.Places[local]
	c := transit{in: *d.inflow(v.Packet >> PacketBits), granted: d.Steps.Wide(t.Number), window: fabric.Never, decided: -1}
	branches := int64(0)
	for i := range r.branches {
		b := &r.branches[i]
		if b.lov < 0 {
			continue
		}
		branches++
		copied := c
		o := sw.OutPort(b.output)
		copied.first, copied.pace, copied.lov = max(o.NextFree, t.Depart), d.Pace(o).slope, b.lov
		copied.follow(u, d, d.Pace(o).Interval)
		packet := v.Packet
		if r.heads > 0 || i < len(r.branches)-1 {
			packet = d.copyPacket(packet>>PacketBits)<<PacketBits | packet&(1<<PacketBits-1)
		}
		u.send(d, sw, b.output, v, packet, &copied)
	}
	c.follow(u, d, 0) // as far as the input goes
	d.ReplicatedFlits += branches * int64(r.flits)
	if r.heads == 0 {
		in := sw.inPort(uint32(place.Port))
		u.returnCredits(d, in, in.upstream+int32(place.vc), t, &c)
		if len(r.branches) == 0 {
			d.DiscardedFlits += int64(r.flits)
		} else {
			d.ReplicatedFlits -= int64(r.flits)
		}
	}
	if r.flits == 1 {
		u.endPass(d, sw, local, v, t.Number)
	} else {
		u.awaitTail(d, sw, local, uint32(place.Port), c.crossed)
	}
}

// endPass ends the pass of a queue's front packet, whose tail crossed in a step: it gives back what
// it holds, and leaves after the last pass.
func (u *packetUnit) endPass(d *Domain, sw *SwitchState, local uint32, v *InVC, step uint32) {
	m, queue := d.multicast, sw.Queue0+int32(local)
	r := &m.work[m.under[queue]-1]
	if r.flits > 1 {
		held := check.Of(d.hold.ports).From(uint32(sw.Port0))
		for i := range r.branches {
			b := &r.branches[i]
			if b.lov < 0 {
				continue
			}
			b.release(d, sw)
			if d.watched {
				u.complete(d, sw.Port0+int32(b.output), crossing)
			}
			u.wakeAll(d, &held.At(b.output).outputWaiters)
		}
		u.wakeAll(d, &held.At(uint32(d.Matcher.Places[local].Port)).inputWaiters)
		u.wakeMulticast(d, sw)
	}
	last := r.heads == 0
	if last && len(r.branches) == 0 {
		d.freePacket(v.Packet >> PacketBits)
	}
	m.endPass(d, sw, local, r)
	if last {
		m.end(queue)
		u.leave(d, sw, local, v, step, false)
	} else {
		sw.mask(local).sa |= 1 << (local & 63)
	}
}

// settleMulticast begins what a multicast queue was granted in step t, or has it bid again: in the
// next step, or on the next change if that is sure to be in vain.
func (u *packetUnit) settleMulticast(d *Domain, sw *SwitchState, local uint32, t *StepTime) {
	m, queue := d.multicast, sw.Queue0+int32(local)
	if i := m.under[queue]; i != 0 && m.work[i-1].pass.on {
		u.forward(d, sw, local, &m.work[i-1], t)
		return
	}
	if u.waitsInVain(d, sw, local, t) {
		m.asleep[queue>>6] |= 1 << (queue & 63)
	} else {
		m.settle(sw, local)
	}
}

// waitsInVain tells that a queue's multicast front packet can begin nothing until a port or virtual
// channel of its switch is let go, or credits come.
func (u *packetUnit) waitsInVain(d *Domain, sw *SwitchState, local uint32, t *StepTime) bool {
	m, v := d.multicast, sw.Queue(local)
	i := m.under[sw.Queue0+int32(local)]
	if v.Count == 0 || int32(v.Ready-t.Number) > 0 || i == 0 {
		return false
	}
	held, input := check.Of(d.hold.ports).From(uint32(sw.Port0)), uint32(d.Matcher.Places[local].Port)
	if held.At(input).input {
		return true
	}
	if m.usedInputs[input] {
		return false
	}
	r := &m.work[i-1]
	for i := range r.branches {
		output := r.branches[i].output
		if held.At(output).output {
			continue
		}
		free := v.State & uint32(sw.OutPort(output).free)
		if m.usedOutputs[output] || free != 0 && d.withCredits(sw, output, free, r.flits) != 0 {
			return false
		}
	}
	return len(r.branches) > 0
}

// pass lets the tails of a step cross a switch, which releases what their packets hold.
func (u *packetUnit) pass(d *Domain, sw *SwitchState, step uint32) {
	first, held := check.Of(u.streams).From(uint32(sw.Queue0)>>6), check.Of(d.hold.ports).From(uint32(sw.Port0))
	places := check.Of(d.Matcher.Places)
	for w := range sw.masks {
		m := first.At(uint32(w))
		for left := m.tail; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.Queue(local)
			if v.Ready != step {
				continue
			}
			u.tails--
			m.tail &^= left & -left
			if u.Followed != nil {
				u.Followed.tailCrosses(d, sw, local, v.Hop>>16, step)
			}
			m.under &^= left & -left
			if u.timed {
				u.leave(d, sw, local, v, step, false)
				continue
			}
			if v.dst < 0 {
				u.endPass(d, sw, local, v, step)
				continue
			}
			output := v.Hop >> 16
			in, out := held.At(uint32(places.At(local).Port)), held.At(output)
			in.input, out.output = false, false
			if d.watched {
				u.complete(d, sw.Port0+int32(output), crossing)
			}
			u.leave(d, sw, local, v, step, true)
			if in.inputWaiters|out.outputWaiters != 0 {
				u.wakeAll(d, &in.inputWaiters)
				u.wakeAll(d, &out.outputWaiters)
			}
		}
	}
}
