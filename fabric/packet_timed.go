package fabric

import "github.com/weft-sim/weft/sim/check"

// In most networks nothing can come between the head of a packet and its tail: ports are
// then not held until the tail lets them go but up to a step that is known from the
// start, and who waits for them knows when to ask again. The tail itself is an event only
// where another packet is behind it in its queue. Otherwise the queue is found to be empty
// when the next packet comes.

// timesHolds tells whether ports are held up to a time.
func (u *packetUnit) timesHolds(d *domain) bool {
	return u.requestsPlainly(d) && !u.watched && u.flights == nil && u.followed == nil && d.multicast == nil && d.upcoming == nil && d.lanes == nil
}

// holdUntil has the packet at the front of a queue hold its ports up to a step, that of its
// tail.
func (u *packetUnit) holdUntil(d *domain, sw *switchState, local, port, output uint32, tail int64) {
	held := check.Of(d.hold.ports).From(uint32(sw.port0))
	in := held.At(port)
	in.inputUntil, in.by, held.At(output).outputUntil = tail, int32(local), tail
	v := sw.queue(local)
	if v.count > 1 {
		u.awaitTail(d, sw, local, output, tail)
		return
	}
	bit := uint64(1) << (local & 63)
	sw.mask(local).sa &^= bit
	v.ready = uint32(tail)
	check.At(u.streams, uint32(sw.queue0)>>6+local>>6).under |= bit
}

// waitUntil takes a queue out of the bidding until the step after another one, if that is in
// a later cycle.
func (u *packetUnit) waitUntil(d *domain, sw *switchState, local uint32, step int64) {
	if c := d.steps.cycleOf(step + 1); c > d.cycle {
		sw.mask(local).sa &^= 1 << (local & 63)
		u.at(c, queueWakes, sw.queue0+int32(local), sw.port0)
	}
}

// follows makes way for a packet that comes into a queue of one packet.
func (u *packetUnit) follows(d *domain, queue int32, v *inVC) {
	m, bit := check.At(u.streams, uint32(queue)>>6), uint64(1)<<(queue&63)
	if m.under&bit == 0 {
		return
	}
	tail := u.crossing(d, queue, d.cycle)
	if tail < 0 {
		m.under &^= bit
		v.count, v.out = 0, -1
	} else if c := d.steps.cycleOf(tail); c > d.cycle {
		u.at(c, tailCrosses, queue, d.switches[d.wordSwitch[queue>>6]].port0+int32(v.hop>>16))
	} else {
		m.tail |= bit
	}
}

// crossing is the step in which the tail of the packet under way from a queue crosses, if
// that is in a cycle or later; otherwise -1.
func (u *packetUnit) crossing(d *domain, queue int32, cycle int64) int64 {
	sw := &d.switches[d.wordSwitch[queue>>6]]
	local := queue - sw.queue0
	held := check.At(d.hold.ports, uint32(sw.port0)+uint32(check.At(d.matcher.places, uint32(local)).port))
	if held.by != local || held.inputUntil < d.steps.firstStep(cycle) {
		return -1
	}
	return held.inputUntil
}

// passAll empties, between cycles, the queues whose packets have left them.
func (u *packetUnit) passAll(d *domain) {
	if !u.timed {
		return
	}
	for q := range d.queues {
		v, m, bit := &d.queues[q], &u.streams[q>>6], uint64(1)<<(q&63)
		if m.under&bit != 0 && v.count == 1 && u.crossing(d, int32(q), d.cycle+1) < 0 {
			m.under &^= bit
			v.count, v.out = 0, -1
		}
	}
}
