package core

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/marking"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Open makes room for the numbers of the places.
func (r *Rows) Open() { r.Before = make([]uint32, len(r.Places)) }

// AddTo adds row i to the sum of all domains.
func (r *Rows) AddTo(all []uint32, i int) {
	for k, n := range r.All[i] {
		all[r.Places[k]] += n
	}
}

// ArchiveRows archives the sums of all domains, of so many places.
func ArchiveRows(a *snapshot.Archive, parts []*Rows, places int) {
	n := len(parts[0].All)
	snapshot.Int(a, &n)
	all := make([]uint32, places)
	for i := -1; i < n && a.Err() == nil; i++ {
		each := func(do func(ofAll, own *uint32)) {
			for _, p := range parts {
				row := p.Before
				if i >= 0 {
					row = p.All[i]
				}
				for k := range row {
					do(&all[p.Places[k]], &row[k])
				}
			}
		}
		if a.Reading() && i >= 0 {
			for _, p := range parts {
				p.All = append(p.All, make([]uint32, len(p.Places)))
			}
		}
		each(func(ofAll, own *uint32) { *ofAll = *own })
		snapshot.Array(a, "places in a row", all, snapshot.Int)
		each(func(ofAll, own *uint32) { *own = *ofAll })
	}
}

// newProbes makes the settings' probes, which stand behind the observer of marks.
func (f *Fabric) newProbes() error {
	for i := range f.Config.Probes {
		plan := &f.Config.Probes[i]
		for _, port := range plan.Ports {
			if int(port) < 0 || int(port) >= f.graph.NumPorts() {
				return &param.ParamError{Key: "probe.ports", Value: int(port), Want: fmt.Sprintf("a port of a switch, 0 to %d", f.graph.NumPorts()-1)}
			}
		}
		p := &sampler{f: f, plan: plan}
		f.probes = append(f.probes, p)
		f.Observe(p)
	}
	return nil
}

// ProbeWithin has probes sample in a window of cycles, which may be told when it has come. Call it
// before the network is divided.
func (f *Fabric) ProbeWithin(window func() (from, to int64)) {
	for _, p := range f.probes {
		p.window = window
	}
}

// RestartProbes forgets what probes have seen, between cycles: their window begins anew.
func (f *Fabric) RestartProbes() {
	for _, p := range f.probes {
		for _, part := range p.parts {
			part.rows.All = nil
		}
	}
}

// Samples are what the probes of the settings have seen so far, in their order.
func (f *Fabric) Samples() []*fabric.Samples {
	all := lists.Make(len(f.probes), func(i int) *fabric.Samples { return f.probes[i].samples() })
	return all
}

func (p *sampler) samples() *fabric.Samples {
	s := &fabric.Samples{Probe: p.plan, Rows: make([][]uint32, len(p.rows.All))}
	if p.window != nil {
		s.First, _ = p.window()
	}
	for i := range s.Rows {
		s.Rows[i] = make([]uint32, p.width())
		for _, part := range p.parts {
			part.rows.AddTo(s.Rows[i], i)
		}
	}
	return s
}

func (p *sampler) width() int { return len(p.plan.Quantities) * len(p.plan.Ports) }

func (p *sampler) Part(d *Domain) Observer {
	part := p
	if len(p.parts) > 0 {
		part = &sampler{f: p.f, plan: p.plan, window: p.window}
	}
	p.parts = append(p.parts, part)
	for q := range p.plan.Quantities {
		for i, port := range p.plan.Ports {
			if p.f.domainAt(int32(p.f.graph.PortSwitch[port])) != d {
				continue
			}
			part.rows.Places = append(part.rows.Places, int32(q*len(p.plan.Ports)+i))
			if q == 0 {
				part.own = append(part.own, port)
			}
		}
	}
	part.rows.Open()
	return part
}

// Next implements observer: a sample is taken in its very cycle, in which what moves can be told.
func (p *sampler) Next() int64 {
	if p.window == nil {
		return fabric.Never
	}
	from, to := p.window()
	if at := from + int64(len(p.rows.All))*p.plan.Interval; at < to {
		return at
	}
	return fabric.Never
}

func (p *sampler) Begins(d *Domain) {
	if d.Cycle != p.Next() {
		return
	}
	row := make([]uint32, 0, len(p.rows.Places))
	for _, q := range p.plan.Quantities {
		for _, port := range p.own {
			if d.Unit != nil {
				d.Unit.lookBefore(d, int32(port))
			}
			n := d.sample(q, port)
			if counts := q == fabric.Sent || q == fabric.Marked; counts {
				before := &p.rows.Before[len(row)]
				n, *before = n-*before, n
				if len(p.rows.All) == 0 {
					n = 0
				}
			}
			row = append(row, n)
		}
	}
	p.rows.All = append(p.rows.All, row)
}

// Archive implements observer: the samples of all ports, whichever domains they belong to.
func (p *sampler) Archive(x *Archiver) {
	x.Mark("probe")
	parts := make([]*Rows, len(p.parts))
	for i, part := range p.parts {
		parts[i] = &part.rows
	}
	ArchiveRows(x.Archive, parts, p.width())
}

func (v *view) CyclesPerFlit(p topology.PortID) float64 { return v.d.cyclesPerFlit(&v.d.Out[p]) }

func (v *view) Sent(p topology.PortID) uint32 {
	if !v.d.needs.Sent {
		v.d.misuse("reads what has been sent and does not declare it: fabric.Needs has Sent")
	}
	v.look(p)
	return v.d.sample(fabric.Sent, p)
}

func (v *view) Marked(p topology.PortID) uint32 {
	if !v.d.needs.Marked {
		v.d.misuse("reads what has been marked and does not declare it: fabric.Needs has Marked")
	}
	if v.d.marked == nil {
		return 0
	}
	return v.d.marked[p]
}

// sample is what is known of a port as a cycle begins; counts are of all before, modulo 2^32.
func (d *Domain) sample(q fabric.Quantity, port topology.PortID) (n uint32) {
	waiting, outstanding := d.load(port)
	switch q {
	case fabric.Waiting:
		return uint32(waiting)
	case fabric.Outstanding:
		return uint32(outstanding)
	case fabric.Sent: // what has crossed, but for what has not left
		n = d.FlitsSent(int32(port))
		if d.Unit != nil {
			return n - d.Unit.stillHere(int32(port))
		}
		for _, behind := range d.crossed[d.ov(port, 0):][:d.vcs] {
			n -= uint32(behind)
		}
	case fabric.Marked:
		return d.marked[port]
	}
	return n
}

// lookBefore brings up to date what is known of a port as a cycle begins.
func (u *packetUnit) lookBefore(d *Domain, port int32) {
	begins := d.Cycle << IntervalShift
	if r := &u.credits[port]; r.ov >= 0 {
		d.OutVC[r.ov].credits += r.take(u, begins)
		if r.done == r.flits {
			r.ov = -1
		}
	}
	if d.watched {
		u.count(d, port, begins, begins, begins+1<<IntervalShift)
	}
}

// stillHere is the flits, of packets whose heads have crossed to a port, that have not left by it.
func (u *packetUnit) stillHere(port int32) (flits uint32) {
	for i := range u.flows[port] {
		if w := &u.flows[port][i]; w.kind == leaving {
			flits += uint32(w.flits - w.done)
		}
	}
	return flits
}

// marker has a network's ports mark packets: an observer of heads that cross, which changes labels
// only.
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

func (m *marker) Archive(x *Archiver) {
	x.Mark("marking")
	for _, p := range m.policies {
		p.Archive(x.Archive)
	}
}
