package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// listen is the sink of a domain in a run: a meter, and the workload if it is a
// Responder.
func (d *domain) listen(w fabric.Workload, m *Meter) fabric.Sink {
	r, ok := w.(fabric.Responder)
	if !ok {
		return m
	}
	d.listener = &listener{d, r, m, sim.NewWheel[int32](1024)}
	return d.listener
}

// listener stands between a domain and a workload that hears of arrivals, once they
// have been measured, and of time.
type listener struct {
	domain   *domain
	workload fabric.Responder
	meter    *Meter
	alarms   *sim.Wheel[int32] // terminal
}

// Deliver implements [fabric.Sink].
func (l *listener) Deliver(d *fabric.Delivery) {
	l.meter.Deliver(d)
	l.workload.Deliver(d)
}

// lost tells the workload of a packet that is given up.
func (l *listener) lost(t topology.TerminalID, spec *fabric.PacketSpec) {
	if w, ok := l.workload.(fabric.LossListener); ok && w.BearsLosses() {
		w.Lost(t, spec)
	}
}

// Now implements [fabric.Engine].
func (l *listener) Now() int64 { return l.domain.cycle }

// Wake implements [fabric.Engine].
func (l *listener) Wake(t topology.TerminalID) { l.domain.wakeUp(t, 0) }

// AlarmAt implements [fabric.Engine].
func (l *listener) AlarmAt(t topology.TerminalID, cycle int64) {
	*l.alarms.Place(max(cycle, l.domain.cycle+1)) = int32(t)
}

// CyclesPerFlit implements [fabric.Engine].
func (l *listener) CyclesPerFlit(t topology.TerminalID) float64 {
	return l.domain.cyclesPerFlit(&l.domain.out[l.domain.terminalOut0+int32(t)])
}

// Note implements [fabric.Engine].
func (l *listener) Note(i int, began, cycles int64) { l.meter.note(i, began, cycles) }

// ring gives the alarms of cycle c.
func (l *listener) ring(c int64) {
	for batch := l.alarms.Next(c); batch != nil; batch = l.alarms.Next(c) {
		for _, t := range batch {
			l.workload.Alarm(topology.TerminalID(t))
		}
	}
}
