package core

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// purge discards packets, in ascending order, at the beginning of cycle c, or trims them, if
// that has been asked for: takes their flits, or all but their heads, out of channels and buffers, frees the virtual channels that they hold, hands
// their credits back and tells their source, in whatever domains all of that is. Between
// cycles all heads in buffers have been routed, but for those to be discarded. Cost:
// linear in queues and in flits under way.
func (x *faults) purge(doomed []int32, c int64) {
	f := x.fabric
	p := &purge{removed: make([]int32, f.packets.ids()), unsent: make([]int32, f.packets.ids()), doomed: make([]bool, f.packets.ids()), trims: make([]bool, f.packets.ids())}
	for _, id := range doomed {
		p.doomed[id] = true
		p.trims[id] = f.labels != nil && f.labels.at(id).trim == trimNext
	}
	before := f.domains[0].cycle
	for _, d := range f.domains {
		d.cycle = c
	}
	for _, d := range f.domains {
		p.flits(d)
	}
	for _, ov := range p.credits {
		sender := f.sender(ov)
		o := &f.outVC[ov]
		o.credits++
		sender.creditReturned(o, ov)
	}
	for _, d := range f.domains {
		p.terminals(d)
		d.cycle = before
	}
	for _, id := range doomed {
		record := f.packet(id)
		d := f.owner(record.src)
		d.DiscardedFlits += int64(p.removed[id])
		if p.trims[id] {
			record.flits = 1
			f.labels.at(id).trim = trimDone
			d.retry.tally.Trimmed++
			continue
		}
		d.retry.tally.WastedFlits += int64(record.flits - p.unsent[id] - p.removed[id])
		d.freePacket(id)
		if d.observer != nil {
			d.observer.discarded(d, id)
		}
		d.retry.dropped(record.src, int32(record.tag))
	}
	for _, d := range f.domains {
		if len(d.retry.lost) > 0 {
			d.retry.tellLost(c)
		}
	}
}

// purge is the discarding of some packets.
type purge struct {
	d        *domain // being purged
	doomed   []bool  // by packet
	trims    []bool  // by packet: of the doomed, those that keep their heads
	removed  []int32 // flits, by packet
	unsent   []int32 // flits still at their terminal, likewise
	credits  []int32 // output virtual channels to hand a credit back to
	released []*outPort
	kept     []queued
}

// flits purges the channels and switches of a domain.
func (p *purge) flits(d *domain) {
	p.d, p.released = d, p.released[:0]
	for _, w := range d.flits {
		if w != nil {
			w.Remove(p.onChannel)
		}
	}
	d.steps.set(d.cycle)
	for _, s := range d.mine {
		sw := &d.switches[s]
		for local := range uint32(sw.ports) * uint32(d.vcs) {
			if d.upcoming != nil {
				p.purgeUpcoming(sw, local)
			} else {
				p.queue(sw, local)
			}
		}
	}
	for _, o := range p.released {
		if o.waiters != 0 {
			d.wakeWaiters(o)
		}
	}
}

// terminals purges the terminals of a domain.
func (p *purge) terminals(d *domain) {
	for _, t := range d.ends {
		if te := &d.terminals[t]; te.packet >= 0 && p.doomed[te.packet] {
			p.unsent[te.packet] = te.left
			te.packet, te.left, te.flags = -1, 0, 0
			if !slices.Contains(d.woken, t) { // whose turn is in this cycle
				d.wakeUp(topology.TerminalID(t), wholeCycle(d.out[d.terminalOut0+t].nextFree))
			}
		}
	}
}

// takes tells whether a flit goes. The head of a packet that is trimmed becomes its tail, too.
func (p *purge) takes(packet *int32) bool {
	id := *packet >> packetBits
	if p.trims[id] && *packet&headFlit != 0 {
		*packet |= tailFlit
		return false
	}
	return p.doomed[id]
}

// takesFront tells whether the packet at the front of a queue, or whose later flits are still
// to come, goes from there.
func (p *purge) takesFront(sw *switchState, local uint32, v *inVC) bool {
	if v.count > 0 {
		return p.takes(&v.packet)
	}
	return p.d.holdsVC(sw, local, v) && p.doomed[v.packet>>packetBits]
}

// remove takes a flit away that came, or was to come, in a queue.
func (p *purge) remove(packet, upstream int32) {
	p.removed[packet>>packetBits]++
	p.credits = append(p.credits, upstream)
}

// onChannel tells whether a flit on a channel goes.
func (p *purge) onChannel(e *flit) bool {
	if !p.takes(&e.packet) {
		return false
	}
	if e.queue >= 0 {
		p.remove(e.packet, p.upstream(e.queue))
	} else { // a terminal's credit is on its way in any case
		p.removed[e.packet>>packetBits]++
	}
	return true
}

// upstream is the output virtual channel that feeds a queue.
func (p *purge) upstream(queue int32) int32 {
	port := p.d.portOf(queue)
	sw := &p.d.switches[p.d.wordSwitch[queue>>6]]
	return p.d.in[port].upstream + (queue-sw.queue0)%int32(p.d.vcs)
}

// queue purges a queue.
func (p *purge) queue(sw *switchState, local uint32) {
	d, v := p.d, sw.queue(local)
	if v.count == 0 && v.out < 0 {
		return
	}
	goes := false
	d.eachQueued(v, func(q *queued) { goes = p.takes(&q.packet) || goes })
	front := p.takesFront(sw, local, v)
	if front {
		if d.hold != nil {
			p.letGo(sw, local, v)
		}
		p.free(sw, local, v)
	}
	if !goes {
		return
	}
	queue := sw.queue0 + int32(local)
	p.kept = p.kept[:0]
	d.eachQueued(v, func(q *queued) {
		if !p.takes(&q.packet) {
			p.kept = append(p.kept, *q)
			return
		}
		p.remove(q.packet, p.upstream(queue))
		if d.needs.Queues && q.hop&(1<<16-1) != 0 {
			sw.outVC(lowestOV(q.hop, uint32(d.vcs))).waiting--
		}
	})
	d.refill(v, p.kept)
	if !front {
		return
	}
	m, bit := sw.mask(local), uint64(1)<<(local&63)
	m.va &^= bit
	m.sa &^= bit
	if v.count == 0 {
		return
	}
	v.ready = d.steps.at[0].number + d.routeDelay
	if d.observer != nil {
		d.observer.uncovered(d, queue)
	}
	if d.combined != 0 {
		m.sa |= bit
	} else {
		m.va |= bit
	}
	d.activate(queue >> 6)
}

// letGo ends the holding of ports by a queue's front packet.
func (p *purge) letGo(sw *switchState, local uint32, v *inVC) {
	d := p.d
	in := &d.hold.ports[sw.port0+int32(d.matcher.places[local].port)]
	out := &d.hold.ports[sw.port0+int32(v.hop>>16)]
	if d.holdsVC(sw, local, v) && (v.count == 0 || v.packet&headFlit == 0) {
		in.input, out.output = false, false
	}
}

// free lets go of the virtual channel that a queue's front packet holds or
// waits for.
func (p *purge) free(sw *switchState, local uint32, v *inVC) {
	d, queue := p.d, sw.queue0+int32(local)
	o := sw.outPort(v.hop >> 16)
	if d.holdsVC(sw, local, v) {
		vc := uint32(v.out) % uint32(d.vcs)
		sw.outVC(uint32(v.out)).owner = ^queue
		o.free |= 1 << (vc & 15)
		p.released = append(p.released, o)
	}
	v.out = -1
	d.waitNoMore(o, queue)
}

// refill makes some of the flits of a queue all of them, in their order.
func (d *domain) refill(v *inVC, flits []queued) {
	if v.count > 1 { // the ring behind the front is free
		last := &d.pool[v.last-1]
		last.next, d.poolFree = d.poolFree, last.next
	}
	v.count = 0
	for _, q := range flits {
		if v.count == 0 {
			v.queued = q
		} else {
			d.append(v, &flit{packet: q.packet, dst: q.dst, state: q.state})
			d.pool[v.last-1].hop = q.hop
		}
		v.count++
	}
}
