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
	sw := &d.switches[d.graph.PortSwitch[p]]
	return d.escape.room(d, sw, uint32(int32(p)-sw.port0), flits)
}

func (e *escape) room(d *domain, sw *switchState, port uint32, flits int32) uint32 {
	if !d.cutThrough {
		flits = 1
	}
	free := uint32(sw.outPort(port).free)
	whole := free & e.whole
	if whole != 0 {
		whole = d.withCredits(sw, port, whole, max(flits, d.buffer))
	}
	return whole | d.withCredits(sw, port, free&^e.whole, flits)
}

// decide narrows the decision for the packet in front of a queue to virtual
// channels that it can be given in this step, with a new decision if need be;
// false if there are none.
func (e *escape) decide(d *domain, sw *switchState, local uint32, v *inVC) bool {
	const routingBits = 1<<fabric.StateBits - 1
	flits := d.packet(v.packet >> packetBits).flits
	port := v.hop >> 16
	if room := v.hop & e.room(d, sw, port, flits); room != 0 {
		v.hop = port<<16 | room
		return true
	}
	place, h := d.matcher.places[local], &d.head
	h.In, h.VC = topology.PortID(sw.port0+int32(place.port)), uint8(place.vc)
	h.Switch, h.Dst, h.Flits = d.graph.PortSwitch[h.In], topology.TerminalID(v.dst), flits
	h.State = v.state & routingBits
	if d.needs.Packets {
		d.describe(v.packet>>packetBits, h)
	}
	hop := e.routing.Reroute(&d.view, h)
	h.Flits, d.summed = 0, 0
	port, vcs := uint32(hop.Port)-uint32(sw.port0), hop.VCs&d.allVCs
	if port >= uint32(sw.ports) || vcs == 0 {
		d.badHop(h, hop)
	}
	v.state = v.state&^routingBits | h.State
	v.hop = port<<16 | vcs
	if room := vcs & e.room(d, sw, port, flits); room != 0 {
		v.hop = port<<16 | room
		return true
	}
	return false
}
