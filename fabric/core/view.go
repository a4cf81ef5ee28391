package core

import (
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/wheel"
)

// view shows the queues of a domain's network: see [fabric.Queues].
type view struct{ d *Domain }

// openView gives the domain's routing its view of the network.
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

// Credits implements [fabric.Queues].
func (v *view) Credits(p topology.PortID, vc int) int {
	v.look(p)
	return int(v.d.OutVC[v.d.ov(p, vc)].credits)
}

// Outstanding implements [fabric.Queues].
func (v *view) Outstanding(p topology.PortID, vc int) int {
	v.look(p)
	o := &v.d.OutVC[v.d.ov(p, vc)]
	return int(v.d.bufferOf(p)) - int(o.credits)
}

// OutstandingAll implements [fabric.Queues].
func (v *view) OutstandingAll(p topology.PortID) int {
	v.look(p)
	_, outstanding := v.d.load(p)
	return int(outstanding)
}

// OutstandingPorts implements [fabric.Queues].
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

// Waiting implements [fabric.Queues].
func (v *view) Waiting(p topology.PortID, vc int) int {
	v.look(p)
	return int(v.d.OutVC[v.d.ov(p, vc)].waiting)
}

// Crossed implements [fabric.Queues].
func (v *view) Crossed(p topology.PortID, vc int) int {
	v.look(p)
	return int(v.d.crossed[v.d.ov(p, vc)])
}

// LoadAll implements [fabric.Queues].
func (v *view) LoadAll(p topology.PortID) int {
	v.look(p)
	waiting, outstanding := v.d.load(p)
	return int(waiting + outstanding)
}

// LoadPorts implements [fabric.Queues].
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

// WaitingAll implements [fabric.Queues].
func (v *view) WaitingAll(p topology.PortID) int {
	v.look(p)
	waiting, _ := v.d.load(p)
	return int(waiting)
}

// load is the number of flits that wait for a port, and of those that have been sent and whose
// credits have not come back, as far as has been counted.
func (d *Domain) load(p topology.PortID) (waiting, outstanding int32) {
	ovs := d.OutVC[d.ov(p, 0):][:d.vcs]
	outstanding = d.bufferOf(p) * int32(len(ovs))
	for i := range ovs {
		waiting += ovs[i].waiting
		outstanding -= ovs[i].credits
	}
	return waiting, outstanding
}

// What follows counts the flits that wait for an output, as [fabric.View.Waiting] shows them: from
// the decision at their switch until their channel takes them.

// lowestOV is the local output virtual channel that a decision is counted under.
func lowestOV(hop, vcs uint32) uint32 { return hop>>16*vcs + uint32(bits.TrailingZeros32(hop)) }

// countDecision counts a packet as waiting for the output virtual channel that
// was chosen for it at switch sw.
func (d *Domain) countDecision(sw *SwitchState, lov uint32) {
	if d.needs.Greedy {
		d.decided = append(d.decided, lov)
	} else {
		sw.outVC(lov).waiting++
	}
}

// countDecisions counts those of a greedy routing, all decisions of a cycle at
// a switch being made.
func (d *Domain) countDecisions(sw *SwitchState) {
	for _, lov := range d.decided {
		sw.outVC(lov).waiting++
	}
	d.decided = d.decided[:0]
}

// countWaiting counts a flit of a routed packet as waiting for its output.
func (d *Domain) countWaiting(word int32, hop uint32) {
	if hop != multicastHop {
		d.Switches[d.WordSwitch[word]].outVC(lowestOV(hop, uint32(d.vcs))).waiting++
	}
}

// behind ends the waiting of flits that have crossed their switch: when their
// channel takes them, or, with [fabric.Needs].HeldSlots, when sensing lets
// their credit go. Only for occupancy readers.
//
// Most flits leave within a cycle or two, and every one passes here: those go to
// plain lists, only the others to a wheel.
type behind struct {
	soon  [soonCycles][]int32 // by cycle modulo soonCycles: output virtual channels of the decisions
	until *wheel.Wheel[int32] // the same, later cycles
	slots bool                // until credits are let go
}

const soonCycles = 4

func newBehind(d *Domain) *behind {
	b := &behind{until: wheel.New[int32](d.horizon)}
	b.slots = d.needs.HeldSlots
	return b
}

// list is where to file flits that cross in this cycle, depart at a time and are
// not held longer; nil if each has to be filed by cross.
func (b *behind) list(d *Domain, depart int64) *[]int32 {
	ahead := depart>>IntervalShift - d.Cycle
	if d.crossed != nil || ahead <= 0 || ahead >= soonCycles-1 {
		return nil
	}
	return &b.soon[(d.Cycle+ahead+1)%soonCycles]
}

// cross files a flit that crosses switch sw in this cycle, decided for local
// output virtual channel lov, to depart at a time and its credit to be sent so
// many cycles late.
func (b *behind) cross(d *Domain, sw *SwitchState, lov uint32, depart, late int64) {
	until := depart >> IntervalShift
	if b.slots && late > 0 {
		until = max(until, d.Cycle+late-1)
	}
	if until <= d.Cycle {
		sw.outVC(lov).waiting--
		return
	}
	ov := sw.Port0*int32(d.vcs) + int32(lov)
	if d.crossed != nil {
		d.crossed[ov]++
	}
	if until-d.Cycle < soonCycles-1 {
		list := &b.soon[(until+1)%soonCycles]
		*list = append(*list, ov)
	} else {
		*b.until.Place(until + 1) = ov
	}
}

// release ends the waiting of flits whose time came before cycle c.
func (b *behind) release(d *Domain, c int64) {
	list := &b.soon[c%soonCycles]
	b.end(d, *list)
	*list = (*list)[:0]
	for batch := b.until.Next(c); batch != nil; batch = b.until.Next(c) {
		b.end(d, batch)
	}
}

func (b *behind) end(d *Domain, ovs []int32) {
	for _, ov := range ovs {
		d.OutVC[ov].waiting--
	}
	if d.crossed != nil {
		for _, ov := range ovs {
			d.crossed[ov]--
		}
	}
}

// next is the first cycle after c in which some flit's waiting ends.
func (b *behind) next(c int64) (cycle int64, any bool) {
	cycle, any = b.until.NextCycle()
	for i := range int64(soonCycles) {
		if soon := c + 1 + i; len(b.soon[soon%soonCycles]) > 0 && (!any || soon < cycle) {
			return soon, true
		}
	}
	return cycle, any
}
