package core

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// purge discards packets, in ascending order, at the beginning of cycle c: it takes their flits out
// of channels and buffers, frees their virtual channels, hands their credits back and tells their
// source, in any domain. Between cycles all heads in buffers are routed, but those to be discarded.
// Cost: linear in queues and in flits under way.
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
	for _, w := range d.Flits[:firstOutbox] {
		w.Remove(p.onChannel)
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

// takesFront tells whether a queue's front packet, or one whose later flits are to come, is
// discarded.
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

func (p *purge) queue(sw *SwitchState, local uint32) {
	d, v := p.d, sw.Queue(local)
	if v.Count == 0 && v.Out < 0 {
		return
	}
	goes, queue := false, sw.Queue0+int32(local)
	d.EachQueued(queue, func(q *Queued) { goes = p.takes(q.Packet) || goes })
	front := p.takesFront(sw, local, v)
	if front {
		if d.hold != nil && d.holdsVC(sw, local, v) && (v.Count == 0 || v.Packet&HeadFlit == 0) {
			d.hold.ports[sw.Port0+int32(d.Matcher.Places[local].Port)].input = false
			d.hold.ports[sw.Port0+int32(v.Hop>>16)].output = false
		}
		p.free(sw, local, v)
	}
	if !goes {
		return
	}
	p.kept = p.kept[:0]
	d.EachQueued(queue, func(q *Queued) {
		if !p.takes(q.Packet) {
			p.kept = append(p.kept, *q)
			return
		}
		p.remove(q.Packet, p.upstream(queue))
		if d.needs.Queues && q.Hop&(1<<16-1) != 0 {
			sw.outVC(lowestOV(q.Hop, uint32(d.vcs))).waiting--
		}
	})
	d.refill(queue, p.kept)
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

// free lets go of the virtual channel that a queue's front packet holds or awaits.
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

// purgeUpcoming purges a queue ([purge.queue]) and updates what is kept of packets behind its
// front.
func (p *purge) purgeUpcoming(sw *SwitchState, local uint32) {
	d, v := p.d, sw.Queue(local)
	u, queue := d.behindFront(sw, local), sw.Queue0+int32(local)
	m, bit := sw.mask(local), uint64(1)<<(local&63)
	rises, stays := false, false
	if m.second&bit != 0 {
		second := d.Pool.At(u.head)
		o := sw.OutPort(second.Hop >> 16)
		if m.asleep&bit != 0 { // it asks again
			d.waitNoMore(o, queue)
			m.asleep &^= bit
		}
		gone := p.takes(second.Packet)
		if gone && u.out >= 0 {
			sw.outVC(uint32(u.out)).owner = ^queue
			o.free |= 1 << (uint32(u.out) % uint32(d.vcs) & 15)
			p.released = append(p.released, o)
			u.out = -1
		}
		rises = !gone && p.takesFront(sw, local, v)
		stays = !gone && !rises
	}
	out, ready := u.out, u.ready
	now := d.Steps.at[0].Number
	p.queue(sw, local)
	u.packets = 0
	d.EachQueued(sw.Queue0+int32(local), func(q *Queued) { u.packets += q.Packet & HeadFlit })
	if v.Count > 0 && v.Packet&HeadFlit != 0 {
		u.packets--
	}
	if rises && out >= 0 {
		v.Out, v.Ready = out, later(now, ready)
		m.va &^= bit
		m.sa |= bit
	}
	if v.Out >= 0 {
		m.va &^= bit // it stood for the second
	}
	if !stays {
		d.findSecond(sw, local, v, now+d.RouteDelay, now)
		return
	}
	third := u.third
	d.findSecond(sw, local, v, ready, now)
	u.third = later(third, u.third)
	if u.out = out; out >= 0 {
		m.va &^= bit
	}
}

// tick is the beginning of cycle c, before arrivals, in all domains, while none simulates. It tells
// whether packets are discarded.
func (x *faults) tick(c int64) (discards bool) {
	for x.changes(x.now) <= c {
		x.now++
		before := x.down
		x.down = x.plan.Periods[x.now].Down
		x.fabric.deliverHanded()
		x.failSince(before, x.down, c)
	}
	for x.heard(x.known) <= c {
		x.learn(x.known + 1)
	}
	for _, d := range x.fabric.domains {
		x.doomed = append(x.doomed, d.doomed...)
		d.doomed = d.doomed[:0]
	}
	if len(x.doomed) == 0 {
		return false
	}
	x.fabric.deliverHanded()
	slices.Sort(x.doomed)
	x.purge(slices.Compact(x.doomed), c)
	x.doomed = x.doomed[:0]
	return true
}

// window is tick for domains that are about to simulate the cycles behind from up to until, and
// tells up to which they can without hearing of each other. A packet is discarded, wherever it is,
// in the cycle after a switch finds no way for it: where that can happen, a window is a cycle long.
// It cannot in a network in which nothing has failed yet.
func (x *faults) window(from, until int64) int64 {
	if x.tick(from + 1) {
		for _, d := range x.fabric.domains {
			d.purged = from + 1
		}
	}
	if x.now > 0 || x.known > 0 || !x.whole {
		return from + 1
	}
	return max(min(until, x.changes(0)-1), from+1)
}

// doom has a packet discarded.
func (x *faults) doom(packet int32) { x.doomed = append(x.doomed, packet) }

// failSince dooms the packets lost to what failed between two states of the network; the second
// begins with cycle c.
func (x *faults) failSince(before, now *topology.Down, c int64) {
	f, g := x.fabric, x.fabric.graph
	failed := make([]bool, g.NumPorts())
	for p := range failed {
		port := topology.PortID(p)
		if failed[p] = now.Port(port) && !before.Port(port); !failed[p] {
			continue
		}
		// What waited behind the crossbar is gone.
		f.Out[p].NextFree = min(f.Out[p].NextFree, c<<IntervalShift)
		if t, ok := g.PeerTerminal(port); ok {
			o, te := &f.Out[f.TerminalOut0+int32(t)], &f.Terminals[t]
			o.NextFree = min(o.NextFree, c<<IntervalShift)
			if te.Packet >= 0 {
				x.doom(te.Packet)
			}
		}
	}
	for _, d := range f.domains {
		for _, w := range d.Flits[:firstOutbox] {
			w.Each(func(e Flit) {
				if e.Queue < 0 && failed[g.TerminalPort[^e.Queue]] || e.Queue >= 0 && failed[f.portOf(e.Queue)] {
					x.doom(e.Packet >> PacketBits)
				}
			})
		}
		x.failSwitches(d, before, now, failed)
	}
}

// failSwitches dooms packets in the switches of a domain.
func (x *faults) failSwitches(d *Domain, before, now *topology.Down, failed []bool) {
	for _, s := range d.Mine {
		sw := &d.Switches[s]
		whole := now.Switch(topology.SwitchID(s)) && !before.Switch(topology.SwitchID(s))
		for local := range uint32(sw.Ports) * uint32(d.vcs) {
			v := sw.Queue(local)
			if d.holdsVC(sw, local, v) && failed[sw.Port0+int32(v.Hop>>16)] {
				x.doom(v.Packet >> PacketBits)
			}
			d.EachQueued(sw.Queue0+int32(local), func(q *Queued) {
				if whole || failed[sw.Port0+int32(q.Hop>>16)] && q.Hop&(1<<16-1) != 0 {
					x.doom(q.Packet >> PacketBits)
				}
			})
		}
	}
}
