package core

import (
	"sync/atomic"
	"unsafe"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/wheel"
)

// serveTerminals serves the terminals due in cycle c, and those that got an awaited credit.
func (d *Domain) serveTerminals(c int64) {
	if len(d.woken) == 0 && d.wakes.Skip(c) {
		return
	}
	d.serveDue(c)
	for _, t := range d.woken {
		if te := &d.Terminals[t]; te.Packet < 0 || te.wake == fabric.Never { // otherwise served just now
			d.serve(d, t, te, c)
		}
	}
	d.woken = d.woken[:0]
}

// departAhead serves the terminals due in cycle c before anything arrives.
func (d *Domain) departAhead(c int64) {
	d.departing = true
	d.serveDue(c)
	d.departing = false
}

// serveDue serves the terminals that are due in cycle c.
func (d *Domain) serveDue(c int64) {
	for batch := d.wakes.Next(c); batch != nil; batch = d.wakes.Next(c) {
		if d.large {
			d.prefetchTerminals(batch)
		}
		for _, t := range batch {
			te := check.At(d.Terminals, uint32(t))
			if te.wake == c { // otherwise superseded by an earlier wake
				te.wake = fabric.Never
				if d.departing && (te.Packet < 0 || te.flags&begun == 0) && !d.byLane(t) && !d.prepare(t, te, c) {
					continue
				}
				d.serve(d, t, te, c)
			}
		}
	}
}

// prepare has the routing decide about terminal t's next packet. It tells whether that enters its
// channel in this cycle; if not, the terminal wakes when it can.
func (d *Domain) prepare(t int32, te *terminal, c int64) bool {
	free := WholeCycle(d.Out[d.TerminalOut0+t].NextFree)
	if te.Packet < 0 {
		if free > c+d.lead {
			d.wakeAt(t, te, free-d.lead)
			return false
		}
		if !d.fetch(t, te, c+d.lead) {
			return false
		}
	}
	if te.allowed == 0 {
		te.allowed, te.state = d.depart(t, te.Dst, d.labelOf(te.Packet))
	}
	waited := int64(uint32(c) - te.born)
	enters := max(free, c-waited+int64(d.Config.Terminal.InjectionCycles))
	if enters > c {
		d.wakeAt(t, te, enters)
	}
	return enters <= c
}

// succeed takes terminal t's next packet as the last one's tail leaves. Terminals that decide ahead
// do so a cycle before it can follow.
func (d *Domain) succeed(t int32, te *terminal, o *OutPort) {
	next := WholeCycle(o.NextFree)
	if !d.fetch(t, te, next) {
		return
	}
	if d.lead > 0 && te.allowed == 0 {
		if decided := next - d.lead; decided > d.Cycle {
			next = decided
		} else if d.departing {
			te.allowed, te.state = d.depart(t, te.Dst, d.labelOf(te.Packet))
		}
	}
	d.wakeAt(t, te, next)
}

// sendFlit sends terminal t's next flit, if it has one and a credit for it.
func (d *Domain) sendFlit(t int32, te *terminal, c int64) {
	o := check.At(d.Out, uint32(d.TerminalOut0+t))
	if te.Packet < 0 && (d.busy(t, te, o, c) || !d.fetch(t, te, c)) {
		return
	}
	if d.laneQueues != nil && te.flags&begun != 0 && d.busy(t, te, o, c) { // woken for a packet that is born now
		return
	}
	ovs, flags := d.injectionOVs(t), int32(0)
	if te.flags&begun == 0 {
		vc, ok := d.injectionVC(t, te, ovs)
		if !ok {
			te.flags |= blocked
			return
		}
		te.VC = vc
		te.flags |= begun
		flags = HeadFlit
		d.Packet(te.Packet).Wait = uint32(c) - te.born // written only: the record is no longer in the cache
		if d.observer != nil {
			d.observer.Injects(d, t)
		}
	}
	ov := ovs.At(uint32(te.VC))
	if ov.credits == 0 {
		te.flags |= blocked
		return
	}
	ov.credits--
	ov.Flits++
	if check.On {
		d.checkCredits(d.terminalOV(topology.TerminalID(t), int(te.VC)))
	}
	if te.left--; te.left == 0 {
		flags |= TailFlit
		if d.observer != nil {
			d.observer.Injected(d, t)
		}
	}
	pace := d.Pace(o)
	e := d.Flits[toSwitches].Place(c + int64(pace.latency))
	e.Queue, e.Packet, e.dst, e.State = o.dest+int32(te.VC), te.Packet<<PacketBits|flags, te.Dst, te.state
	d.InjectedFlits++
	if WholeCycle(o.NextFree) < c { // idle since; otherwise the fraction is carried on
		o.NextFree = c << IntervalShift
	}
	o.NextFree += pace.Interval
	if te.left > 0 {
		d.wakeAt(t, te, WholeCycle(o.NextFree))
		return
	}
	te.Packet = -1
	d.succeed(t, te, o)
}

// fetch takes terminal t's next packet from the source if it can enter the channel by cycle c, or
// arranges a wake.
func (d *Domain) fetch(t int32, te *terminal, c int64) bool {
	if d.laneQueues != nil && d.byLane(t) {
		return d.fetchByLane(t, te)
	}
	delay := int64(d.Config.Terminal.InjectionCycles)
	spec := &d.spec
	if !d.source.Next(topology.TerminalID(t), c-delay, spec) {
		if spec.Birth < fabric.Never {
			d.wakeAt(t, te, max(spec.Birth+delay-d.lead, d.Cycle+1))
		}
		return false
	}
	d.begin(t, te, spec)
	return true
}

// sendPacket sends terminal t's next packet, if there is one with room, or takes the next as the
// last one's tail leaves.
func (d *Domain) sendPacket(t int32, te *terminal, c int64) {
	u, o := d.Unit, &d.Out[d.TerminalOut0+t]
	if te.Packet >= 0 && te.flags&begun != 0 {
		if tail := WholeCycle(o.NextFree - d.Pace(o).Interval); tail > c { // woken for a packet that is born now
			d.wakeAt(t, te, tail)
			return
		}
		u.sent(d, t, te, o)
		return
	}
	if te.Packet < 0 && (d.busy(t, te, o, c) || !d.fetch(t, te, c)) {
		return
	}
	ovs := d.injectionOVs(t)
	if shortOf(ovs, 1<<d.vcs-1, te.left) != 0 {
		u.room(d, d.TerminalOut0+t, 1<<d.vcs-1, te.left)
	}
	vc, ok := d.injectionVC(t, te, ovs)
	if !ok {
		te.flags |= blocked
		return
	}
	te.VC = vc
	te.flags |= begun
	n := te.left
	d.Packet(te.Packet).Wait = uint32(c) - te.born
	if d.observer != nil {
		d.observer.Injects(d, t)
	}
	ov := ovs.At(uint32(vc))
	ov.credits -= n
	ov.Flits += uint32(n)
	d.InjectedFlits += int64(n)
	if WholeCycle(o.NextFree) < c { // idle since
		o.NextFree = c << IntervalShift
	}
	pace := d.Pace(o)
	tail, latency := WholeCycle(o.NextFree+int64(n-1)*pace.Interval), int64(pace.latency)
	p := d.inflow(te.Packet) // field by field: see cross
	p.head, p.tail, p.flits, p.pace, p.slow = o.NextFree+latency<<IntervalShift, tail+latency, n, pace.slope, pace.slope
	e := d.Flits[toSwitches].Place(c + latency)
	e.Queue, e.Packet, e.dst, e.State = o.dest+int32(vc), te.Packet<<PacketBits|HeadFlit|TailFlit, te.Dst, te.state
	o.NextFree += int64(n) * pace.Interval
	if n == 1 {
		u.sent(d, t, te, o)
	} else {
		d.wakeAt(t, te, tail)
	}
}

// sent has terminal t, whose packet's tail leaves, take its next one.
func (u *packetUnit) sent(d *Domain, t int32, te *terminal, o *OutPort) {
	if d.observer != nil {
		d.observer.Injected(d, t)
	}
	te.Packet, te.flags = -1, 0
	d.succeed(t, te, o)
}

// prefetchTerminals asks for the sending side of some terminals.
func (d *Domain) prefetchTerminals(batch []int32) {
	n := len(batch)
	mem.PrefetchEach(&batch[0], n, 4, unsafe.Pointer(&d.Terminals[0]), unsafe.Sizeof(terminal{}))
	mem.PrefetchEach(&batch[0], n, 4, unsafe.Pointer(&d.Out[d.TerminalOut0]), unsafe.Sizeof(OutPort{}))
	mem.PrefetchEach(&batch[0], n, 4, unsafe.Pointer(&d.OutVC[d.terminalOV0]), uintptr(d.vcs)*unsafe.Sizeof(outVC{}))
	if d.prefetcher != nil {
		d.prefetcher.Prefetch(batch)
	}
}

// listen is who hears of packets at a domain's terminals: its sink, and its source if a Responder.
func (d *Domain) listen(ends fabric.Ends) fabric.Sink {
	r, ok := ends.Source.(fabric.Responder)
	if !ok {
		return ends.Sink
	}
	d.listener = &listener{d, r, ends.Sink.(Recorder), wheel.New[int32](1024)}
	return d.listener
}

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

func (l *listener) Now() int64 { return l.domain.Cycle }

func (l *listener) Wake(t topology.TerminalID) { l.domain.wakeUp(t, 0) }

func (l *listener) AlarmAt(t topology.TerminalID, cycle int64) {
	*l.alarms.Place(max(cycle, l.domain.Cycle+1)) = int32(t)
}

func (l *listener) InjectionCycles() int64 {
	return max(1, int64(l.domain.Config.Terminal.InjectionCycles))
}

func (l *listener) CyclesPerFlit(t topology.TerminalID) float64 {
	return l.domain.cyclesPerFlit(&l.domain.Out[l.domain.TerminalOut0+int32(t)])
}

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
			atomic.OrUint32(&d.Packet(id).Wait, WentAround) // its tail may be entering the network, and an observer be reading
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
		d.misuse("delivered a packet from terminal %d for %d to %d", delivery.Src, e.dst, delivery.Dst)
	}
	if d.observer != nil {
		d.observer.Delivered(d, id, delivery)
	}
	d.sink.Deliver(delivery)
}
