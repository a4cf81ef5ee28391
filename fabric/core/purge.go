package core

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// purge discards packets, in ascending order, at the beginning of cycle c: takes their flits
// out of channels and buffers, frees the virtual channels that they hold, hands their
// credits back and tells their source, in whatever domains all of that is. Between
// cycles all heads in buffers have been routed, but for those to be discarded. Cost:
// linear in queues and in flits under way.
func (x *faults) purge(doomed []int32, c int64) {
	f := x.fabric
	p := &purge{removed: make([]int32, f.packets.ids()), unsent: make([]int32, f.packets.ids()), doomed: make([]bool, f.packets.ids())}
	for _, id := range doomed {
		p.doomed[id] = true
	}
	before := f.domains[0].Cycle
	for _, d := range f.domains {
		d.Cycle = c
	}
	for _, d := range f.domains {
		p.flits(d)
	}
	for _, ov := range p.credits {
		sender := f.ofEnd(ov / int32(f.vcs))
		o := &f.OutVC[ov]
		o.credits++
		sender.creditReturned(o, ov)
	}
	for _, d := range f.domains {
		p.terminals(d)
		d.Cycle = before
	}
	for _, id := range doomed {
		record := f.Packet(id)
		d := f.owner(record.Src)
		d.DiscardedFlits += int64(p.removed[id])
		d.retry.tally.WastedFlits += int64(record.Flits - p.unsent[id] - p.removed[id])
		d.freePacket(id)
		if d.observer != nil {
			d.observer.Discarded(d, id)
		}
		d.retry.dropped(record.Src, int32(record.tag))
	}
	for _, d := range f.domains {
		if len(d.retry.lost) > 0 {
			d.retry.tellLost(c)
		}
	}
}

// purge is the discarding of some packets.
type purge struct {
	d        *Domain // being purged
	doomed   []bool  // by packet
	removed  []int32 // flits, by packet
	unsent   []int32 // flits still at their terminal, likewise
	credits  []int32 // output virtual channels to hand a credit back to
	released []*OutPort
	kept     []Queued
}

// flits purges the channels and switches of a domain.
func (p *purge) flits(d *Domain) {
	p.d, p.released = d, p.released[:0]
	for _, w := range d.Flits {
		if w != nil {
			w.Remove(p.onChannel)
		}
	}
	d.Steps.set(d.Cycle)
	for _, s := range d.Mine {
		sw := &d.Switches[s]
		for local := range uint32(sw.Ports) * uint32(d.vcs) {
			if d.Upcoming != nil {
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
func (p *purge) terminals(d *Domain) {
	for _, t := range d.Ends {
		if te := &d.Terminals[t]; te.Packet >= 0 && p.doomed[te.Packet] {
			p.unsent[te.Packet] = te.left
			te.Packet, te.left, te.flags = -1, 0, 0
			if !slices.Contains(d.woken, t) { // whose turn is in this cycle
				d.wakeUp(topology.TerminalID(t), WholeCycle(d.Out[d.TerminalOut0+t].NextFree))
			}
		}
	}
}

// takes tells whether a flit goes.
func (p *purge) takes(packet int32) bool { return p.doomed[packet>>PacketBits] }

// takesFront tells whether the packet at the front of a queue, or whose later flits are still
// to come, goes from there.
func (p *purge) takesFront(sw *SwitchState, local uint32, v *InVC) bool {
	return p.takes(v.Packet) && (v.Count > 0 || p.d.holdsVC(sw, local, v))
}

// remove takes a flit away that came, or was to come, in a queue.
func (p *purge) remove(packet, upstream int32) {
	p.removed[packet>>PacketBits]++
	p.credits = append(p.credits, upstream)
}

// onChannel tells whether a flit on a channel goes.
func (p *purge) onChannel(e *Flit) bool {
	if !p.takes(e.Packet) {
		return false
	}
	if e.Queue >= 0 {
		p.remove(e.Packet, p.upstream(e.Queue))
	} else { // a terminal's credit is on its way in any case
		p.removed[e.Packet>>PacketBits]++
	}
	return true
}

// upstream is the output virtual channel that feeds a queue.
func (p *purge) upstream(queue int32) int32 {
	port := p.d.portOf(queue)
	sw := &p.d.Switches[p.d.WordSwitch[queue>>6]]
	return p.d.in[port].upstream + (queue-sw.Queue0)%int32(p.d.vcs)
}

// queue purges a queue.
func (p *purge) queue(sw *SwitchState, local uint32) {
	d, v := p.d, sw.Queue(local)
	if v.Count == 0 && v.Out < 0 {
		return
	}
	goes := false
	d.EachQueued(v, func(q *Queued) { goes = p.takes(q.Packet) || goes })
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
	queue := sw.Queue0 + int32(local)
	p.kept = p.kept[:0]
	d.EachQueued(v, func(q *Queued) {
		if !p.takes(q.Packet) {
			p.kept = append(p.kept, *q)
			return
		}
		p.remove(q.Packet, p.upstream(queue))
		if d.needs.Queues && q.Hop&(1<<16-1) != 0 {
			sw.outVC(lowestOV(q.Hop, uint32(d.vcs))).waiting--
		}
	})
	d.refill(v, p.kept)
	if !front {
		return
	}
	m, bit := sw.mask(local), uint64(1)<<(local&63)
	m.va &^= bit
	m.sa &^= bit
	if v.Count == 0 {
		return
	}
	v.Ready = d.Steps.at[0].Number + d.RouteDelay
	if d.observer != nil {
		d.observer.Uncovered(d, queue)
	}
	if d.Combined != 0 {
		m.sa |= bit
	} else {
		m.va |= bit
	}
	d.activate(queue >> 6)
}

// letGo ends the holding of ports by a queue's front packet.
func (p *purge) letGo(sw *SwitchState, local uint32, v *InVC) {
	d := p.d
	in := &d.hold.ports[sw.Port0+int32(d.Matcher.Places[local].Port)]
	out := &d.hold.ports[sw.Port0+int32(v.Hop>>16)]
	if d.holdsVC(sw, local, v) && (v.Count == 0 || v.Packet&HeadFlit == 0) {
		in.input, out.output = false, false
	}
}

// free lets go of the virtual channel that a queue's front packet holds or
// waits for.
func (p *purge) free(sw *SwitchState, local uint32, v *InVC) {
	d, queue := p.d, sw.Queue0+int32(local)
	o := sw.OutPort(v.Hop >> 16)
	if d.holdsVC(sw, local, v) {
		vc := uint32(v.Out) % uint32(d.vcs)
		sw.outVC(uint32(v.Out)).owner = ^queue
		o.free |= 1 << (vc & 15)
		p.released = append(p.released, o)
	}
	v.Out = -1
	d.waitNoMore(o, queue)
}

// refill makes some of the flits of a queue all of them, in their order.
func (d *Domain) refill(v *InVC, flits []Queued) {
	if v.Count > 1 { // the ring behind the front is free
		last := &d.Pool[v.Last-1]
		last.Next, d.poolFree = d.poolFree, last.Next
	}
	v.Count = 0
	for _, q := range flits {
		if v.Count == 0 {
			v.Queued = q
		} else {
			d.append(v, &Flit{Packet: q.Packet, dst: q.dst, State: q.State})
			d.Pool[v.Last-1].Hop = q.Hop
		}
		v.Count++
	}
}
