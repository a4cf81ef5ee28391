package core

import (
	"math"
	"slices"
	"unsafe"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/wheel"
)

// packetUnit makes the packet the unit of the simulation: the same switches,
// decisions and allocators, with the same state, as for flits under switch.hold. The
// queues hold packets, each standing for its head. When a head is granted the
// crossbar, the times of all of its packet's flits follow ([Domain.crossPackets]), as
// nothing comes between them:
//
//   - the head arrives at the next switch: an event there, as for flits;
//   - the tail crosses: an event here, which releases input, output and virtual
//     channel and brings the next packet to the front;
//   - credits go back: one event at the sender for the first of them, which hands
//     over a [flitSchedule] for all.
//
// A head that cannot bid is asleep, in a list of what it waits for, until that
// happens: a switch is visited when something can.
//
// Times of decisions are whole cycles, those of channels have the binary digits
// behind the cycle that flits have. Where these do not divide the clock, a flit of the
// middle of a packet is up to a cycle off for every hop, heads and tails are as for
// flits but for that.
type packetUnit struct {
	slopes     []int64 // of schedules: by pace, then those below
	creditRate uint8   // slope of what is stored on the credits' wires
	stepRate   uint8   // slope of what is stored in the core
	step       int     // of the present cycle, while a switch is evaluated
	tails      int     // that are still to cross in the present cycle at the switch that is evaluated
	timed      bool    // ports are held up to a step
	swept      int64   // cycle of the last sweep, where they are

	credits []portCredits // by port, then by terminal
	streams []streams     // by mask word
	flows   [][]flow      // by port; nil unless watched
	quiet   []int64       // likewise: nothing of a port moves before this cycle

	Followed *followed // nil without observers

	schedules [16]*wheel.Wheel[flitSchedule] // as Fabric.credits
	events    *wheel.Wheel[event]
}

// event is what happens at a queue or a port. 12 bytes.
type event struct {
	number int32 // of the queue, or of the port as of Fabric.out
	port   int32 // that a tail crosses to
	kind   eventKind
}

type eventKind uint8

const (
	tailCrosses eventKind = iota // of the packet at the front of a queue
	queueWakes                   // what it waits for has happened by itself
	creditsCome                  // to a port: those that somebody waits for
)

// at files an event.
func (u *packetUnit) at(cycle int64, kind eventKind, number, port int32) {
	*u.events.Place(cycle) = event{number, port, kind}
}

// portCredits is the credits that are coming back to the sending end of a channel, in a
// cache line.
type portCredits struct {
	flitSchedule
	roomAt int64 // cycle of the next creditsCome; Never: none
}

// streams says which of 64 queues have a packet whose head has crossed and whose tail
// has not, and whose tail crosses in this cycle.
type streams struct{ under, tail uint64 }

// inflow is how a packet comes in by its present channel: flit i arrives in the first
// cycle that begins at head + i*slope(pace) or at tail - (flits-1-i)*slope(slow) or
// later. 32 bytes.
type inflow struct {
	head  int64 // cycles << intervalShift
	tail  int64 // cycle
	flits int32
	pace  uint8 // of the channel
	slow  uint8 // of the channel that the tail has been late from
}

// inflow is how a packet comes in.
func (d *Domain) inflow(id int32) *inflow { return d.packets.inflows.At(id) }

// flitsOf is the length of a packet.
func (d *Domain) flitsOf(id int32) int32 {
	if d.Unit != nil {
		return d.inflow(id).flits
	}
	return d.Packet(id).Flits
}

// EndsPacket tells whether the front of a queue is the last flit of its packet; of packets
// as the unit it is the head.
func (d *Domain) EndsPacket(packet int32) bool {
	return packet&TailFlit != 0 && (d.Unit == nil || d.inflow(packet>>PacketBits).flits == 1)
}

// newPacketUnit makes what f needs beyond its state for flits.
func newPacketUnit(f *Fabric) *packetUnit {
	u := &packetUnit{
		credits: make([]portCredits, len(f.Out)), streams: make([]streams, len(f.Masks)),
	}
	for i := range u.credits {
		u.credits[i].ov, u.credits[i].roomAt = -1, fabric.Never
	}
	for i, p := range f.paces {
		like := slices.IndexFunc(f.paces[:i], func(q pace) bool { return q.Interval == p.Interval && q.window == p.window })
		if like < 0 {
			f.paces[i].slope = u.slope(p.Interval)
		} else {
			f.paces[i].slope = f.paces[like].slope
		}
	}
	s := &f.Config.Switch
	u.stepRate = u.slope(int64(math.Ceil((1 << IntervalShift) / s.Speedup)))
	u.creditRate = u.stepRate
	if float64(s.CreditsPerCycle) < s.Speedup && s.CreditsPerCycle > 0 {
		u.creditRate = u.slope(f.creditInterval)
	}
	if f.watched {
		u.flows, u.quiet = make([][]flow, len(f.in)), make([]int64, len(f.in))
		few := mem.HugePages(make([]flow, fewFlows*len(f.in)))
		for p := range u.flows {
			u.flows[p], few = few[:0:fewFlows], few[fewFlows:]
		}
	}
	return u
}

// slope adds a slope.
func (u *packetUnit) slope(every int64) uint8 {
	u.slopes = append(u.slopes, every)
	return uint8(len(u.slopes) - 1)
}

// of is u for a domain, which has wheels of its own: the records of ports and queues are
// those of all.
func (u *packetUnit) of() *packetUnit {
	own := *u
	return &own
}

// makeWheels gives the unit of one of the domains of f empty wheels.
func (u *packetUnit) makeWheels(f *Fabric) {
	u.schedules[0], u.events = wheel.New[flitSchedule](f.horizon), wheel.New[event](f.horizon)
	if domains := len(f.tasks); domains > 1 {
		for i := range domains {
			u.schedules[1+i] = wheel.New[flitSchedule](f.horizon + f.lookahead)
		}
	}
}

// reach is how far ahead packets are filed beyond what flits are: as long as a buffer
// full of flits takes a channel, within reason.
func (u *packetUnit) reach(f *Fabric) int64 {
	const reason = 4096
	longest := int64(0)
	for _, p := range f.paces {
		longest = max(longest, p.Interval)
	}
	return min(reason, int64(f.buffer)*longest>>IntervalShift)
}

// sendPacket sends terminal t's next packet, if it has one and room for it, or, when the
// tail of the last one leaves, takes the next.
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
	ovs := d.OutVC[d.terminalOV(topology.TerminalID(t), 0):][:d.vcs]
	if shortOf(check.Of(ovs), 1<<d.vcs-1, te.left) != 0 {
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
	ovs[vc].credits -= n
	ovs[vc].Flits += uint32(n)
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

// sent has terminal t, the tail of whose packet leaves, take the next one.
func (u *packetUnit) sent(d *Domain, t int32, te *terminal, o *OutPort) {
	if d.observer != nil {
		d.observer.Injected(d, t)
	}
	te.Packet, te.flags = -1, 0
	d.succeed(t, te, o)
}

// prefetchTails asks for what the tails of a cycle are going to touch.
func (u *packetUnit) prefetchTails(d *Domain, batch []event) {
	n, size := len(batch), unsafe.Sizeof(event{})
	mem.PrefetchEach(&batch[0].number, n, size, unsafe.Pointer(&d.Queues[0]), unsafe.Sizeof(InVC{}))
	if u.timed { // they do not let go of anything
		return
	}
	if d.watched {
		for i := range batch {
			if e := &batch[i]; e.kind == tailCrosses {
				u.prefetchFlowsOf(e.port)
			}
		}
	}
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&d.Out[0]), unsafe.Sizeof(OutPort{}))
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&d.OutVC[0]), uintptr(d.vcs)*unsafe.Sizeof(outVC{}))
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&d.hold.ports[0]), unsafe.Sizeof(heldPort{}))
}

// prefetchFlows asks for what a look at some ports is going to touch.
func (u *packetUnit) prefetchFlows(d *Domain, first, count int32) {
	for port := first; port < first+count; port++ {
		if d.watched && d.Cycle >= u.quiet[port] {
			u.prefetchFlowsOf(port)
			mem.Prefetch(unsafe.Pointer(&u.credits[port]))
		}
	}
}

// prefetchFlowsOf asks for the first of the flows of a port.
func (u *packetUnit) prefetchFlowsOf(port int32) {
	mem.PrefetchRow(unsafe.Pointer(unsafe.SliceData(u.flows[port])))
}

// prefetchCredits asks for what the credits of a cycle are going to touch.
func (u *packetUnit) prefetchCredits(d *Domain, batch []flitSchedule) {
	n, size := len(batch), unsafe.Sizeof(flitSchedule{})
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&u.credits[0]), unsafe.Sizeof(portCredits{}))
	mem.PrefetchEach(&batch[0].port, n, size, unsafe.Pointer(&d.Out[0]), unsafe.Sizeof(OutPort{}))
	mem.PrefetchEach(&batch[0].ov, n, size, unsafe.Pointer(&d.OutVC[0]), unsafe.Sizeof(outVC{}))
}

// prefetchInflows asks for the records of packets whose heads arrive.
func (d *Domain) prefetchInflows(batch []Flit) {
	for i := range batch {
		mem.Prefetch(unsafe.Pointer(d.inflow(batch[i].Packet >> PacketBits)))
	}
}

// prefetchHolds asks for what tells whether the ports of heads that have been routed are
// held.
func (u *packetUnit) prefetchHolds(d *Domain, sw *SwitchState, inputs, outputs []int32) {
	n, held := len(outputs), unsafe.Pointer(&d.hold.ports[sw.Port0])
	mem.PrefetchEach(&outputs[0], n, 4, held, unsafe.Sizeof(heldPort{}))
	mem.PrefetchEach(&inputs[0], n, 4, held, unsafe.Sizeof(heldPort{}))
}
