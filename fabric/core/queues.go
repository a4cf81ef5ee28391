package core

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

// creditReturned wakes who may have waited for a credit that has come back: the
// first credit of a virtual channel or, under cut-through, any.
func (d *Domain) creditReturned(o *outVC, ov int32) {
	if ov >= d.terminalOV0 {
		d.creditTerminal(ov)
		return
	}
	if o.credits == 1 && o.owner >= 0 {
		d.wakeQueue(o.owner)
	} else if d.Combined != 0 || d.cutThrough {
		d.wakeWaiters(&d.Out[ov/int32(d.vcs)])
	}
}

// wakeQueue puts a packet that stopped for want of a credit back to work, if
// its next flit is there.
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
