package core

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
	w := flight{transit: *c, credits: credits}
	c.crosses(u, d, -1, &w.crossing)
	c.leaves(u, d, -1, &w.leaving)
	return w
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
	sent    map[int32]gone       // by port of the sending end, as of Fabric.out
	crossed map[int32]gone       // by output virtual channel that feeds the queue which they leave
	credits map[int32]cutCredits // likewise
}

type gone struct{ packet, flits int32 }

// of is how many flits of a packet have gone on; otherwise if it is not under way there.
func of(all map[int32]gone, key, packet, otherwise int32) int32 {
	if p, ok := all[key]; ok && p.packet == packet {
		return p.flits
	}
	return otherwise
}

// stopPackets books back, at the beginning of a cycle, what packets to be discarded have
// not done.
func stopPackets(f *Fabric, p *purge) *begunPackets {
	b := &begunPackets{map[int32]gone{}, map[int32]gone{}, map[int32]cutCredits{}}
	for _, d := range f.domains {
		p.d = d
		b.stopAll(p)
	}
	b.cut(f.domains)
	return b
}

// stopAll is stopPackets for a domain.
func (b *begunPackets) stopAll(p *purge) {
	d, u := p.d, p.d.unit
	for _, t := range d.ends {
		if te := &d.terminals[t]; te.packet >= 0 && te.flags&begun != 0 && p.doomed[te.packet] {
			b.stopTerminal(d, t, te)
		}
	}
	for _, s := range d.mine {
		sw := &d.switches[s]
		for local := range uint32(sw.ports) * uint32(d.vcs) {
			if d.isStreaming(sw.queue0+int32(local)) && p.doomed[sw.queue(local).packet>>packetBits] {
				b.stop(p, sw, local)
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
}

// stopTerminal has a terminal keep the flits of a packet that have not left.
func (b *begunPackets) stopTerminal(d *domain, t int32, te *terminal) {
	port, n := d.terminalOut0+t, te.left
	o, ov := &d.out[port], &d.outVC[d.terminalOV(topology.TerminalID(t), int(te.vc))]
	interval, start := d.pace(o).interval, d.unit.starts[t]
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
func (b *begunPackets) stop(p *purge, sw *switchState, local uint32) {
	d, queue, v := p.d, sw.queue0+int32(local), sw.queue(local)
	u, now := d.unit, d.cycle<<intervalShift
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
	b.credits[upstream] = cutCredits{w.credits, crossed, in}
}

// cutCredits is credits of a packet of which only some are going to be sent.
type cutCredits struct {
	at    int64 // ramp.at[0]
	flits int32
	in    *inPort
}

// cut ends the credits of packets that have been stopped with those sent.
func (b *begunPackets) cut(domains []*domain) {
	u := domains[0].unit
	of := func(r *ramp) bool {
		if c, ok := b.credits[r.ov]; ok && r.at[0] == c.at {
			r.flits = c.flits
			c.in.nextCredit = r.exact(u, c.flits-1) - int64(c.in.delay)<<intervalShift + domains[0].creditInterval
		}
		return false
	}
	for _, d := range domains {
		for _, w := range d.unit.ramps {
			if w != nil {
				w.Remove(of)
			}
		}
	}
	for ov := range b.credits {
		of(&u.credits[ov/int32(domains[0].vcs)].ramp)
	}
}

// stopFlows ends the movements of a packet's flits at a port that are not going to be.
func (b *begunPackets) stopFlows(d *domain, port, packet, crossed int32, now int64) {
	u := d.unit
	u.count(d, port, now, now, now)
	flows := u.flows[port]
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
	u.flows[port] = kept
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
	delivered := d.train(packet).before(d.unit, d.cycle<<intervalShift)
	d.DeliveredFlits += int64(delivered)
	p.removed[packet] += of(b.sent, int32(d.graph.TerminalPort[^e.queue]), packet, d.flitsOf(packet)) - delivered
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
		in = &d.unit.flights[queue].in
	} else {
		sw := &d.switches[d.wordSwitch[queue>>6]]
		b.stopFlows(d, sw.port0+int32(q.hop>>16), packet, 0, now)
	}
	stored := in.before(d.unit, now)
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

// onFailedChannels dooms the packets in a queue whose tails were still to come by a port
// that fails with cycle c.
func (u *packetUnit) onFailedChannels(d *domain, sw *switchState, local uint32, v *inVC, c int64) {
	queue := sw.queue0 + int32(local)
	d.eachQueued(v, func(q *queued) {
		tail := d.train(q.packet >> packetBits).tail
		if q == &v.queued && d.isStreaming(queue) {
			tail = u.flights[queue].in.tail
		}
		if tail >= c {
			d.faults.doom(q.packet >> packetBits)
		}
	})
}
