package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/marking"
	"github.com/weft-sim/weft/fabric/topology"
)

// label is what travels with a packet beside what its flits carry: its sender's choice of a
// level and an entropy, and the mark of a port. Only networks have labels that mark packets or
// whose routing reads them ([fabric.Needs].Packets).
type label struct {
	level   uint8
	marked  bool
	entropy uint16
}

// newLabels makes the labels of a network's packets; nil: it has none.
func newLabels(n *network) *PacketRecords[label] {
	if n.Config.Switch.Marks() || n.needs.Packets {
		return &PacketRecords[label]{}
	}
	return nil
}

// labelOf is the label of a packet.
func (d *Domain) labelOf(id int32) label {
	if d.labels == nil {
		return label{}
	}
	return *d.labels.At(id)
}

// describe tells a routing that asks about a packet.
func (d *Domain) describe(id int32, h *fabric.Head) {
	h.Src = d.Packet(id).Src
	l := d.labels.At(id)
	h.Level, h.Entropy, h.Marked = l.level, l.entropy, l.marked
}

// informer tells a routing about the packet that it decides on at a switch.
type informer struct {
	fabric.Routing
	d *Domain
}

// Route implements [fabric.Routing]. The packet is the one that has come last in its queue.
func (i *informer) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	d := i.d
	q := &d.Queues[d.queueOf(h.In, int(h.VC))]
	head := &q.Queued
	if q.Count > 1 {
		head = &d.Pool[q.Last-1].Queued
	}
	d.describe(head.Packet>>PacketBits, h)
	return i.Routing.Route(v, h)
}

// marker has the ports of a network mark packets. It is told of heads that cross as an
// observer is, and changes nothing but their labels.
type marker struct {
	Unobserved
	policies []marking.Policy // by port
	leaving  marking.Leaving
}

// newMarker makes the policies of all ports.
func newMarker(f *Fabric) (*marker, error) {
	m := &marker{policies: make([]marking.Policy, f.graph.NumPorts())}
	for p := range m.policies {
		env := marking.Env{
			Port: p, Seed: f.seed, VCs: f.vcs, Number: f.graph.LocalPort(topology.PortID(p)) + 1,
			InputFlits: int(f.buffer), FlitBytes: f.Config.Fabric.FlitBytes,
		}
		if buffer := f.bufferOf(topology.PortID(p)); buffer < unboundedCredits {
			env.BufferFlits = int(buffer)
		}
		var err error
		if m.policies[p], err = f.Config.Switch.Marking.Build(env); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Part implements observer. Ports belong to one domain each.
func (m *marker) Part(*Domain) Observer { return &marker{policies: m.policies} }

// GrantedSwitch implements observer.
func (m *marker) GrantedSwitch(d *Domain, sw *SwitchState, matches []Request, _ *StepTime) {
	before := d.head.Switch
	d.head.Switch = topology.SwitchID(d.WordSwitch[sw.Queue0>>6])
	for _, r := range matches {
		v := sw.Queue(r.Local())
		if v.Packet&HeadFlit == 0 || v.dst < 0 {
			continue
		}
		port := topology.PortID(sw.Port0 + int32(r.Output()))
		waiting := d.view.WaitingAll(port) // which brings the credits up to date, too
		id, out := v.Packet>>PacketBits, sw.outVC(uint32(v.Out))
		l := d.labels.At(id)
		m.leaving = marking.Leaving{
			Cycle: d.Cycle, VC: int(v.Out) - int(r.Output())*d.vcs, Level: l.level, Flits: int(d.Packet(id).Flits),
			Waiting: waiting, InLane: int(out.waiting), Credits: int(out.credits),
		}
		if m.policies[port].Mark(&m.leaving) {
			l.marked = true
			if d.marked != nil {
				d.marked[port]++
			}
		}
	}
	d.head.Switch = before
}

// Archive implements observer.
func (m *marker) Archive(x *Archiver) {
	x.Mark("marking")
	for _, p := range m.policies {
		p.Archive(x.Archive)
	}
}
