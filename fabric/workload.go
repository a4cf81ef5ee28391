package fabric

import (
	"math"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Workload is what the terminals send in a run that is measured ([measure.Run]):
// an [core.OpenLoop], or programs that answer what they hear (a [Responder]; package
// fabric/terminal has them). What belongs to a terminal may be touched by the
// calls that are about that terminal only: several threads make them at the same
// time. Stop, Behind, BehindBy and the state are asked for between cycles.
type Workload interface {
	Source
	// Terminals is the number of terminals that the workload is for.
	Terminals() int
	// Closed tells that packets are born only because others arrive: there is no offered load, and
	// nothing falls behind.
	Closed() bool
	// Stop ends births at cycle c: packets born then or later, waiting or not, are not sent.
	Stop(c int64)
	// Behind tells whether something begun before cycle c waits to be sent, or for an answer.
	Behind(c int64) bool
	// BehindBy is how far the terminals are behind their work at cycle now, in cycles: it grows
	// without bound if they fall further and further behind. 0 for a closed workload.
	BehindBy(now int64) float64
	// Archiver archives all that the future depends on, beside settings and seed. A new workload of
	// the same settings and seed reads it, before the first cycle.
	snapshot.Archiver
}

// Responder is a workload that hears of arrivals and of time.
type Responder interface {
	Workload
	// Sink is told of a packet on the thread of the terminal that it has reached.
	Sink
	// Start is called once, before the first cycle. engine(t) is what simulates terminal t.
	Start(engine func(t topology.TerminalID) Engine)
	// Alarm is called in a cycle for which t has set an alarm, behind all arrivals of the cycle.
	Alarm(t topology.TerminalID)
	// Measures names what the workload notes ([Engine.Note]).
	Measures() []string
}

// LossListener is a [Responder] that may bear losses: it is told of packets given up. Others run
// only without losses.
type LossListener interface {
	Responder
	// BearsLosses tells whether it does.
	BearsLosses() bool
	// Lost tells that a packet of terminal t, as it was sent, is not going to be delivered: it was
	// dropped, or there was no path, and it is not sent again. Packets of a terminal that are lost
	// at one time are told of in order of birth, then of tags. Real senders find out by timers.
	Lost(t topology.TerminalID, spec *PacketSpec)
}

// BearsLosses tells whether a workload can run with losses. One that hears of nothing can.
func BearsLosses(w Workload) bool {
	if l, ok := w.(LossListener); ok {
		return l.BearsLosses()
	}
	_, hears := w.(Responder)
	return !hears
}

// Engine is what a [Responder] sees of the fabric that simulates a terminal.
type Engine interface {
	// Now is the present cycle; -1 before the first.
	Now() int64
	// Wake says that terminal t has a packet to send.
	Wake(t topology.TerminalID)
	// AlarmAt asks for an alarm in a cycle, the next one at the earliest; it cannot be taken back.
	AlarmAt(t topology.TerminalID, cycle int64)
	// CyclesPerFlit is how long a flit occupies the channel out of terminal t.
	CyclesPerFlit(t topology.TerminalID) float64
	// InjectionCycles is the least time from a packet's birth in an alarm until its head enters the channel.
	InjectionCycles() int64
	// Note enters a time in cycles, or a value, into measure i of [Responder.Measures], if what it
	// is about began in the window.
	Note(i int, began, cycles int64)
}

// Prefetcher is a source that is told which terminals are served next, to ask for their state's
// memory.
type Prefetcher interface{ Prefetch(terminals []int32) }

// Host is what a network is attached to ([core.Fabric.Attach]).
type Host interface {
	// Part is what the terminals of a domain are attached to. It is called once for each domain, in
	// order. Calls about one domain's terminals come from one thread at a time, about different
	// domains' from several, also for shared ends.
	Part(domain int) Ends
}

// Ends are where terminals' packets come from, and who hears of those that arrive. By themselves
// they are a Host, shared by all domains.
type Ends struct {
	Source Source
	Sink   Sink
}

// Part implements [Host].
func (e Ends) Part(int) Ends { return e }

// Source supplies the packets that terminals send.
type Source interface {
	// Next hands over the next packet of terminal t, if it is born in cycle until or before: it
	// fills in spec, all of it. Otherwise it returns false, and spec.Birth is the cycle in which
	// the next one will be born; [Never] if that is not known, and then the source calls
	// [core.Fabric.Wake] when it has one. Packets of a terminal are handed over in order of birth.
	// (A spec that is returned is copied in pieces of 16 bytes, for which the processor waits until
	// all that it has written before is in the cache.)
	Next(t topology.TerminalID, until int64, spec *PacketSpec) bool
}

// Never is a cycle beyond every run.
const Never int64 = math.MaxInt64 / 4

// PacketSpec describes a packet to be sent.
type PacketSpec struct {
	Birth int64 // cycle; latency counts from here
	Dst   topology.TerminalID
	Flits int32
	Tag   uint64 // comes back with the delivery
	// VCs makes the packet a multicast one: the virtual channels that it may travel on, all the
	// way. MLID replaces Dst.
	VCs  uint32
	MLID int32
	// Level is the packet's class of service, 0 to 15, Entropy its sender's choice of a path: for
	// routings that declare Needs.Packets.
	Level   uint8
	Entropy uint16
}

// Sink is told of every packet that arrives whole.
type Sink interface {
	// Deliver must not keep d.
	Deliver(d *Delivery)
}

// Delivery describes an arrived packet. Cycles are points in time: the latency is Cycle - Birth.
type Delivery struct {
	Src, Dst   topology.TerminalID
	Birth      int64 // cycle
	Inject     int64 // cycle in which the head entered the channel
	Cycle      int64 // cycle in which the tail arrived
	Hops       int   // switches crossed; by a copy of a multicast packet, 255 at most
	Flits      int32
	NonMinimal bool
	Multicast  bool // a copy of a multicast packet
	Marked     bool // by a port on its way
	Tag        uint64
}

// DepartureListener is implemented by sources that want to hear when packets enter the
// network from terminals that queue them by lane ([core.Fabric.TerminalTables]): such
// terminals take packets from their source as these are born. From others, that is when
// Next hands a packet over, and nobody is told.
type DepartureListener interface {
	// Departed tells that the packet of terminal t with a tag begins to leave.
	Departed(t topology.TerminalID, tag uint64)
}
