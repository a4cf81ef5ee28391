package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/wheel"
)

// listen is who hears of packets that reach a domain's terminals: the sink of its ends, and their source
// if that is a Responder.
func (d *Domain) listen(ends fabric.Ends) fabric.Sink {
	r, ok := ends.Source.(fabric.Responder)
	if !ok {
		return ends.Sink
	}
	d.listener = &listener{d, r, ends.Sink.(Recorder), wheel.New[int32](1024)}
	return d.listener
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

// deliver takes a flit that has reached its terminal.
func (d *Domain) deliver(e *Flit) {
	d.DeliveredFlits++
	id := e.Packet >> PacketBits
	if e.Packet&TailFlit == 0 {
		if e.Packet&HeadFlit != 0 && e.State&fabric.NonMinimal != 0 && e.dst >= 0 {
			d.Packet(id).Wait |= WentAround
		}
		return
	}
	d.Packets++
	p := d.Packet(id)
	if d.Unit != nil {
		d.DeliveredFlits += int64(p.Flits - 1)
	}
	delivery := &d.delivery
	delivery.Src, delivery.Dst, delivery.Flits, delivery.Tag = p.Src, topology.TerminalID(^e.Queue), p.Flits, p.tag
	delivery.Birth, delivery.Inject, delivery.Cycle = p.Birth, p.Birth+int64(p.Wait&^WentAround), d.Cycle
	delivery.Hops, delivery.NonMinimal = int(e.State>>HopShift), e.State&fabric.NonMinimal|p.Wait&WentAround != 0
	delivery.Multicast = e.dst < 0
	if d.labels != nil {
		delivery.Marked = d.labels.At(id).marked
	}
	if delivery.Multicast {
		d.releaseCopy(id)
	} else {
		delivery.Hops += int(p.more)
		d.freePacket(id)
	}
	if topology.TerminalID(e.dst) != delivery.Dst && !delivery.Multicast {
		d.misdelivered(delivery, topology.TerminalID(e.dst))
	}
	if d.observer != nil {
		d.observer.Delivered(d, id, delivery)
	}
	d.sink.Deliver(delivery)
}
