package fabric

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// Where packets are the unit, what a packet does when it is granted a switch is booked at
// once. To discard one that is under way means to find out how far its flits have come,
// and to book back the rest. Flits are then discarded as if they were the unit.

// flight is a packet whose head has crossed a switch and whose tail has not.
type flight struct {
	transit
	crossing ramp  // when its flits cross
	leaving  ramp  // and leave by the channel
	credits  int64 // ramp.at[0] of its credits
}

func newFlight(u *packetUnit, d *domain, c *transit, credits int64) flight {
	return flight{transit: *c, crossing: c.crosses(u, d, -1), leaving: c.leaves(u, d, -1), credits: credits}
}

// readyForFaults keeps, from now on, what discarding packets needs.
func (u *packetUnit) readyForFaults(f *Fabric) {
	u.flights, u.starts = make([]flight, len(f.queues)), make([]int64, f.graph.Terminals())
	for _, d := range f.domains {
		d.unit.flights, d.unit.starts = u.flights, u.starts
	}
}

// begunPackets tells how far packets that are to be discarded have come where their heads
// have gone on and their tails have not.
type begunPackets struct {
	u       *packetUnit
	sent    map[int32]gone // by port of the sending end, as of Fabric.out
	crossed map[int32]gone // by output virtual channel that feeds the queue which they leave
}

type gone struct{ packet, flits int32 }

// of is how many flits of a packet have gone on; otherwise if it is not under way there.
func of(all map[int32]gone, key, packet, otherwise int32) int32 {
	if p, ok := all[key]; ok && p.packet == packet {
		return p.flits
	}
	return otherwise
}

// purge books back, at the beginning of a cycle, what packets to be discarded have not done.
func (u *packetUnit) purge(p *purge) *begunPackets {
	d, now := p.d, p.d.cycle<<intervalShift
	b := &begunPackets{u, map[int32]gone{}, map[int32]gone{}}
	for t := range d.terminals {
		if te := &d.terminals[t]; te.packet >= 0 && te.flags&begun != 0 && p.doomed[te.packet] {
			b.stopTerminal(d, int32(t), te)
		}
	}
	for s := range d.switches {
		sw := &d.switches[s]
		for local := range uint32(sw.ports) * uint32(d.vcs) {
			queue := sw.queue0 + int32(local)
			if u.streams[queue>>6].under>>(queue&63)&1 != 0 && p.doomed[sw.queue(local).packet>>packetBits] {
				b.stop(p, sw, local, now)
			}
		}
	}
	var asleep []int32 // queues, some for a channel that is going to be free sooner
	u.events.Remove(func(e *event) bool {
		doomed := e.kind != creditsCome && p.doomed[d.queues[e.number].packet>>packetBits]
		if e.kind == queueWakes && !doomed {
			asleep = append(asleep, e.number)
		}
		return doomed || e.kind == queueWakes
	})
	for _, queue := range asleep {
		u.wake(d, queue)
	}
	return b
}

// stopTerminal has a terminal keep the flits of a packet that have not left.
func (b *begunPackets) stopTerminal(d *domain, t int32, te *terminal) {
	port, n := d.terminalOut0+t, te.left
	o, ov := &d.out[port], &d.outVC[d.terminalOV(topology.TerminalID(t), int(te.vc))]
	interval, start := d.pace(o).interval, b.u.starts[t]
	left := int32(0)
	for left < n && wholeCycle(start+int64(left)*interval) < d.cycle {
		left++
	}
	b.sent[port] = gone{te.packet, left}
	te.left = n - left
	d.InjectedFlits -= int64(te.left)
	ov.credits += te.left
	ov.flits -= uint32(te.left)
	next := start + int64(left)*interval
	o.nextFree = min(o.nextFree, next)
	d.wakeAt(t, te, wholeCycle(next))
}

// stop has a switch keep the flits of the packet at the front of a queue that have not
// crossed.
func (b *begunPackets) stop(p *purge, sw *switchState, local uint32, now int64) {
	u, d, queue, v := b.u, p.d, sw.queue0+int32(local), sw.queue(local)
	w := &u.flights[queue]
	crossed := w.crossing.before(u, now)
	rest := w.in.flits - crossed
	output := v.hop >> 16
	port, in := sw.port0+int32(output), sw.inPort(uint32(d.matcher.places[local].port))
	upstream := p.upstream(queue)
	b.sent[port], b.crossed[upstream] = gone{w.packet, crossed}, gone{w.packet, crossed}

	d.FlitHops -= int64(rest)
	o, ov := sw.outPort(output), sw.outVC(uint32(w.lov))
	ov.flits -= uint32(rest)
	interval := d.pace(o).interval
	last := max(w.first+int64(crossed-1)*interval, w.leaving.time(u, crossed-1)<<intervalShift)
	o.nextFree = min(o.nextFree, last+interval)
	if u.watched {
		b.stopFlows(d, port, w.packet, crossed, now)
	} else {
		ov.credits += rest * int32(o.bounded)
	}
	cut := func(r *ramp) bool {
		if r.ov == upstream && r.at[0] == w.credits {
			r.flits = crossed
			in.nextCredit = r.exact(u, crossed-1) - int64(in.delay)<<intervalShift + d.creditInterval
		}
		return false
	}
	u.ramps[0].Remove(cut)
	cut(&u.credits[upstream/int32(d.vcs)].ramp)
}

// stopFlows ends the movements of a packet's flits at a port that are not going to be.
func (b *begunPackets) stopFlows(d *domain, port, packet, crossed int32, now int64) {
	b.u.count(d, port, now, now)
	flows := b.u.flows[port]
	kept := flows[:0]
	for _, w := range flows {
		if w.packet == packet {
			if w.kind != leaving {
				continue
			}
			w.packet, w.flits = -1, crossed
		}
		kept = append(kept, w)
	}
	b.u.flows[port] = kept
}

// remove takes the flits of a packet away that came, or were to come, in the queue behind an output
// virtual channel and have not left it.
func (b *begunPackets) remove(p *purge, packet, upstream int32) {
	d := p.d
	flits := of(b.sent, upstream/int32(d.vcs), packet, d.flitsOf(packet)) - of(b.crossed, upstream, packet, 0)
	p.removed[packet] += flits
	d.outVC[upstream].credits += flits
	if flits > 0 {
		p.credits = append(p.credits, upstream)
	}
}

// removeTail takes the flits of a packet away that are on their way to a terminal, whose
// tail is e.
func (b *begunPackets) removeTail(p *purge, e *flit) {
	d, packet := p.d, e.packet>>packetBits
	delivered := b.arrived(d, packet)
	d.DeliveredFlits += int64(delivered)
	p.removed[packet] += of(b.sent, int32(d.graph.TerminalPort[^e.queue]), packet, d.flitsOf(packet)) - delivered
}

// arrived is how many flits of a packet have come by its present channel.
func (b *begunPackets) arrived(d *domain, packet int32) int32 {
	return d.train(packet).before(b.u, d.cycle<<intervalShift)
}

// before is how many flits come before a time.
func (p *train) before(u *packetUnit, time int64) int32 {
	r := ramp{flits: p.flits, ov: -1}
	p.limit(u, &r, 0)
	return r.before(u, time)
}

// stored is how many flits of a packet stand in a queue. It ends what was to bring more.
func (b *begunPackets) stored(p *purge, q *queued, queue int32) int32 {
	d, packet, upstream, now := p.d, q.packet>>packetBits, p.upstream(queue), p.d.cycle<<intervalShift
	in := d.train(packet)
	crossed, under := b.crossed[upstream]
	if under = under && crossed.packet == packet; under {
		in = &b.u.flights[queue].in
	} else {
		sw := &d.switches[d.wordSwitch[queue>>6]]
		b.stopFlows(d, sw.port0+int32(q.hop>>16), packet, 0, now)
	}
	stored := in.before(b.u, now)
	if under {
		stored -= crossed.flits
	}
	return stored
}

// letGo ends the holding of ports and the waiting for them by the packet at the front of a
// queue.
func (u *packetUnit) letGo(d *domain, sw *switchState, local uint32, in, out *heldPort) {
	queue, bit := sw.queue0+int32(local), uint64(1)<<(local&63)
	d.unlink(&in.inputWaiters, queue)
	d.unlink(&out.outputWaiters, queue)
	m := check.At(u.streams, uint32(queue)>>6)
	if m.under&bit == 0 {
		return
	}
	m.under &^= bit
	in.input, out.output = false, false
	u.wakeAll(d, &in.inputWaiters)
	u.wakeAll(d, &out.outputWaiters)
}

// onFailedChannels dooms the packets in queues whose tails were still to come by a port
// that has failed.
func (u *packetUnit) onFailedChannels(d *domain, sw *switchState, local uint32, v *inVC) {
	queue := sw.queue0 + int32(local)
	d.eachQueued(v, func(q *queued) {
		tail := d.train(q.packet >> packetBits).tail
		if q == &v.queued && u.streams[queue>>6].under>>(queue&63)&1 != 0 {
			tail = u.flights[queue].in.tail
		}
		if tail >= d.cycle {
			d.faults.doom(q.packet >> packetBits)
		}
	})
}
