package terminal

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Host runs a program on every terminal: it is the [fabric.Responder] between them and the fabric.
// It keeps what they have sent until the terminal takes it, packets of class High first, each class
// in its order, without bound: a program never waits for the network, so that answers need no
// virtual channels of their own to be free from deadlock.
type Host struct {
	ports    []Port
	measures []string
	values   []bool // by measure: it is one of values
	closed   bool
	restored bool
	silent   func(t topology.TerminalID) bool // as in Env
	clock    sim.Time
	stop     int64 // no births from this cycle on
}

// NewHost makes a program for each terminal. measures names times ([Port.Record]) and, with a unit,
// values ([Port.Sample], [Port.Count]); closed: they send only when packets arrive.
func NewHost(env Env, closed bool, measures []string, program func(t topology.TerminalID) Program) *Host {
	h := &Host{ports: make([]Port, env.Terminals), measures: measures, closed: closed, silent: env.Silent, clock: env.Clock, stop: fabric.Never}
	for _, name := range measures {
		_, unit := UnitOf(name)
		h.values = append(h.values, unit != "")
	}
	for t := range h.ports {
		p := &h.ports[t]
		p.host, p.id, p.timer = h, topology.TerminalID(t), fabric.Never
		p.program = program(p.id)
		p.sender, _ = p.program.(Sender)
	}
	return h
}

// Terminals implements [fabric.Workload], as the methods below do.
func (h *Host) Terminals() int { return len(h.ports) }

// Closed implements [fabric.Workload].
func (h *Host) Closed() bool { return h.closed }

// Measures implements [fabric.Responder].
func (h *Host) Measures() []string { return h.measures }

// Stop implements [fabric.Workload].
func (h *Host) Stop(c int64) { h.stop = c }

// Start implements [fabric.Responder].
func (h *Host) Start(engine func(t topology.TerminalID) fabric.Engine) {
	for t := range h.ports {
		p := &h.ports[t]
		p.engine = engine(p.id)
		if !h.restored {
			if h.silent == nil || !h.silent(p.id) {
				p.program.Start(p)
			}
			continue
		}
		p.engine.Wake(p.id)
		if p.timer < fabric.Never {
			p.engine.AlarmAt(p.id, p.timer)
		}
	}
}

// Next implements [fabric.Source].
func (h *Host) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	p := &h.ports[t]
	next := fabric.Never
	for class := High; ; class-- {
		if birth := p.oldest(class); birth <= until && birth < h.stop {
			q := p.waiting[class].Take()
			*spec = fabric.PacketSpec{Birth: q.birth, Dst: q.Dst, Flits: int32(q.Flits), Tag: q.Tag<<1 | uint64(class), Level: q.Level, Entropy: q.Entropy}
			p.counters.SentPackets++
			p.counters.SentFlits += int64(q.Flits)
			if p.sender != nil {
				p.sender.Departed(p, &q.Packet)
			}
			return true
		} else if birth < h.stop {
			next = min(next, birth)
		}
		if class == Low {
			spec.Birth = next
			return false
		}
	}
}

// Deliver implements [fabric.Sink].
func (h *Host) Deliver(d *fabric.Delivery) {
	p := &h.ports[d.Dst]
	p.counters.ReceivedPackets++
	p.counters.ReceivedFlits += int64(d.Flits)
	if d.Marked {
		p.counters.Marked++
	}
	p.arrival = Arrival{
		Src: d.Src, Flits: int(d.Flits), Class: Class(d.Tag & 1), Tag: d.Tag >> 1,
		Born: h.timeOf(d.Birth), Enter: h.timeOf(d.Inject), Hops: d.Hops, Marked: d.Marked,
	}
	p.program.Arrived(p, &p.arrival)
}

// BearsLosses implements [fabric.LossListener]: whether the programs do.
func (h *Host) BearsLosses() bool {
	_, bears := h.ports[0].program.(Bearer)
	return bears
}

// Lost implements [fabric.LossListener].
func (h *Host) Lost(t topology.TerminalID, spec *fabric.PacketSpec) {
	p := &h.ports[t]
	p.counters.Lost++
	p.program.(Bearer).Lost(p, &Packet{spec.Dst, int(spec.Flits), Class(spec.Tag & 1), spec.Tag >> 1, spec.Level, spec.Entropy})
}

// Alarm implements [fabric.Responder].
func (h *Host) Alarm(t topology.TerminalID) {
	p := &h.ports[t]
	if p.timer == p.engine.Now() { // otherwise it was set to another time
		p.timer = fabric.Never
		p.program.Timer(p)
	}
}

// Behind implements [fabric.Workload].
func (h *Host) Behind(c int64) bool {
	for t := range h.ports {
		p := &h.ports[t]
		if min(p.oldest(Low), p.oldest(High)) < c || p.program.Pending() < h.timeOf(c) {
			return true
		}
	}
	return false
}

// BehindBy implements [fabric.Workload]: as [measure.OpenLoop]'s, by the oldest packets that wait
// at terminals.
func (h *Host) BehindBy(now int64) float64 {
	if h.closed {
		return 0
	}
	return measure.BehindBy(len(h.ports), now, func(t int) int64 { return min(h.ports[t].oldest(Low), h.ports[t].oldest(High)) })
}

// timeOf is the time at which a cycle begins; [sim.MaxTime] beyond all times.
func (h *Host) timeOf(cycle int64) sim.Time {
	if cycle > int64(sim.MaxTime/h.clock) {
		return sim.MaxTime
	}
	return sim.Time(cycle) * h.clock
}

// Archive implements [fabric.Workload].
func (h *Host) Archive(a *snapshot.Archive) {
	h.restored = h.restored || a.Reading()
	snapshot.Array(a, "terminals", h.ports, func(a *snapshot.Archive, p *Port) {
		snapshot.Fields(a, p)
		p.program.Archive(a)
	})
}
