package core

import (
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// view shows the queues of a domain's network: see [fabric.Queues].
type view struct{ d *Domain }

func (d *Domain) openView() {
	d.view = fabric.NewView(fabric.Sight{Graph: d.graph, VCs: d.unicastVCs, Cycle: &d.Cycle, Memory: d.memory, Streams: d.streams}, &view{d})
	d.decides = d.routing
	if d.needs.Packets {
		d.decides = &informer{d.routing, d}
	}
}

// look brings up to date what is read of a port.
func (v *view) look(p topology.PortID) {
	u := v.d.Unit
	if !v.d.watched {
		if u == nil {
			v.d.misuse("reads queues and does not declare it: fabric.Needs has Queues and, where credits are all, Credits")
		}
		v.d.misuse("reads credits and does not declare it: fabric.Needs has Credits")
	}
	if u != nil {
		u.look(v.d, p)
	}
}

func (v *view) Credits(p topology.PortID, vc int) int {
	v.look(p)
	return int(v.d.OutVC[v.d.ov(p, vc)].credits)
}

func (v *view) Outstanding(p topology.PortID, vc int) int {
	v.look(p)
	o := &v.d.OutVC[v.d.ov(p, vc)]
	return int(v.d.bufferOf(p)) - int(o.credits)
}

func (v *view) OutstandingAll(p topology.PortID) int {
	v.look(p)
	_, outstanding := v.d.load(p)
	return int(outstanding)
}

func (v *view) OutstandingPorts(s topology.SwitchID) []int32 {
	d := v.d
	if d.summed != s+1 {
		d.sumCredits(s)
	}
	return d.sums
}

// sumCredits works out what OutstandingPorts lists.
func (d *Domain) sumCredits(s topology.SwitchID) {
	first, end := d.graph.Ports(s)
	if d.Unit != nil {
		for p := first; p < end; p++ {
			(&view{d}).look(p)
		}
	}
	n := int(end - first)
	d.summed, d.sums = s+1, slices.Grow(d.sums[:0], n)[:n]
	vcs, full := d.vcs, d.buffer*int32(d.vcs)
	sums, peers, ovs := d.sums, d.graph.Peer[first:end], d.OutVC[d.ov(first, 0):]
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

func (v *view) Waiting(p topology.PortID, vc int) int {
	v.look(p)
	return int(v.d.OutVC[v.d.ov(p, vc)].waiting)
}

func (v *view) Crossed(p topology.PortID, vc int) int {
	v.look(p)
	return int(v.d.crossed[v.d.ov(p, vc)])
}

func (v *view) LoadAll(p topology.PortID) int {
	v.look(p)
	waiting, outstanding := v.d.load(p)
	return int(waiting + outstanding)
}

func (v *view) LoadPorts(first topology.PortID, count int) []int32 {
	d := v.d
	if d.Unit != nil && d.large {
		d.Unit.prefetchFlows(d, int32(first), int32(count))
	}
	d.summed, d.sums = 0, slices.Grow(d.sums[:0], count)[:count]
	for i := range d.sums {
		d.sums[i] = int32(v.LoadAll(first + topology.PortID(i)))
	}
	return d.sums
}

func (v *view) WaitingAll(p topology.PortID) int {
	v.look(p)
	waiting, _ := v.d.load(p)
	return int(waiting)
}

func (v *view) CreditRoundTrip(p topology.PortID) (cycles, excess int) {
	if v.d.sensing == nil {
		return 0, 0
	}
	for _, q := range v.d.sensing.ofPort(&v.d.network, int32(p)) {
		cycles, excess = max(cycles, int(q.trip)), max(excess, int(q.trip-q.idle))
	}
	return cycles, excess
}

func (v *view) Room(p topology.PortID, flits int32) uint32 {
	d := v.d
	sw := &d.Switches[d.graph.PortSwitch[p]]
	return d.escape.room(d, sw, uint32(int32(p)-sw.Port0), flits)
}
