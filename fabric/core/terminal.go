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
	Packet  int32 `snap:"-"` // being sent; -1: none
	Dst     int32
	left    int32  // flits still to be sent
	born    uint32 // cycle of the packet's birth, modulo 2^32
	state   uint32 // routing's state of the packet
	allowed uint16 // virtual channels that it may leave on; 0: not asked yet
	VC      int8   // of the packet, or of the last one
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
// errors. Of a network that is divided among threads ([Fabric.DivideFor]), several make the calls
// of source and sink that are about different terminals, those of a [fabric.PartedSink] to parts of it.
func (f *Fabric) Attach(source fabric.Source, sink fabric.Sink) error {
	if err := f.CheckSource(source); err != nil {
		return err
	}
	if f.hostModel, _ = source.(HostModel); f.hostModel != nil {
		f.lookahead = min(f.lookahead, f.hostModel.Window())
	}
	f.open(source, func(int, *Domain) (fabric.Source, fabric.Sink) {
		if parted, ok := sink.(fabric.PartedSink); ok {
			return source, parted.Part()
		}
		return source, sink
	})
	return nil
}

// Wake tells an idle terminal that its source may have a packet. Waking a busy
// one does no harm. Where a kernel drives the fabric, which may have passed over many
// cycles, WakeAt is told the present one.
func (f *Fabric) Wake(t topology.TerminalID) { f.WakeAt(t, 0) }

// WakeAt is Wake for a packet that is born in that cycle. When a network is attached all terminals wake.
func (f *Fabric) WakeAt(t topology.TerminalID, cycle int64) {
	if f.source != nil {
		f.owner(t).wakeUp(t, cycle)
	}
}

// wakeUp is [Fabric.WakeAt] for a terminal of d.
func (d *Domain) wakeUp(t topology.TerminalID, cycle int64) {
	te := &d.Terminals[t]
	if te.Packet < 0 {
		d.wakeAt(int32(t), te, max(cycle, d.Cycle+1))
	}
}

func (d *Domain) wakeAt(t int32, te *terminal, cycle int64) {
	if cycle < te.wake {
		te.wake = cycle
		*d.wakes.Place(cycle) = t
	}
}

// serveTerminals serves the terminals that are due in cycle c and those that
// got the credit that they waited for.
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

// departAhead serves the terminals that are due in cycle c before anything arrives.
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
			te := &d.Terminals[t]
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

// prepare has the routing decide about the packet that terminal t sends next; false: it
// does not enter its channel in this cycle. The terminal wakes for either.
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

// succeed takes terminal t's next packet as the tail of the one before leaves. Where
// terminals decide ahead it is decided a cycle before it can follow.
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
	o := &d.Out[d.TerminalOut0+t]
	if te.Packet < 0 && (d.busy(t, te, o, c) || !d.fetch(t, te, c)) {
		return
	}
	if d.laneQueues != nil && te.flags&begun != 0 && d.busy(t, te, o, c) { // woken for a packet that is born now
		return
	}
	ovs := d.OutVC[d.terminalOV(topology.TerminalID(t), 0):][:d.vcs]
	flags := int32(0)
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
	} else if ovs[te.VC].credits == 0 {
		te.flags |= blocked
		return
	}
	ovs[te.VC].credits--
	ovs[te.VC].Flits++
	if check.On {
		d.checkCredits(d.terminalOV(topology.TerminalID(t), int(te.VC)))
	}
	if te.left--; te.left == 0 {
		flags |= TailFlit
		if d.observer != nil {
			d.observer.Injected(d, t)
		}
	}
	*d.Flits[toSwitches].Place(c + d.Latency(o)) = Flit{Queue: o.dest + int32(te.VC), Packet: te.Packet<<PacketBits | flags, dst: te.Dst, State: te.state}
	d.InjectedFlits++
	if WholeCycle(o.NextFree) < c { // idle since; otherwise the fraction is carried on
		o.NextFree = c << IntervalShift
	}
	o.NextFree += d.Pace(o).Interval
	if te.left > 0 {
		d.wakeAt(t, te, WholeCycle(o.NextFree))
		return
	}
	te.Packet = -1
	d.succeed(t, te, o)
}

// busy tells whether terminal t, which has been woken, has a channel that is still busy
// with the flit before; it is woken again as the channel is free.
func (d *Domain) busy(t int32, te *terminal, o *OutPort, c int64) bool {
	free := WholeCycle(o.NextFree)
	if free > c {
		d.wakeAt(t, te, free)
	}
	return free > c
}

// fetch takes terminal t's next packet from the source, if it can enter the
// channel by cycle c; otherwise it arranges for a wake when it can.
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

// begin makes a packet of terminal t, the one that it sends next.
func (d *Domain) begin(t int32, te *terminal, spec *fabric.PacketSpec) {
	id := d.takePacket()
	p := d.Packet(id)
	p.Birth, p.Src, p.Flits, p.tag, p.more = spec.Birth, topology.TerminalID(t), spec.Flits, spec.Tag, 0
	if d.labels != nil {
		*d.labels.Open(id) = label{level: spec.Level, entropy: spec.Entropy}
	}
	te.Packet, te.Dst, te.left, te.born, te.flags = id, int32(spec.Dst), spec.Flits, uint32(spec.Birth), 0
	te.state, te.allowed = 0, uint16(d.injection)
	if spec.VCs != 0 {
		te.Dst, te.state, te.allowed = ^spec.MLID, spec.VCs, uint16(spec.VCs)
	}
}

// injectionVC chooses a virtual channel for a new packet: the next in round
// robin, among those allowed, that has a credit (cut-through: credits for the
// whole packet).
func (d *Domain) injectionVC(t int32, te *terminal, ovs []outVC) (int8, bool) {
	need := int32(1)
	if d.cutThrough {
		need = te.left
	}
	if te.allowed == 0 {
		te.allowed, te.state = d.depart(t, te.Dst, d.labelOf(te.Packet))
	}
	// Twice the set: the second copy begins behind the last channel.
	set := uint64(te.allowed) | uint64(te.allowed)<<d.vcs
	for set &^= 2<<te.VC - 1; set != 0; set &= set - 1 {
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
func (d *Domain) depart(t, dst int32, l label) (allowed uint16, state uint32) {
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
func (d *Domain) creditTerminal(ov int32) {
	t := (ov - d.terminalOV0) / int32(d.vcs)
	if te := &d.Terminals[t]; te.flags&blocked != 0 {
		te.flags &^= blocked
		d.woken = append(d.woken, t)
	}
}

// releaseCopy ends a copy of a multicast packet, and with the last one the packet. Copies
// are counted by whatever domain they are in. The count cannot come to nothing too early:
// a copy is counted while it is copied, and its own copies before they go on.
func (d *Domain) releaseCopy(id int32) {
	p := d.Packet(id)
	if atomic.AddInt32(&p.more, -1) < 0 {
		p.more = 0
		d.freePacket(id)
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
