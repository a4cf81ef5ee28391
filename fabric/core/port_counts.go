package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// This file tells what ports of switches have and have done, to probes and routings. What is
// counted for nobody else is counted here: where a channel's flits are is known from when they
// crossed and from what has not left.

// countPorts has the network keep what probes and the routing ask of ports, which does not make
// terminals decide ahead.
func (f *Fabric) countPorts() {
	c, n := &f.Config, &f.needs
	if n.Sent && (f.escape != nil || n.HeldSlots) {
		f.misuse("declares Needs.Sent, and is a fabric.EscapeRouting or declares HeldSlots: what waits, which is no longer what has not left, says what has")
	}
	n.Sent, n.Marked = n.Sent || c.Probed(fabric.Sent), n.Marked || c.Probed(fabric.Marked)
	n.Queues = n.Queues || n.Sent || c.Probed(fabric.Waiting)
	n.Credits = n.Credits || c.Probed(fabric.Outstanding)
	if n.Crossed = n.Crossed && n.Queues || n.Sent; n.Crossed {
		f.crossed = make([]int32, f.graph.NumPorts()*f.vcs)
	}
	if n.Marked && c.Switch.Marks() {
		f.marked = make([]uint32, f.graph.NumPorts())
	}
}

// cyclesPerFlit is how long a flit occupies the channel from a sending end, numbered as state.out.
func (n *network) cyclesPerFlit(o *OutPort) float64 {
	return float64(n.Pace(o).Interval) / (1 << IntervalShift)
}

// CyclesPerFlit implements [fabric.Queues].
func (v *view) CyclesPerFlit(p topology.PortID) float64 { return v.d.cyclesPerFlit(&v.d.Out[p]) }

// Sent implements [fabric.Queues].
func (v *view) Sent(p topology.PortID) uint32 {
	if !v.d.needs.Sent {
		v.d.misuse("reads what has been sent and does not declare it: fabric.Needs has Sent")
	}
	v.look(p)
	return v.d.sample(fabric.Sent, p)
}

// Marked implements [fabric.Queues].
func (v *view) Marked(p topology.PortID) uint32 {
	if !v.d.needs.Marked {
		v.d.misuse("reads what has been marked and does not declare it: fabric.Needs has Marked")
	}
	if v.d.marked == nil {
		return 0
	}
	return v.d.marked[p]
}

// sample is what is known of a port as a cycle begins; of what is counted, all until then,
// modulo 2^32.
func (d *Domain) sample(q fabric.Quantity, port topology.PortID) (n uint32) {
	ovs := d.OutVC[d.ov(port, 0):][:d.vcs]
	switch q {
	case fabric.Waiting:
		for i := range ovs {
			n += uint32(ovs[i].waiting)
		}
	case fabric.Outstanding:
		for i := range ovs {
			n += uint32(d.bufferOf(port) - ovs[i].credits)
		}
	case fabric.Sent: // what has crossed, but for what has not left
		for i := range ovs {
			n += ovs[i].Flits
		}
		if d.Unit != nil {
			return n - d.Unit.stillHere(int32(port))
		}
		for _, behind := range d.crossed[d.ov(port, 0):][:d.vcs] {
			n -= uint32(behind)
		}
	case fabric.Marked:
		return d.marked[port]
	}
	return n
}

// lookBefore brings up to date what is known of a port as a cycle begins.
func (u *packetUnit) lookBefore(d *Domain, port int32) {
	begins := d.Cycle << IntervalShift
	if r := &u.credits[port]; r.ov >= 0 {
		d.OutVC[r.ov].credits += r.take(u, begins)
		if r.done == r.flits {
			r.ov = -1
		}
	}
	if u.watched {
		u.count(d, port, begins, begins, begins+1<<IntervalShift)
	}
}

// stillHere is the number of flits, of packets whose heads have crossed to a port, that have not
// left by it.
func (u *packetUnit) stillHere(port int32) (flits uint32) {
	for i := range u.flows[port] {
		if w := &u.flows[port][i]; w.kind == leaving {
			flits += uint32(w.flits - w.done)
		}
	}
	return flits
}
