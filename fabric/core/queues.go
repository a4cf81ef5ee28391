package core

import (
	"github.com/weft-sim/weft/fabric/topology"
)

// append puts a flit behind the others of a queue and returns the decision for
// the packet that the last of those belongs to.
func (d *Domain) append(v *InVC, e *Flit) (hop uint32) {
	n := d.poolFree
	if n == 0 {
		d.Pool = append(d.Pool, buffered{})
		n = int32(len(d.Pool))
	} else {
		d.poolFree = d.Pool[n-1].Next
	}
	hop = v.Hop
	next := n // a single flit in the pool follows itself
	if v.Count > 1 {
		last := &d.Pool[v.Last-1]
		hop, next = last.Hop, last.Next
		last.Next = n
	}
	v.Last = n
	d.Pool[n-1] = buffered{next, Queued{e.Packet, e.dst, e.State, hop}}
	return hop
}

// advance brings the second flit of a queue to its front.
func (d *Domain) advance(v *InVC, step uint32) {
	last := &d.Pool[v.Last-1]
	n := last.Next
	b := &d.Pool[n-1]
	last.Next = b.Next
	b.Next = d.poolFree
	d.poolFree = n
	v.Ready = step + 1
	if v.Packet&TailFlit != 0 {
		v.Hop = b.Hop
		v.Ready += d.RouteDelay
	}
	v.Packet, v.dst, v.State = b.Packet, b.dst, b.State
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

// EachQueued visits the flits of a queue from the front.
func (d *Domain) EachQueued(v *InVC, visit func(*Queued)) {
	if v.Count == 0 {
		return
	}
	visit(&v.Queued)
	if v.Count == 1 {
		return
	}
	n := d.Pool[v.Last-1].Next
	for range v.Count - 1 {
		b := &d.Pool[n-1]
		visit(&b.Queued)
		n = b.Next
	}
}

// holdsVC tells whether the packet at the front of a queue, or whose later flits
// are still to come, holds an output virtual channel.
func (d *Domain) holdsVC(sw *SwitchState, local uint32, v *InVC) bool {
	return v.Out >= 0 && sw.outVC(uint32(v.Out)).owner == sw.Queue0+int32(local)
}

// secondHead is the first head behind the front of a queue, in the pool, + 1; 0: none.
func (d *Domain) secondHead(v *InVC) int32 {
	for n, i := v.Last, int32(1); i < v.Count; i++ {
		if n = d.Pool[n-1].Next; d.Pool[n-1].Packet&HeadFlit != 0 {
			return n
		}
	}
	return 0
}

// checkCredits checks that an output virtual channel has no less than no credit and no
// more than there is room for.
func (d *Domain) checkCredits(ov int32) {
	depth := d.buffer
	if ov < d.terminalOV0 {
		port := topology.PortID(ov / int32(d.vcs))
		depth = d.bufferOf(port)
		if d.Unit != nil {
			d.Unit.look(d, port)
		}
	}
	if o := &d.OutVC[ov]; o.credits < 0 || o.credits > depth || o.waiting < 0 {
		d.broken("output virtual channel %d has %d credits for %d places, and %d flits waiting", ov, o.credits, depth, o.waiting)
	}
}

// checkSwitch checks, behind the last step of a cycle, that the masks of a switch go by
// its queues, and that a virtual channel is free if no packet holds it.
func (d *Domain) checkSwitch(sw *SwitchState) {
	for w := range sw.masks {
		m := &sw.masks[w]
		if m.route|m.next != 0 {
			d.broken("mask word %d of the switch with port %d has packets left to route, %#x, or for a next step, %#x", w, sw.Port0, m.route, m.next)
		}
		word := sw.Queue0>>6 + int32(w)
		if m.va|m.sa != 0 && d.active[word>>6]>>(word&63)&1 == 0 {
			d.broken("mask word %d of the switch with port %d has work and is not active", w, sw.Port0)
		}
	}
	for local := range uint32(sw.Ports) * uint32(d.vcs) {
		v, m := sw.Queue(local), sw.mask(local)
		if v.Count < 0 || v.Count > d.buffer {
			d.broken("queue %d holds %d flits", sw.Queue0+int32(local), v.Count)
		}
		if v.Count == 0 && (m.va|m.sa)>>(local&63)&1 != 0 {
			d.broken("queue %d is empty and wants something", sw.Queue0+int32(local))
		}
		o, vc := sw.OutPort(local/uint32(d.vcs)), local%uint32(d.vcs)
		if owner := sw.outVC(local).owner; owner >= 0 == (o.free>>vc&1 != 0) {
			d.broken("output virtual channel %d of port %d has owner %d, and those free are %#b", vc, sw.Port0+int32(local)/int32(d.vcs), owner, o.free)
		}
		d.checkCredits(sw.Port0*int32(d.vcs) + int32(local))
	}
}
