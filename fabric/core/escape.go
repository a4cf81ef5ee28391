package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// escape is what a network keeps for an EscapeRouting.
type escape struct {
	routing fabric.EscapeRouting
	whole   uint32 // virtual channels that are given away only while their buffer is empty
}

func newEscape(n *network, r fabric.EscapeRouting) *escape {
	if n.needs.Queues {
		panic("core: a routing with escape channels cannot read occupancy")
	}
	e := &escape{routing: r}
	if !n.cutThrough {
		e.whole = n.allVCs &^ r.EscapeVCs(n.vcs)
	}
	return e
}

// Room implements [fabric.Queues].
func (v *view) Room(p topology.PortID, flits int32) uint32 {
	d := v.d
	sw := &d.Switches[d.graph.PortSwitch[p]]
	return d.escape.room(d, sw, uint32(int32(p)-sw.Port0), flits)
}

func (e *escape) room(d *Domain, sw *SwitchState, port uint32, flits int32) uint32 {
	if !d.cutThrough {
		flits = 1
	}
	free := uint32(sw.OutPort(port).free)
	whole := free & e.whole
	if whole != 0 {
		whole = d.withCredits(sw, port, whole, max(flits, d.buffer))
	}
	return whole | d.withCredits(sw, port, free&^e.whole, flits)
}

// decide narrows the decision for the packet in front of a queue to virtual
// channels that it can be given in this step, with a new decision if need be;
// false if there are none.
func (e *escape) decide(d *Domain, sw *SwitchState, local uint32, v *InVC) bool {
	const routingBits = 1<<fabric.StateBits - 1
	flits := d.Packet(v.Packet >> PacketBits).Flits
	port := v.Hop >> 16
	if room := v.Hop & e.room(d, sw, port, flits); room != 0 {
		v.Hop = port<<16 | room
		return true
	}
	place, h := d.Matcher.Places[local], &d.head
	h.In, h.VC = topology.PortID(sw.Port0+int32(place.Port)), uint8(place.vc)
	h.Switch, h.Dst, h.Flits = d.graph.PortSwitch[h.In], topology.TerminalID(v.dst), flits
	h.State = v.State & routingBits
	if d.needs.Packets {
		d.describe(v.Packet>>PacketBits, h)
	}
	hop := e.routing.Reroute(&d.view, h)
	h.Flits, d.summed = 0, 0
	port, vcs := uint32(hop.Port)-uint32(sw.Port0), hop.VCs&d.allVCs
	if port >= uint32(sw.Ports) || vcs == 0 {
		d.badHop(h, hop)
	}
	v.State = v.State&^routingBits | h.State
	v.Hop = port<<16 | vcs
	if room := vcs & e.room(d, sw, port, flits); room != 0 {
		v.Hop = port<<16 | room
		return true
	}
	return false
}
