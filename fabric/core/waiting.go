package core

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// creditReturned wakes those who may wait for a returned credit: a virtual channel's first or,
// where heads need more than one, any.
func (d *Domain) creditReturned(o *outVC, ov int32) {
	if ov >= d.terminalOV0 {
		d.creditTerminal(ov)
		return
	}
	if o.credits == 1 && o.owner >= 0 {
		d.wakeQueue(o.owner)
	} else if d.Combined != 0 || d.roomy {
		d.wakeWaiters(&d.Out[ov/int32(d.vcs)])
	}
}

// wakeQueue puts a packet that stopped for a credit back to work, if its next flit is there.
func (d *Domain) wakeQueue(q int32) {
	if d.Queues[q].Count > 0 {
		d.Masks[q>>6].sa |= 1 << (q & 63)
		d.activate(q >> 6)
		if d.Upcoming != nil && d.Upcoming[q].out < 0 {
			sw := &d.Switches[d.WordSwitch[q>>6]]
			d.offerSecond(sw, uint32(q-sw.Queue0), &d.Queues[q])
		}
		if d.observer != nil {
			d.observer.Resumes(d, q, PartSwitch)
		}
	}
}

// sleepForVC lets packets of mask word w wait for a virtual channel of their port.
func (d *Domain) sleepForVC(sw *SwitchState, w int, packets uint64) {
	m := &sw.masks[w]
	m.va &^= packets
	for ; packets != 0; packets &= packets - 1 {
		local := uint32(w<<6 + bits.TrailingZeros64(packets))
		v := sw.Queue(local)
		o := sw.OutPort(d.asking(sw, local, v).Hop >> 16)
		if d.Upcoming == nil || d.Combined != 0 || v.Out < 0 {
			m.sa &^= packets & -packets
		} else if d.Unit == nil || d.Unit.Followed != nil {
			m.asleep |= packets & -packets
			d.behindFront(sw, local).waits = PartVC
		} else {
			m.va |= packets & -packets // it asks on: the front may be in a list itself
			continue
		}
		queue := sw.Queue0 + int32(local)
		d.waitNext[queue] = o.waiters
		o.waiters = queue + 1
		if d.Unit != nil && d.Unit.Followed != nil {
			d.Unit.heed(d, sw.Port0+int32(d.asking(sw, local, v).Hop>>16))
		}
	}
}

// wakeWaiters lets packets that wait for a port's virtual channel ask again.
func (d *Domain) wakeWaiters(o *OutPort) {
	for q := o.waiters; q != 0; q = d.waitNext[q-1] {
		word, bit := (q-1)>>6, uint64(1)<<((q-1)&63)
		m := check.At(d.Masks, uint32(word))
		if d.Combined != 0 {
			m.sa |= bit
		} else {
			m.va |= bit
		}
		if !m.secondWakes(bit) && d.observer != nil {
			d.observer.Resumes(d, q-1, d.Bidding())
		}
		d.activate(word)
	}
	o.waiters = 0
}

func (d *Domain) waitNoMore(o *OutPort, queue int32) { d.unlink(&o.waiters, queue) }

// unlink takes a queue out of a waiting list, if it is there.
func (d *Domain) unlink(list *int32, queue int32) {
	for at := list; *at != 0; at = &d.waitNext[*at-1] {
		if *at == queue+1 {
			*at = d.waitNext[queue]
			return
		}
	}
}

// sleep takes a queue out of the bidding until its ports are let go.
func (u *packetUnit) sleep(d *Domain, sw *SwitchState, local uint32, list *int32) {
	if u.Followed != nil && u.Followed.polls {
		return
	}
	sw.mask(local).sa &^= 1 << (local & 63)
	queue := sw.Queue0 + int32(local)
	d.waitNext[queue] = *list
	*list = queue + 1
}

// sleepUntil takes a queue out of the bidding until a later cycle.
func (u *packetUnit) sleepUntil(sw *SwitchState, local uint32, cycle int64) {
	m := sw.mask(local)
	m.sa &^= 1 << (local & 63)
	if sw.Queue(local).Out < 0 { // otherwise it is the packet behind that asks
		m.va &^= 1 << (local & 63)
	}
	u.at(cycle, queueWakes, sw.Queue0+int32(local), sw.Port0)
}

// wakeAll lets all queues of a list bid again.
func (u *packetUnit) wakeAll(d *Domain, list *int32) {
	for q := *list; q != 0; q = d.waitNext[q-1] {
		u.wake(d, q-1)
	}
	*list = 0
}

// wake lets the packet at the front of a queue bid again.
func (u *packetUnit) wake(d *Domain, queue int32) {
	m, bit := &d.Masks[queue>>6], uint64(1)<<(queue&63)
	if d.Combined == 0 && d.Queues[queue].Out < 0 {
		m.va |= bit
	} else {
		m.sa |= bit
	}
	d.activate(queue >> 6)
}

// wakeFor lets those look that wait for credits of a port, or of a terminal's.
func (u *packetUnit) wakeFor(d *Domain, port int32) {
	if port >= d.TerminalOut0 {
		d.creditTerminal(d.terminalOV0 + (port-d.TerminalOut0)*int32(d.vcs))
		return
	}
	if o := &d.Out[port]; o.waiters != 0 {
		d.wakeWaiters(o)
	}
	if d.multicast != nil {
		u.wakeMulticast(d, &d.Switches[d.graph.PortSwitch[port]])
	}
}

// wakeMulticast has the multicast packets that wait at a switch bid again.
func (u *packetUnit) wakeMulticast(d *Domain, sw *SwitchState) {
	if d.multicast == nil {
		return
	}
	word := sw.Queue0 >> 6
	for w := range sw.masks {
		if asleep := &d.multicast.asleep[word+int32(w)]; *asleep != 0 {
			sw.masks[w].sa |= *asleep
			*asleep = 0
			d.activate(word + int32(w))
		}
	}
}

// creditTerminal serves a terminal that waited for a credit.
func (d *Domain) creditTerminal(ov int32) {
	t := (ov - d.terminalOV0) / int32(d.vcs)
	if te := &d.Terminals[t]; te.flags&blocked != 0 {
		te.flags &^= blocked
		d.woken = append(d.woken, t)
	}
}

// waitUntil takes a queue out of the bidding until the step after another, if that is in a later
// cycle.
func (u *packetUnit) waitUntil(d *Domain, sw *SwitchState, local uint32, step int64) {
	if c := d.Steps.CycleOf(step + 1); c > d.Cycle {
		sw.mask(local).sa &^= 1 << (local & 63)
		u.at(c, queueWakes, sw.Queue0+int32(local), sw.Port0)
	}
}

func (d *Domain) wakeAt(t int32, te *terminal, cycle int64) {
	if cycle < te.wake {
		te.wake = cycle
		*d.wakes.Place(cycle) = t
	}
}

// wakeUp is [Fabric.WakeAt] for a terminal of d.
func (d *Domain) wakeUp(t topology.TerminalID, cycle int64) {
	te := &d.Terminals[t]
	if te.Packet < 0 {
		d.wakeAt(int32(t), te, max(cycle, d.Cycle+1))
	}
}
