package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/check"
)

// This file holds the state of the simulated hardware and all of its index
// arithmetic:
//
//   - A queue is the buffer of an input virtual channel. The queues of a switch
//     are numbered consecutively, port by port, from a multiple of 64, so that
//     a queue's number names its bit in the switch's masks.
//   - An output virtual channel (ov) is numbered port*vcs + vc over all switch
//     ports, then terminal by terminal for the channels that they inject into.

// Flit is a flit on a channel, and the event of its arrival: 16 bytes, which is
// what the speed of the simulator hangs on.
type Flit struct {
	Queue  int32  // queue that it arrives in, or ^t for terminal t
	Packet int32  `snap:"-"` // packet<<2 | tail<<1 | head
	dst    int32  // destination terminal, or ^MLID
	State  uint32 // routing's state in the low 24 bits, switches crossed above; of multicast packets the virtual channels allowed
}

const (
	HeadFlit   = 1
	TailFlit   = 2
	PacketBits = 2
	HopShift   = fabric.StateBits
	MaxHops    = 255 // that a flit counts by itself; see [Packet]
)

// Queued is a flit in a queue.
type Queued struct {
	Packet int32 `snap:"-"` // as in flit
	dst    int32
	State  uint32
	Hop    uint32 // routing's decision for its packet: local port<<16 | virtual channels
}

// InVC is a queue: its front flit by value, the rest in the pool. 32 bytes.
type InVC struct {
	Queued        // the front; valid while count > 0, but for hop, which a packet's body goes by, too
	Last   int32  // last flit in the pool, whose next is the second flit of the queue
	Count  int32  // flits in the queue
	Out    int32  // local output virtual channel held by the packet at the front; -1: none yet
	Ready  uint32 // step of the switch core from which the present stage may act
}

// buffered is a flit behind the front of a queue.
type buffered struct {
	Next int32
	Queued
}

// outVC is an output virtual channel. 16 bytes.
type outVC struct {
	credits int32
	owner   int32  // queue whose packet holds it; ^queue of the last one if free
	waiting int32  // flits routed to it that have not left the switch; kept with Needs.Queues only
	Flits   uint32 // sent since the counters were last collected
}

// OutPort is the sending end of a channel. 32 bytes.
type OutPort struct {
	NextFree int64  // when the channel is free, in cycles << intervalShift
	until    int64  // last step in which a packet crosses to it, where they know; -1: none yet
	dest     int32  `snap:"-"` // queue of virtual channel 0 at the far end, or ^t
	waiters  int32  // queue + 1 of the first packet waiting for a virtual channel
	free     uint16 // virtual channels that no packet holds
	grant    uint16 // round-robin pointer over local input ports
	pace     uint16 `snap:"-"` // of network.paces
	Bounded  uint8  `snap:"-"` // 1: to a switch; 0: to a terminal, which takes every flit, or returns its credit without delay
	wheel    uint8  `snap:"-"` // of domain.flits, for what is sent
}

// pace is how fast channels of one kind take flits, and how long these are under way. Times
// are in cycles << intervalShift.
type pace struct {
	Interval int64 // time of a flit on the channel
	window   int64 // how far ahead of the clock outPort.nextFree may be for one more flit to join those behind the crossbar
	travel   int64 // from when a flit leaves until its latency has passed, to be cut to whole cycles
	latency  int32 // cycles
	slope    uint8 // interval in packetUnit.slopes
}

// inPort is the receiving end of a channel. 32 bytes.
type inPort struct {
	nextCredit int64  // when the next credit may leave, in cycles << intervalShift
	until      int64  // last step in which a packet crosses from it, where they know; -1: none yet
	upstream   int32  `snap:"-"` // ov of virtual channel 0 at the sending end
	delay      int32  `snap:"-"` // cycles that a credit takes back, processing included
	accept     uint16 // round-robin pointer over local output ports
	vc         uint16 // round-robin pointer over virtual channels
	wheel      uint8  `snap:"-"` // of domain.credits, for what is sent
	by         uint8  // virtual channel that the packet of until comes from
}

// Round-robin pointers stand one behind the last choice. They are not wrapped
// around: n means 0.

// SwitchState locates what a switch owns of the network's state.
type SwitchState struct {
	masks  []masks
	queues check.Array[InVC]
	outVCs check.Array[outVC]
	outs   check.Array[OutPort]
	ins    check.Array[inPort]
	Queue0 int32 // number of the first queue, a multiple of 64
	Port0  int32
	Ports  int32
}

// What follows finds a switch's records by their local numbers, without checks of
// bounds but in the checked build: the allocators would spend a fifth of their
// instructions on them. Numbers come from masks and from decisions that route has checked.

func (sw *SwitchState) Queue(local uint32) *InVC      { return sw.queues.At(local) }
func (sw *SwitchState) outVC(lov uint32) *outVC       { return sw.outVCs.At(lov) }
func (sw *SwitchState) OutPort(local uint32) *OutPort { return sw.outs.At(local) }
func (sw *SwitchState) inPort(local uint32) *inPort   { return sw.ins.At(local) }

// mask is the mask word of a queue; its bit there is 1<<(local&63).
func (sw *SwitchState) mask(local uint32) *masks { return check.At(sw.masks, local>>6) }

// masks says which of 64 queues have something to do.
type masks struct {
	route uint64 // a packet has arrived that has not been routed
	va    uint64 // the packet at the front wants an output virtual channel
	sa    uint64 // the flit at the front wants the crossbar and has a credit
	next  uint64 // as sa, but from the next step on

	// Where stages overlap: a packet waits behind the front, and it is in a list of those that
	// wait for a virtual channel.
	second, asleep uint64
}

// Packet is what the end points need to know of a packet; switches do not
// touch it, but for its size under cut-through and what they count in more. 32 bytes.
type Packet struct {
	Birth int64  // cycle
	tag   uint64 `snap:"-"` // the source's own
	Wait  uint32 // cycles from birth until the head entered the network, below 2^31, and wentAround
	Src   topology.TerminalID
	Flits int32
	more  int32 // of a multicast packet, copies in the network beside the first; else switches crossed beyond MaxHops, by the tail
}

// WentAround marks in packet.wait that the head, which alone is routed, came by a
// non-minimal path, for when the tail comes.
const WentAround = 1 << 31

// hardware is a network and what it keeps.
type hardware struct {
	network
	state
}

// state is all that the hardware keeps, switches, channels and terminals, in arrays
// that the domains of a network share: an element belongs to the domain of the switch
// or terminal that it is indexed by, and no other touches it. (The routing may read
// more; see [fabric.RemoteReader].)
type state struct {
	Queues    []InVC // by queue
	OutVC     []outVC
	Out       []OutPort  // by port, then by terminal
	in        []inPort   // by port
	Masks     []masks    // by queue / 64
	waitNext  []int32    // by queue: next packet that waits for the same port, + 1
	acceptOV  []int32    // by queue: round-robin pointer over local output virtual channels
	Upcoming  []upcoming // by queue; nil unless stages overlap
	Terminals []terminal
	packets   *packetTable
	labels    *PacketRecords[label] // nil: packets have none
	// Of the source in a network with faults; nil: without.
	SourcePackets *sourcePacketTable
	streams       []sim.Stream          // routing decisions, by switch
	departures    []sim.Stream          // those of a Departer, by terminal
	sensing       *sensing              // nil: off
	crossed       []int32               // flits behind the crossbar, by output virtual channel of the decision; nil without Needs.Crossed
	marked        []uint32              // packets that the port has marked, by port; nil: nobody asks
	lanes         []lanePort            // by port; nil: no arbitration between lanes
	laneQueues    []laneQueues          // by terminal; nil: terminals send in order of birth
	allocators    []allocator.Allocator // by switch; nil: iSLIP or input-first, played out in domains
}
