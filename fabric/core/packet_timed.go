package core

import (
	"math/bits"

	"github.com/weft-sim/weft/sim/check"
)

// In most networks nothing can come between the head of a packet and its tail: ports are
// then not held until the tail lets them go but up to a step that is known from the
// start, and who waits for them knows when to ask again. The tail itself is an event only
// where another packet is behind it in its queue. Otherwise the queue is found to be empty
// when the next packet comes.

// timesHolds tells whether ports are held up to a time.
func (u *packetUnit) timesHolds(d *Domain) bool {
	return u.soon(d) && u.requestsPlainly(d) && !u.watched && u.Followed == nil && d.multicast == nil && d.Upcoming == nil && d.lanes == nil
}

// holdUntil has the packet at the front of a queue hold its ports up to a step, that of its
// tail.
func (u *packetUnit) holdUntil(d *Domain, sw *SwitchState, local, port, output uint32, tail int64) {
	in, v := sw.inPort(port), sw.Queue(local)
	in.until, in.by, sw.OutPort(output).until = tail, uint8(local-port*uint32(d.vcs)), tail
	if v.Count > 1 {
		u.awaitTail(d, sw, local, output, tail)
		return
	}
	bit := uint64(1) << (local & 63)
	sw.mask(local).sa &^= bit
	v.Ready = uint32(tail)
	check.At(u.streams, uint32(sw.Queue0)>>6+local>>6).under |= bit
}

// waitUntil takes a queue out of the bidding until the step after another one, if that is in
// a later cycle.
func (u *packetUnit) waitUntil(d *Domain, sw *SwitchState, local uint32, step int64) {
	if c := d.Steps.CycleOf(step + 1); c > d.Cycle {
		sw.mask(local).sa &^= 1 << (local & 63)
		u.at(c, queueWakes, sw.Queue0+int32(local), sw.Port0)
	}
}

// follows makes way for a packet that comes into a queue of one packet.
func (u *packetUnit) follows(d *Domain, queue int32, v *InVC) {
	m, bit := check.At(u.streams, uint32(queue)>>6), uint64(1)<<(queue&63)
	if m.under&bit == 0 {
		return
	}
	first := d.Steps.FirstStep(d.Cycle)
	tail := first + int64(int32(v.Ready-uint32(first))) // [packetUnit.sweep] sees to it that this is not long ago
	if tail < first {
		m.under &^= bit
		v.Count, v.Out = 0, -1
	} else if c := d.Steps.CycleOf(tail); c > d.Cycle {
		u.at(c, tailCrosses, queue, d.Switches[d.WordSwitch[queue>>6]].Port0+int32(v.Hop>>16))
	} else {
		m.tail |= bit
	}
}

// CrossingCycles is the step in which the tail of the packet under way from a queue crosses, if
// that is in a cycle or later; otherwise -1.
func (u *packetUnit) crossing(d *Domain, queue int32, cycle int64) int64 {
	sw := &d.Switches[d.WordSwitch[queue>>6]]
	place := check.At(d.Matcher.Places, uint32(queue-sw.Queue0))
	in := sw.inPort(uint32(place.Port))
	if uint16(in.by) != place.vc || in.until < d.Steps.FirstStep(cycle) {
		return -1
	}
	return in.until
}

// passAll empties, between cycles, the queues whose packets have left them.
func (u *packetUnit) passAll(d *Domain) {
	if !u.timed {
		return
	}
	for word := range u.streams {
		u.passWord(d, int32(word), d.Cycle+1)
	}
}

// passWord empties the queues of a mask word whose packets have left them before a cycle.
func (u *packetUnit) passWord(d *Domain, word int32, cycle int64) {
	m := &u.streams[word]
	for left := m.under; left != 0; left &= left - 1 {
		q := word<<6 + int32(bits.TrailingZeros64(left))
		if v := &d.Queues[q]; v.Count == 1 && u.crossing(d, q, cycle) < 0 {
			m.under &^= left & -left
			v.Count, v.Out = 0, -1
		}
	}
}

// sweepEvery is how many cycles pass at least between two sweeps: fewer than the steps
// of a queue, modulo 2^32, tell apart.
const sweepEvery = 1 << 24

// sweep empties, before anything happens in cycle c, the queues whose packets have left
// them, now and then: steps of queues are told apart only if they are not too far away.
func (u *packetUnit) sweep(d *Domain, c int64) {
	u.swept = c
	for _, s := range d.Mine {
		sw := &d.Switches[s]
		for w := range sw.masks {
			u.passWord(d, sw.Queue0>>6+int32(w), c)
		}
	}
}

// soon tells whether tails cross so soon behind their heads that steps modulo 2^32 say
// when.
func (u *packetUnit) soon(d *Domain) bool {
	longest := int64(0)
	for _, p := range d.paces {
		longest = max(longest, p.Interval)
	}
	return float64(d.buffer)*float64(longest>>IntervalShift+1)*MaxSpeedup < 1<<29
}
