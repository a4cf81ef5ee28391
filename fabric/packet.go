package fabric

import (
	"math"

	"github.com/weft-sim/weft/fabric/topology"
)

// PartedSink is a sink with parts, of which each hears of what reaches some terminals,
// on one thread at a time.
type PartedSink interface {
	Sink
	Part() Sink
}

// Kept is a source, or a workload, whose state can be written.
type Kept interface {
	// AppendState appends all that it is going to depend on, beside its settings and seed;
	// RestoreState, before the first cycle, makes a new one of the same settings and seed go
	// on from there. What cannot be a state gives an error. The form is only for the same
	// build.
	AppendState(b []byte) []byte
	RestoreState(b []byte) error
}

// Source supplies the packets that terminals send.
type Source interface {
	// Next hands over the next packet of terminal t, if it is born in cycle
	// until or before: it fills in spec, all of it. Otherwise it returns false,
	// and spec.Birth is the cycle in which the next one will be born; [Never] if
	// that is not known, and then the source calls [core.Fabric.Wake] when it has one.
	// Packets of a terminal are handed over in order of birth. (A spec that is
	// returned is copied in pieces of 16 bytes, for which the processor waits
	// until all that it has written before is in the cache.)
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
	// VCs makes the packet a multicast one: the set of virtual channels that
	// it may travel on, all the way. MLID then takes the place of Dst.
	VCs  uint32
	MLID int32
	// Level is the packet's class of service, 0 to 15, and Entropy what its sender chooses a
	// path by: a routing that declares Needs.Packets is told.
	Level   uint8
	Entropy uint16
}

// Sink is told of every packet that arrives whole.
type Sink interface {
	// Deliver must not keep d.
	Deliver(d *Delivery)
}

// Delivery describes a packet that has arrived. Cycles are points in time:
// the packet's latency is Cycle - Birth.
type Delivery struct {
	Src, Dst   topology.TerminalID
	Birth      int64 // cycle
	Inject     int64 // cycle in which the head entered the channel
	Cycle      int64 // cycle in which the tail arrived
	Hops       int   // switches crossed, at most 255
	Flits      int32
	NonMinimal bool
	Multicast  bool // a copy of a multicast packet
	Marked     bool // by a port on its way
	Trimmed    bool // by a switch: Flits is 1
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
