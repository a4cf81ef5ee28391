package core

import (
	"math"
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// begin makes a packet of terminal t, the one that it sends next.
func (d *Domain) begin(t int32, te *terminal, spec *fabric.PacketSpec) {
	id := d.takePacket()
	p := d.Packet(id)
	p.Birth, p.Src, p.Flits, p.tag, p.more = spec.Birth, topology.TerminalID(t), spec.Flits, spec.Tag, 0
	if d.labels != nil {
		*d.labels.Open(id) = label{level: spec.Level, entropy: spec.Entropy}
	}
	te.Packet, te.Dst, te.left, te.born, te.flags = id, int32(spec.Dst), spec.Flits, uint32(spec.Birth), 0
	te.state, te.allowed = 0, uint16(d.injection)
	if spec.VCs != 0 {
		te.Dst, te.state, te.allowed = ^spec.MLID, spec.VCs, uint16(spec.VCs)
	}
}

// depart asks the routing about a packet of terminal t: where it may leave, and its new state.
func (d *Domain) depart(t, dst int32, l label) (allowed uint16, state uint32) {
	port := d.graph.TerminalPort[t]
	h := &d.head
	*h = fabric.Head{Switch: d.graph.PortSwitch[port], In: port, Dst: topology.TerminalID(dst)}
	if d.needs.Packets {
		h.Src, h.Level, h.Entropy = topology.TerminalID(t), l.level, l.entropy
	}
	d.view.At(&d.departures[t])
	allowed = uint16(d.departer.Depart(&d.view, h) & d.allVCs)
	d.view.At(nil)
	d.summed = 0
	if allowed == 0 {
		panic("core: a routing allows a packet no virtual channel to leave its terminal by")
	}
	return allowed, h.State & (1<<fabric.StateBits - 1)
}

// injectionOVs is the virtual channels that terminal t injects into.
func (d *Domain) injectionOVs(t int32) check.Array[outVC] {
	return check.Of(d.OutVC).From(uint32(d.terminalOV(topology.TerminalID(t), 0)))
}

// injectionVC chooses a new packet's virtual channel: the next allowed one in round robin with a
// credit (cut-through: credits for the whole packet).
func (d *Domain) injectionVC(t int32, te *terminal, ovs check.Array[outVC]) (int8, bool) {
	need := int32(1)
	if d.cutThrough {
		need = te.left
	}
	if d.creditsBack {
		need = d.buffer
	}
	if te.allowed == 0 {
		te.allowed, te.state = d.depart(t, te.Dst, d.labelOf(te.Packet))
	}
	// Twice the set: the second copy begins behind the last channel.
	set := uint64(te.allowed) | uint64(te.allowed)<<(d.vcs&63)
	for set &^= 2<<(te.VC&63) - 1; set != 0; set &= set - 1 {
		vc := int8(bits.TrailingZeros64(set))
		if vc >= int8(d.vcs) {
			vc -= int8(d.vcs)
		}
		if ovs.At(uint32(vc)).credits >= need {
			return vc, true
		}
	}
	return 0, false
}

// busy tells whether woken terminal t's channel is still busy with the flit before; it then wakes
// again when the channel is free.
func (d *Domain) busy(t int32, te *terminal, o *OutPort, c int64) bool {
	free := WholeCycle(o.NextFree)
	if free > c {
		d.wakeAt(t, te, free)
	}
	return free > c
}

// fetchByLane takes terminal t's next packet, by arbitration among its lanes, if it can leave in
// this cycle. Otherwise the terminal wakes when its channel is free, for the next packet to be
// born, or with a credit.
func (d *Domain) fetchByLane(t int32, te *terminal) bool {
	if next := WholeCycle(d.Out[d.TerminalOut0+t].NextFree); next > d.Cycle {
		d.wakeAt(t, te, next)
		return false
	}
	l := &d.laneQueues[t]
	d.fillLanes(t, te, l)
	if l.waiting == 0 {
		return false
	}
	if d.Unit != nil {
		d.Unit.heed(d, d.TerminalOut0+t)
	}
	ovs := d.OutVC[d.terminalOV(topology.TerminalID(t), 0):][:d.vcs]
	ready := uint32(0)
	for i := range l.queues {
		ready |= l.queues[i].ready(ovs)
	}
	choice, ok := l.arbiter.Choose(ready)
	if !ok {
		te.flags |= blocked
		return false
	}
	p := l.take(choice.Lane, ovs)
	l.arbiter.Send(choice, int64(p.flits)*int64(d.Config.Fabric.FlitBytes))
	d.begin(t, te, &fabric.PacketSpec{Birth: p.birth, Dst: p.dst, Flits: p.flits, Tag: p.tag, Level: p.level, Entropy: p.entropy})
	te.allowed, te.state = 1<<choice.Lane, p.state
	if d.listens != nil {
		d.listens.Departed(topology.TerminalID(t), p.tag)
	}
	return true
}

// fillLanes takes the packets of terminal t that can leave now, and arranges a wake for the next
// one.
func (d *Domain) fillLanes(t int32, te *terminal, l *laneQueues) {
	delay := int64(d.Config.Terminal.InjectionCycles)
	spec := &d.spec
	for l.waiting < mostWaiting {
		if !d.source.Next(topology.TerminalID(t), d.Cycle-delay, spec) {
			if spec.Birth < fabric.Never {
				d.wakeAt(t, te, max(spec.Birth+delay, d.Cycle+1))
			}
			return
		}
		p := lanePacket{birth: spec.Birth, tag: spec.Tag, dst: spec.Dst, flits: spec.Flits, level: spec.Level, entropy: spec.Entropy}
		lanes := uint16(d.injection)
		if lanes == 0 {
			lanes, p.state = d.depart(t, int32(p.dst), label{level: spec.Level, entropy: spec.Entropy})
		}
		l.add(lanes, p)
	}
}

// oldestInLanes is the earliest birth of packets that wait at terminals for lanes; Never if none.
func (f *Fabric) oldestInLanes() int64 {
	birth := fabric.Never
	for t := range f.laneQueues {
		birth = min(birth, f.laneQueues[t].oldest())
	}
	return birth
}

// LanesBehindBy is [fabric.Workload.BehindBy] for packets that wait for their lanes.
func (f *Fabric) LanesBehindBy(now int64) float64 {
	squares := 0.0
	for t := range f.laneQueues {
		if age := float64(now - f.laneQueues[t].oldest()); age > 0 {
			squares += age * age
		}
	}
	return math.Sqrt(squares / float64(len(f.Terminals)))
}

// ClearLanes takes back the packets that wait for lanes, as if their source had not made them. A
// network with faults keeps them: it tracks every packet given to it.
func (f *Fabric) ClearLanes() {
	if f.Faults != nil {
		return
	}
	for t := range f.laneQueues {
		f.laneQueues[t].queues, f.laneQueues[t].waiting = nil, 0
	}
}

// TerminalTables are the tables by which terminal t chooses between its packets' lanes; nil: it
// sends them in order.
func (f *Fabric) TerminalTables(t topology.TerminalID) *arbitration.Tables {
	if !f.byLane(int32(t)) {
		return nil
	}
	return f.laneQueues[t].arbiter.Tables()
}

// InjectionLanes is the virtual channels on which a packet of a service level from src to dst may
// now enter the network. It is for the thread that simulates src.
func (f *Fabric) InjectionLanes(src, dst topology.TerminalID, level uint8) uint32 {
	if f.injection != 0 {
		return f.injection
	}
	lanes, _ := f.owner(src).depart(int32(src), int32(dst), label{level: level})
	return uint32(lanes)
}
