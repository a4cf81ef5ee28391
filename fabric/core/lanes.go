package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
)

// lanePort is an output port whose packets InfiniBand's arbitration puts in order:
// virtual channel l is lane l. From its first flit on until its last has crossed, the
// port is the packet's alone, as packets are not mixed on a link. Which of several
// inputs sends on the chosen lane is left to the switch allocator.
//
// Packets start only with credits for all of their flits (cut-through), so that none
// holds the port to wait for a buffer downstream: lanes depend on each other no more than
// without arbitration.
type lanePort struct {
	arbiter    arbitration.Arbiter
	arbitrated bool
	open       bool               // choice is of the step at hand
	ok         bool               // choice is one
	choice     arbitration.Choice // among ready
	ready      uint32             // lanes that have asked in the step at hand
	holder     int32              // queue, in its switch, whose packet is crossing; -1: none
}

// newLanes makes the arbiters of all ports; nil without arbitration.
func newLanes(n *network) []lanePort {
	all, err := n.Config.Switch.LaneTables()
	if err != nil {
		panic("core: " + err.Error()) // checked before
	}
	own, _ := n.routing.(fabric.LaneArbitration)
	if own != nil && !own.ArbitratesLanes() {
		own = nil
	}
	if all == nil && own == nil {
		return nil
	}
	lanes := make([]lanePort, n.graph.NumPorts())
	for p := range lanes {
		tables := all
		if own != nil {
			if t := own.ArbitrationTables(topology.PortID(p)); t != nil {
				tables = t
			}
		}
		lanes[p].holder = -1
		if tables != nil {
			lanes[p].arbiter, lanes[p].arbitrated = arbitration.New(tables), true
		}
	}
	return lanes
}

// arbitrateLanes keeps the requests of packets that the arbitration of their output
// port lets go first, and of those that are crossing.
func (d *Domain) arbitrateLanes(sw *SwitchState, requests []Request) []Request {
	vcs := uint32(d.vcs)
	ports := d.lanes[sw.Port0:][:sw.Ports]
	for _, r := range requests {
		p := &ports[r.Output()]
		p.open = false
		p.ready |= 1 << (uint32(sw.Queue(r.Local()).Out) - r.Output()*vcs)
	}
	kept := requests[:0]
	for _, r := range requests {
		p := &ports[r.Output()]
		if !p.open {
			p.open = true
			if p.holder < 0 && p.arbitrated {
				p.choice, p.ok = p.arbiter.Choose(p.ready)
			}
			p.ready = 0
		}
		switch {
		case p.holder >= 0:
			if uint32(p.holder) == r.Local() {
				kept = append(kept, r)
			}
		case !p.arbitrated || p.ok && uint32(p.choice.Lane) == uint32(sw.Queue(r.Local()).Out)-r.Output()*vcs:
			kept = append(kept, r)
		}
	}
	return kept
}

// rivals are the ports, modulo 64, that several requests come from and want.
func rivals(requests []Request) (rivalInputs, rivalOutputs uint64) {
	var inputs, outputs uint64
	for _, r := range requests {
		in, out := uint64(1)<<(r.Port()&63), uint64(1)<<(r.Output()&63)
		rivalInputs |= inputs & in
		inputs |= in
		rivalOutputs |= outputs & out
		outputs |= out
	}
	return rivalInputs, rivalOutputs
}

// crossedLanes notes the packets that begin and end with flits that cross in this
// step.
func (d *Domain) crossedLanes(sw *SwitchState, matches []Request) {
	for _, r := range matches {
		p := &d.lanes[uint32(sw.Port0)+r.Output()]
		v := sw.Queue(r.Local())
		if p.holder < 0 && p.arbitrated {
			flits := d.Packet(v.Packet >> PacketBits).Flits
			p.arbiter.Send(p.choice, int64(flits)*int64(d.Config.Fabric.FlitBytes))
			p.holder = int32(r.Local())
		}
		if v.Packet&TailFlit != 0 {
			p.holder = -1
		}
	}
}
