package fabric

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// View is what a routing may see of the network when it decides. Counts of the
// deciding switch are those of the cycle's beginning; decisions made before at
// this switch in this cycle are counted as waiting already, unless the routing
// is a [GreedyDecider]. Counts of other switches are exact too, but those with
// lower numbers have done their work of this cycle. Real switches know only
// their own ports; routings that read others are ideal by design (UGAL-G) and
// say so.
type View struct {
	d      *domain
	random *sim.Stream // of the terminal that a packet is to leave; nil: of switches
}

// Graph is the network.
func (v *View) Graph() *topology.Graph { return v.d.graph }

// VCs is the number of virtual channels of every channel that unicast packets may
// use.
func (v *View) VCs() int { return v.d.unicastVCs }

// AllVCs is the set of those virtual channels.
func (v *View) AllVCs() uint32 { return v.d.allVCs }

// Cycle is the present cycle of the flit clock.
func (v *View) Cycle() int64 { return v.d.cycle }

// Memory is what the network has learned, of the kind that its [Learner] makes.
func (v *View) Memory() Memory { return v.d.memory }

// Random is the random stream of routing decisions at switch s or, while a
// [Departer] decides, at the terminal.
func (v *View) Random(s topology.SwitchID) *sim.Stream {
	if v.random != nil {
		return v.random
	}
	return &v.d.streams[s]
}

// look brings up to date what is read of a port.
func (v *View) look(p topology.PortID) {
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

// Credits is the number of free flit slots, as known here, in the buffer that
// channel (p, vc) leads to; terminals without buffers of their own have very many.
func (v *View) Credits(p topology.PortID, vc int) int {
	v.look(p)
	return int(v.d.outVC[v.d.ov(p, vc)].credits)
}

// Outstanding is the number of flits sent on channel (p, vc) whose credit has
// not come back: in flight, in the downstream buffer, or as credits in flight.
func (v *View) Outstanding(p topology.PortID, vc int) int {
	v.look(p)
	o := &v.d.outVC[v.d.ov(p, vc)]
	return int(v.d.bufferOf(p)) - int(o.credits)
}

// OutstandingAll sums Outstanding over the virtual channels of p.
func (v *View) OutstandingAll(p topology.PortID) int {
	v.look(p)
	ovs := v.d.outVC[v.d.ov(p, 0):][:v.d.vcs]
	n := v.d.bufferOf(p) * int32(len(ovs))
	for i := range ovs {
		n -= ovs[i].credits
	}
	return int(n)
}

// OutstandingPorts lists OutstandingAll of every port of the deciding switch s, in their
// order, 0 for terminals. It is for routings that compare many: the counts are worked out
// once for all packets that are decided on together, and are not to be kept or written to.
// Cost: linear in the virtual channels of the switch, once.
func (v *View) OutstandingPorts(s topology.SwitchID) []int32 {
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

// Waiting is the number of flits in p's switch that have been routed to leave
// by p on virtual channel vc (the lowest allowed one, where the routing allowed
// several) and have not left it, whether they have crossed the switch or not;
// with a [SlotCounter], also those that have left and whose credits are held
// back.
func (v *View) Waiting(p topology.PortID, vc int) int {
	v.look(p)
	return int(v.d.outVC[v.d.ov(p, vc)].waiting)
}

// Crossed is the number of those that have crossed p's switch, among the flits
// Waiting. Only for a [CrossedReader].
func (v *View) Crossed(p topology.PortID, vc int) int {
	v.look(p)
	return int(v.d.crossed[v.d.ov(p, vc)])
}

// LoadAll is WaitingAll and OutstandingAll together, for the price of one.
func (v *View) LoadAll(p topology.PortID) int {
	v.look(p)
	ovs := v.d.outVC[v.d.ov(p, 0):][:v.d.vcs]
	n := v.d.bufferOf(p) * int32(len(ovs))
	for i := range ovs {
		n += ovs[i].waiting - ovs[i].credits
	}
	return int(n)
}

// LoadPorts lists LoadAll of some ports with consecutive numbers, for routings that compare
// many: what it takes comes from memory at once. It is valid until the next call of View.
func (v *View) LoadPorts(first topology.PortID, count int) []int32 {
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

// WaitingAll sums Waiting over the virtual channels of p.
func (v *View) WaitingAll(p topology.PortID) int {
	v.look(p)
	n := int32(0)
	ovs := v.d.outVC[v.d.ov(p, 0):][:v.d.vcs]
	for i := range ovs {
		n += ovs[i].waiting
	}
	return int(n)
}
