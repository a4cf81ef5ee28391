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
	trim    uint8 // trimNone to trimDone
	entropy uint16
}

// Whether a packet is trimmed: not, at the beginning of the next cycle, or it has been.
const (
	trimNone = iota
	trimNext
	trimDone
)

// newLabels makes the labels of a network's packets; nil: it has none.
func newLabels(n *network) *packetRecords[label] {
	if n.config.Switch.Marks() || n.needs.Packets || n.needs.Losses {
		return &packetRecords[label]{}
	}
	return nil
}

// labelOf is the label of a packet.
func (d *domain) labelOf(id int32) label {
	if d.labels == nil {
		return label{}
	}
	return *d.labels.at(id)
}

// describe tells a routing that asks about a packet.
func (d *domain) describe(id int32, h *fabric.Head) {
	h.Src = d.packet(id).src
	l := d.labels.at(id)
	h.Level, h.Entropy, h.Marked = l.level, l.entropy, l.marked
}

// informer tells a routing about the packet that it decides on at a switch.
type informer struct {
	fabric.Routing
	d *domain
}

// Route implements [fabric.Routing]. The packet is the one that has come last in its queue.
func (i *informer) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	d := i.d
	q := &d.queues[d.queueOf(h.In, int(h.VC))]
	head := &q.queued
	if q.count > 1 {
		head = &d.pool[q.last-1].queued
	}
	id := head.packet >> packetBits
	d.describe(id, h)
	hop := i.Routing.Route(v, h)
	if hop.Trim {
		d.cut(id)
		hop.Trim = false
	}
	return hop
}

// cut has a packet trimmed in the next cycle, unless it has been.
func (d *domain) cut(id int32) {
	if !d.needs.Losses {
		d.misuse("trims a packet without declaring fabric.Needs.Losses")
	}
	if l := d.labels.at(id); l.trim == trimNone {
		l.trim = trimNext
		d.doomed = append(d.doomed, id)
	}
}

// inform has a domain's routing be told about packets, if it asks.
func (d *domain) inform() {
	d.decides = d.routing
	if d.needs.Packets || d.needs.Losses {
		d.decides = &informer{d.routing, d}
	}
}

// marker has the ports of a network mark packets. It is told of heads that cross as an
// observer is, and changes nothing but their labels.
type marker struct {
	unobserved
	policies []marking.Policy // by port
	leaving  marking.Leaving
}

// newMarker makes the policies of all ports.
func newMarker(f *Fabric) (*marker, error) {
	m := &marker{policies: make([]marking.Policy, f.graph.NumPorts())}
	for p := range m.policies {
		env := marking.Env{
			Port: p, Seed: f.seed, VCs: f.vcs, Number: f.graph.LocalPort(topology.PortID(p)) + 1,
			InputFlits: int(f.buffer), FlitBytes: f.config.Fabric.FlitBytes,
		}
		if buffer := f.bufferOf(topology.PortID(p)); buffer < unboundedCredits {
			env.BufferFlits = int(buffer)
		}
		var err error
		if m.policies[p], err = f.config.Switch.Marking.Build(env); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// part implements observer. Ports belong to one domain each.
func (m *marker) part(*domain) observer { return &marker{policies: m.policies} }

// grantedSwitch implements observer.
func (m *marker) grantedSwitch(d *domain, sw *switchState, matches []request, _ *stepTime) {
	before := d.head.Switch
	d.head.Switch = topology.SwitchID(d.wordSwitch[sw.queue0>>6])
	for _, r := range matches {
		v := sw.queue(r.local())
		if v.packet&headFlit == 0 || v.dst < 0 {
			continue
		}
		port := topology.PortID(sw.port0 + int32(r.output()))
		waiting := d.view.WaitingAll(port) // which brings the credits up to date, too
		id, out := v.packet>>packetBits, sw.outVC(uint32(v.out))
		l := d.labels.at(id)
		m.leaving = marking.Leaving{
			Cycle: d.cycle, VC: int(v.out) - int(r.output())*d.vcs, Level: l.level, Flits: int(d.packet(id).flits),
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

// archive implements observer.
func (m *marker) archive(x *archiver) {
	x.Mark("marking")
	for _, p := range m.policies {
		p.Archive(x.Archive)
	}
}

func (*marker) gather()                                            {}
func (*marker) arrived(*domain, []flit)                            {}
func (*marker) grantedVC(*domain, *switchState, []request, uint32) {}
func (*marker) delivered(*domain, int32, *fabric.Delivery)         {}
func (*marker) injected(*domain, int32)                            {}
