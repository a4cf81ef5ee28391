package core

import (
	"math/bits"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// terminal is the sending side of an end point. It has one packet under way,
// whose flits leave one after the other on one virtual channel. 32 bytes.
type terminal struct {
	wake    int64 // cycle of the pending wake; Never if none
	packet  int32 `snap:"-"` // being sent; -1: none
	dst     int32
	left    int32  // flits still to be sent
	born    uint32 // cycle of the packet's birth, modulo 2^32
	state   uint32 // routing's state of the packet
	allowed uint16 // virtual channels that it may leave on; 0: not asked yet
	vc      int8   // of the packet, or of the last one
	flags   terminalFlags
}

type terminalFlags uint8

const (
	blocked terminalFlags = 1 << iota // waits for a credit
	begun                             // the packet's head has left
)

// Attach connects the end points: where packets come from and who hears of
// their arrival. It starts every terminal and must be called once, before the
// first cycle; a second call, and a source of another number of terminals, are
// errors.
func (f *Fabric) Attach(source fabric.Source, sink fabric.Sink) error {
	if err := f.ready(source); err != nil {
		return err
	}
	f.start(source, func(*domain) fabric.Sink { return sink })
	return nil
}

// start connects every domain to the source and to a sink of its own, and starts the
// terminals.
func (f *Fabric) start(source fabric.Source, sinkOf func(*domain) fabric.Sink) {
	f.source = source
	for _, d := range f.domains {
		d.source, d.sink = source, sinkOf(d)
		if f.observer != nil {
			d.observer = f.observer.part(d)
		}
		if f.faults != nil {
			f.faulty(d)
		}
		if f.multicast != nil && !d.alone {
			d.multicast = f.multicast.of()
		}
		d.prefetcher, _ = d.source.(prefetcher)
		d.listens, _ = d.source.(fabric.DepartureListener)
	}
	f.follow()
	for _, d := range f.domains {
		if d.unit != nil {
			d.unit.timed = d.unit.timesHolds(d)
		}
		d.routesAhead, d.plain = d.mayRouteAhead(), d.requestsPlainly()
		d.vcSpecial = d.upcoming != nil || d.storeForward || d.escape != nil || d.multicast != nil
	}
	for t := range f.terminals {
		f.terminals[t] = terminal{wake: fabric.Never, packet: -1, vc: int8(f.vcs) - 1}
		f.Wake(topology.TerminalID(t))
	}
	f.openFlitRuns()
}

// prefetcher is implemented by sources that can be told which terminals are
// about to be served.
type prefetcher interface{ Prefetch(terminals []int32) }

// Wake tells an idle terminal that its source may have a packet. Waking a busy
// one does no harm. Where a kernel drives the fabric, which may have passed over many
// cycles, WakeAt is told the present one.
func (f *Fabric) Wake(t topology.TerminalID) { f.owner(t).wakeUp(t, 0) }

// WakeAt is Wake for a packet that is born in that cycle.
func (f *Fabric) WakeAt(t topology.TerminalID, cycle int64) { f.owner(t).wakeUp(t, cycle) }

// wakeUp is [Fabric.WakeAt] for a terminal of d.
func (d *domain) wakeUp(t topology.TerminalID, cycle int64) {
	te := &d.terminals[t]
	if te.packet < 0 {
		d.wakeAt(int32(t), te, max(cycle, d.cycle+1))
	}
}

func (d *domain) wakeAt(t int32, te *terminal, cycle int64) {
	if cycle < te.wake {
		te.wake = cycle
		*d.wakes.Place(cycle) = t
	}
}

// serveTerminals serves the terminals that are due in cycle c and those that
// got the credit that they waited for.
func (d *domain) serveTerminals(c int64) {
	if len(d.woken) == 0 && d.wakes.Skip(c) {
		return
	}
	d.serveDue(c)
	for _, t := range d.woken {
		if te := &d.terminals[t]; te.packet < 0 || te.wake == fabric.Never { // otherwise served just now
			d.serve(t, te, c)
		}
	}
	d.woken = d.woken[:0]
}

// serveDue serves the terminals that are due in cycle c.
func (d *domain) serveDue(c int64) {
	for batch := d.wakes.Next(c); batch != nil; batch = d.wakes.Next(c) {
		if d.large {
			d.prefetchTerminals(batch)
		}
		for _, t := range batch {
			te := &d.terminals[t]
			if te.wake == c { // otherwise superseded by an earlier wake
				te.wake = fabric.Never
				d.serve(t, te, c)
			}
		}
	}
}

// prepare has the routing decide about the packet that terminal t sends next; false: it
// does not enter its channel in this cycle. The terminal wakes for either.
func (d *domain) prepare(t int32, te *terminal, c int64) bool {
	free := wholeCycle(d.out[d.terminalOut0+t].nextFree)
	if te.packet < 0 {
		if free > c+d.lead {
			d.wakeAt(t, te, free-d.lead)
			return false
		}
		if !d.fetch(t, te, c+d.lead) {
			return false
		}
	}
	if te.allowed == 0 {
		te.allowed, te.state = d.depart(t, te.dst, d.labelOf(te.packet))
	}
	waited := int64(uint32(c) - te.born)
	enters := max(free, c-waited+int64(d.config.Terminal.InjectionCycles))
	if enters > c {
		d.wakeAt(t, te, enters)
	}
	return enters <= c
}

// succeed takes terminal t's next packet as the tail of the one before leaves. Where
// terminals decide ahead it is decided a cycle before it can follow.
func (d *domain) succeed(t int32, te *terminal, o *outPort) {
	next := wholeCycle(o.nextFree)
	if !d.fetch(t, te, next) {
		return
	}
	if d.lead > 0 && te.allowed == 0 {
		if decided := next - d.lead; decided > d.cycle {
			next = decided
		} else if d.departing {
			te.allowed, te.state = d.depart(t, te.dst, d.labelOf(te.packet))
		}
	}
	d.wakeAt(t, te, next)
}

// serve sends terminal t's next flit, if it has one and a credit for it.
func (d *domain) serve(t int32, te *terminal, c int64) {
	if d.departing && (te.packet < 0 || te.flags&begun == 0) && !d.byLane(t) && !d.prepare(t, te, c) {
		return
	}
	if d.unit != nil {
		d.unit.serve(d, t, te, c)
		return
	}
	o := &d.out[d.terminalOut0+t]
	if te.packet < 0 && (d.busy(t, te, o, c) || !d.fetch(t, te, c)) {
		return
	}
	if d.laneQueues != nil && te.flags&begun != 0 && d.busy(t, te, o, c) { // woken for a packet that is born now
		return
	}
	ovs := d.outVC[d.terminalOV(topology.TerminalID(t), 0):][:d.vcs]
	flags := int32(0)
	if te.flags&begun == 0 {
		vc, ok := d.injectionVC(t, te, ovs)
		if !ok {
			te.flags |= blocked
			return
		}
		te.vc = vc
		te.flags |= begun
		flags = headFlit
		d.packet(te.packet).wait = uint32(c) - te.born // written only: the record is no longer in the cache
		if d.observer != nil {
			d.observer.injects(d, t)
		}
	} else if ovs[te.vc].credits == 0 {
		te.flags |= blocked
		return
	}
	ovs[te.vc].credits--
	ovs[te.vc].flits++
	if check.On {
		d.checkCredits(d.terminalOV(topology.TerminalID(t), int(te.vc)))
	}
	if te.left--; te.left == 0 {
		flags |= tailFlit
		if d.observer != nil {
			d.observer.injected(d, t)
		}
	}
	*d.flits[toSwitches].Place(c + d.latency(o)) = flit{queue: o.dest + int32(te.vc), packet: te.packet<<packetBits | flags, dst: te.dst, state: te.state}
	d.InjectedFlits++
	if wholeCycle(o.nextFree) < c { // idle since; otherwise the fraction is carried on
		o.nextFree = c << intervalShift
	}
	o.nextFree += d.pace(o).interval
	if d.flitRuns != nil && te.left > fewestFlits {
		d.flitRuns.leave(d, t, te, o)
	}
	if te.left > 0 {
		d.wakeAt(t, te, wholeCycle(o.nextFree))
		return
	}
	te.packet = -1
	d.succeed(t, te, o)
}

// busy tells whether terminal t, which has been woken, has a channel that is still busy
// with the flit before; it is woken again as the channel is free.
func (d *domain) busy(t int32, te *terminal, o *outPort, c int64) bool {
	free := wholeCycle(o.nextFree)
	if free > c {
		d.wakeAt(t, te, free)
	}
	return free > c
}

// fetch takes terminal t's next packet from the source, if it can enter the
// channel by cycle c; otherwise it arranges for a wake when it can.
func (d *domain) fetch(t int32, te *terminal, c int64) bool {
	if d.laneQueues != nil && d.byLane(t) {
		return d.fetchByLane(t, te)
	}
	delay := int64(d.config.Terminal.InjectionCycles)
	spec := &d.spec
	if !d.source.Next(topology.TerminalID(t), c-delay, spec) {
		if spec.Birth < fabric.Never {
			d.wakeAt(t, te, max(spec.Birth+delay-d.lead, d.cycle+1))
		}
		return false
	}
	d.begin(t, te, spec)
	return true
}

// begin makes a packet of terminal t, the one that it sends next.
func (d *domain) begin(t int32, te *terminal, spec *fabric.PacketSpec) {
	id := d.takePacket()
	p := d.packet(id)
	p.birth, p.src, p.flits, p.tag = spec.Birth, topology.TerminalID(t), spec.Flits, spec.Tag
	if d.labels != nil {
		*d.labels.open(id) = label{level: spec.Level, entropy: spec.Entropy}
	}
	te.packet, te.dst, te.left, te.born, te.flags = id, int32(spec.Dst), spec.Flits, uint32(spec.Birth), 0
	te.state, te.allowed = 0, uint16(d.injection)
	if spec.VCs != 0 {
		te.dst, te.state, te.allowed = ^spec.MLID, spec.VCs, uint16(spec.VCs)
	}
}

// injectionVC chooses a virtual channel for a new packet: the next in round
// robin, among those allowed, that has a credit (cut-through: credits for the
// whole packet).
func (d *domain) injectionVC(t int32, te *terminal, ovs []outVC) (int8, bool) {
	need := int32(1)
	if d.cutThrough {
		need = te.left
	}
	if te.allowed == 0 {
		te.allowed, te.state = d.depart(t, te.dst, d.labelOf(te.packet))
	}
	// Twice the set: the second copy begins behind the last channel.
	set := uint64(te.allowed) | uint64(te.allowed)<<d.vcs
	for set &^= 2<<te.vc - 1; set != 0; set &= set - 1 {
		vc := int8(bits.TrailingZeros64(set))
		if vc >= int8(d.vcs) {
			vc -= int8(d.vcs)
		}
		if ovs[vc].credits >= need {
			return vc, true
		}
	}
	return 0, false
}

// depart asks the routing about a packet of terminal t: where it may leave, and the
// routing's state of it.
func (d *domain) depart(t, dst int32, l label) (allowed uint16, state uint32) {
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

// creditTerminal serves a terminal that waited for a credit.
func (d *domain) creditTerminal(ov int32) {
	t := (ov - d.terminalOV0) / int32(d.vcs)
	if te := &d.terminals[t]; te.flags&blocked != 0 {
		te.flags &^= blocked
		d.woken = append(d.woken, t)
	}
}

// releaseCopy ends a copy of a multicast packet, and with the last one the packet. Copies
// are counted by whatever domain they are in. The count cannot come to nothing too early:
// a copy is counted while it is copied, and its own copies before they go on.
func (d *domain) releaseCopy(id int32) {
	p := d.packet(id)
	if atomic.AddInt32(&p.copies, -1) < 0 {
		p.copies = 0
		d.freePacket(id)
	}
}

// deliver takes a flit that has reached its terminal.
func (d *domain) deliver(e *flit) {
	d.DeliveredFlits++
	id := e.packet >> packetBits
	if e.packet&tailFlit == 0 {
		if e.packet&headFlit != 0 && e.state&fabric.NonMinimal != 0 && e.dst >= 0 {
			d.packet(id).wait |= wentAround
		}
		return
	}
	d.Packets++
	p := d.packet(id)
	if d.unit != nil {
		d.DeliveredFlits += int64(p.flits - 1)
	}
	delivery := &d.delivery
	delivery.Src, delivery.Dst, delivery.Flits, delivery.Tag = p.src, topology.TerminalID(^e.queue), p.flits, p.tag
	delivery.Birth, delivery.Inject, delivery.Cycle = p.birth, p.birth+int64(p.wait&^wentAround), d.cycle
	delivery.Hops, delivery.NonMinimal = int(e.state>>hopShift), e.state&fabric.NonMinimal|p.wait&wentAround != 0
	delivery.Multicast = e.dst < 0
	if d.labels != nil {
		l := d.labels.at(id)
		delivery.Marked, delivery.Trimmed = l.marked, l.trim == trimDone
	}
	if delivery.Multicast {
		d.releaseCopy(id)
	} else {
		d.freePacket(id)
	}
	if topology.TerminalID(e.dst) != delivery.Dst && !delivery.Multicast {
		d.misdelivered(delivery, topology.TerminalID(e.dst))
	}
	if d.observer != nil {
		d.observer.delivered(d, id, delivery)
	}
	d.sink.Deliver(delivery)
}
