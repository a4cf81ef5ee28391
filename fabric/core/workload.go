package core

import (
	"cmp"
	"errors"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/wheel"
)

// Recorder is the sink of measured runs, which also takes down what workloads note.
type Recorder interface {
	fabric.Sink
	// Note enters a time of so many cycles into measure i of the workload, of something that
	// began in a cycle.
	Note(i int, began, cycles int64)
}

// listen is the sink of a domain in a run: a recorder, and the workload if it is a
// Responder.
func (d *Domain) listen(w fabric.Workload, m Recorder) fabric.Sink {
	r, ok := w.(fabric.Responder)
	if !ok {
		return m
	}
	d.listener = &listener{d, r, m, wheel.New[int32](1024)}
	return d.listener
}

// listener stands between a domain and a workload that hears of arrivals, once they
// have been measured, and of time.
type listener struct {
	domain   *Domain
	workload fabric.Responder
	recorder Recorder
	alarms   *wheel.Wheel[int32] // terminal
}

// Deliver implements [fabric.Sink].
func (l *listener) Deliver(d *fabric.Delivery) {
	l.recorder.Deliver(d)
	l.workload.Deliver(d)
}

// lost tells the workload of a packet that is given up.
func (l *listener) lost(t topology.TerminalID, spec *fabric.PacketSpec) {
	if w, ok := l.workload.(fabric.LossListener); ok && w.BearsLosses() {
		w.Lost(t, spec)
	}
}

// Now implements [fabric.Engine].
func (l *listener) Now() int64 { return l.domain.Cycle }

// Wake implements [fabric.Engine].
func (l *listener) Wake(t topology.TerminalID) { l.domain.wakeUp(t, 0) }

// AlarmAt implements [fabric.Engine].
func (l *listener) AlarmAt(t topology.TerminalID, cycle int64) {
	*l.alarms.Place(max(cycle, l.domain.Cycle+1)) = int32(t)
}

// CyclesPerFlit implements [fabric.Engine].
func (l *listener) CyclesPerFlit(t topology.TerminalID) float64 {
	return l.domain.cyclesPerFlit(&l.domain.Out[l.domain.TerminalOut0+int32(t)])
}

// Note implements [fabric.Engine].
func (l *listener) Note(i int, began, cycles int64) { l.recorder.Note(i, began, cycles) }

// ring gives the alarms of cycle c.
func (l *listener) ring(c int64) {
	for batch := l.alarms.Next(c); batch != nil; batch = l.alarms.Next(c) {
		for _, t := range batch {
			l.workload.Alarm(topology.TerminalID(t))
		}
	}
}

// Open divides f among threads, where that pays, and connects it to a workload and to a recorder
// for each domain (recorderOf is called for one after the other). worth is the number of
// terminals times cycles of a window from which a second thread is used; 0: from where it pays.
func (f *Fabric) Open(w fabric.Workload, threads int, worth int64, recorderOf func() Recorder) {
	f.split(threads, fabric.Never, cmp.Or(worth, worthThreads), nil)
	f.open(w, func(_ int, d *Domain) (fabric.Source, fabric.Sink) { return w, d.listen(w, recorderOf()) })
	if responder, ok := w.(fabric.Responder); ok {
		responder.Start(func(t topology.TerminalID) fabric.Engine { return f.owner(t).listener })
	}
}

// CheckWorkload tells why a workload cannot be connected to f; nil: it can.
func (f *Fabric) CheckWorkload(w fabric.Workload) error {
	if err := f.CheckSource(w); err != nil {
		return err
	}
	if f.Faults != nil && !fabric.BearsLosses(w) {
		return errors.New("the workload would wait for answers to packets that are lost: it is no fabric.LossListener that bears losses")
	}
	return nil
}
