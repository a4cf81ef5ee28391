package core

import (
	"github.com/weft-sim/weft/fabric/marking"
	"github.com/weft-sim/weft/fabric/topology"
)

// marker has the ports of a network mark packets. It is told of heads that cross as an
// observer is, and changes nothing but their labels.
type marker struct {
	Unobserved
	policies []marking.Policy // by port
	leaving  marking.Leaving
}

// newMarker makes the policies of all ports; nil where they mark nothing.
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
		if m.policies[p] == nil {
			return nil, nil
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
			Waiting: waiting, InLane: int(out.waiting), Credits: int(out.credits + d.crossed[d.ov(port, 0)+v.Out-int32(r.Output())*int32(d.vcs)]),
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
