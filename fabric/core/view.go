package core

import (
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// view is the [fabric.View] of the decisions of a domain.
type view struct {
	d      *domain
	random *sim.Stream // of the terminal that a packet is to leave; nil: of switches
}

// Graph implements [fabric.View].
func (v *view) Graph() *topology.Graph { return v.d.graph }

// VCs implements [fabric.View].
func (v *view) VCs() int { return v.d.unicastVCs }

// AllVCs implements [fabric.View].
func (v *view) AllVCs() uint32 { return v.d.allVCs }

// Cycle implements [fabric.View].
func (v *view) Cycle() int64 { return v.d.cycle }

// Memory implements [fabric.View].
func (v *view) Memory() fabric.Memory { return v.d.memory }

// Random implements [fabric.View].
func (v *view) Random(s topology.SwitchID) *sim.Stream {
	if v.random != nil {
		return v.random
	}
	return &v.d.streams[s]
}

// look brings up to date what is read of a port.
func (v *view) look(p topology.PortID) {
	if v.d.convoys != nil {
		v.d.misuse("reads queues and does not declare it: implement fabric.OccupancyReader or, where credits are all, fabric.CreditReader")
	}
	if u := v.d.unit; u != nil {
		if !u.watched {
			v.d.misuse("reads credits and does not declare it: implement fabric.CreditReader")
		}
		u.look(v.d, p)
	}
}

// Credits implements [fabric.View].
func (v *view) Credits(p topology.PortID, vc int) int {
	v.look(p)
	return int(v.d.outVC[v.d.ov(p, vc)].credits)
}

// Outstanding implements [fabric.View].
func (v *view) Outstanding(p topology.PortID, vc int) int {
	v.look(p)
	o := &v.d.outVC[v.d.ov(p, vc)]
	return int(v.d.bufferOf(p)) - int(o.credits)
}

// OutstandingAll implements [fabric.View].
func (v *view) OutstandingAll(p topology.PortID) int {
	v.look(p)
	ovs := v.d.outVC[v.d.ov(p, 0):][:v.d.vcs]
	n := v.d.bufferOf(p) * int32(len(ovs))
	for i := range ovs {
		n -= ovs[i].credits
	}
	return int(n)
}

// OutstandingPorts implements [fabric.View].
func (v *view) OutstandingPorts(s topology.SwitchID) []int32 {
	d := v.d
	if d.summed != s+1 {
		d.sumCredits(s)
	}
	return d.sums
}

// sumCredits works out what OutstandingPorts lists.
func (d *domain) sumCredits(s topology.SwitchID) {
	first, end := d.graph.Ports(s)
	if d.unit != nil {
		for p := first; p < end; p++ {
			d.view.look(p)
		}
	}
	n := int(end - first)
	d.summed, d.sums = s+1, slices.Grow(d.sums[:0], n)[:n]
	vcs, full := d.vcs, d.buffer*int32(d.vcs)
	sums, peers, ovs := d.sums, d.graph.Peer[first:end], d.outVC[d.ov(first, 0):]
	for p, peer := range peers {
		n := int32(0)
		if peer >= 0 {
			n = full
			row := ovs[p*vcs:][:vcs]
			for i := range row {
				n -= row[i].credits
			}
		}
		sums[p] = n
	}
}

// Waiting implements [fabric.View].
func (v *view) Waiting(p topology.PortID, vc int) int {
	v.look(p)
	return int(v.d.outVC[v.d.ov(p, vc)].waiting)
}

// Crossed implements [fabric.View].
func (v *view) Crossed(p topology.PortID, vc int) int {
	v.look(p)
	return int(v.d.crossed[v.d.ov(p, vc)])
}

// LoadAll implements [fabric.View].
func (v *view) LoadAll(p topology.PortID) int {
	v.look(p)
	ovs := v.d.outVC[v.d.ov(p, 0):][:v.d.vcs]
	n := v.d.bufferOf(p) * int32(len(ovs))
	for i := range ovs {
		n += ovs[i].waiting - ovs[i].credits
	}
	return int(n)
}

// LoadPorts implements [fabric.View].
func (v *view) LoadPorts(first topology.PortID, count int) []int32 {
	d := v.d
	if d.unit != nil && d.large {
		d.unit.prefetchFlows(d, int32(first), int32(count))
	}
	d.summed, d.sums = 0, slices.Grow(d.sums[:0], count)[:count]
	for i := range d.sums {
		d.sums[i] = int32(v.LoadAll(first + topology.PortID(i)))
	}
	return d.sums
}

// WaitingAll implements [fabric.View].
func (v *view) WaitingAll(p topology.PortID) int {
	v.look(p)
	n := int32(0)
	ovs := v.d.outVC[v.d.ov(p, 0):][:v.d.vcs]
	for i := range ovs {
		n += ovs[i].waiting
	}
	return int(n)
}
