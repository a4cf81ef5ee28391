package core

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/wheel"
)

// hardware is a network and what it keeps.
type hardware struct {
	network
	state
}

// state is all that switches, channels and terminals keep, in arrays that domains share: an element
// belongs to the domain of the switch or terminal that indexes it, and no other touches it. (The
// routing may read more; see [fabric.RemoteReader].)
type state struct {
	Queues    []InVC // by queue
	OutVC     []outVC
	Out       []OutPort  // by port, then by terminal
	in        []inPort   // by port
	Masks     []masks    // by queue / 64
	seconds   []int32    // by queue: place in the pool of the flit behind the front, if there is one
	came      []arrival  // by queue: the last head that came behind other flits
	waitNext  []int32    // by queue: next packet that waits for the same port, + 1
	acceptOV  []int32    // by queue: round-robin pointer over local output virtual channels
	Upcoming  []upcoming // by queue; nil unless stages overlap
	Terminals []terminal
	packets   *packetTable
	labels    *PacketRecords[label] // nil: packets have none
	// Of the source in a network with faults; nil: without.
	SourcePackets *sourcePacketTable
	streams       []sim.Stream          // routing decisions, by switch
	departures    []sim.Stream          // streams of a Departer, by terminal
	sensing       *sensing              // nil: off
	crossed       []int32               // flits behind the crossbar, by output virtual channel of the decision; nil without Needs.Crossed
	marked        []uint32              // packets that the port has marked, by port; nil: nobody asks
	lanes         []lanePort            // by port; nil: no arbitration between lanes
	laneQueues    []laneQueues          // by terminal; nil: terminals send in order of birth
	allocators    []allocator.Allocator // by switch; nil: iSLIP or input-first, played out in domains
}

func (s *state) byLane(t int32) bool { return s.laneQueues != nil && s.laneQueues[t].arbitrated }

// Packet is the record of a packet in the network.
func (s *state) Packet(id int32) *Packet { return s.packets.records.At(id) }

// packetTable holds the packets in the network. Its domains share it.
type packetTable struct {
	recordIDs
	records PacketRecords[Packet]
	inflows PacketRecords[inflow] // where packets are the unit
}

// FlitsSent is the flits sent on all virtual channels of a channel (numbered as state.out), as
// counted so far, modulo 2^32.
func (h *hardware) FlitsSent(channel int32) (flits uint32) {
	ovs := h.OutVC[int(channel)*h.vcs:][:h.vcs]
	for i := range ovs {
		flits += ovs[i].Flits
	}
	return flits
}

// stateBytes is the memory that records of queues, ports and terminals take.
func (s *state) stateBytes() int {
	return len(s.Queues)*int(unsafe.Sizeof(InVC{})) + len(s.OutVC)*int(unsafe.Sizeof(outVC{})) +
		len(s.Out)*int(unsafe.Sizeof(OutPort{})) + len(s.Terminals)*int(unsafe.Sizeof(terminal{}))
}

// largeState, which tests change, is the bytes of state from which a fabric prefetches: more than
// one core's caches hold.
var largeState = 1 << 20

func newUpcoming(n *network, queues int) []upcoming {
	if !n.Config.Switch.Overlaps() {
		return nil
	}
	list := make([]upcoming, queues)
	for q := range list {
		list[q].out = -1
	}
	return list
}

// newAllocators makes the allocators of all switches; nil for iSLIP and input-first, which
// allocateSwitch plays out itself, on the records of ports. Where a port has several inputs of the
// crossbar, these are the allocator's ports.
func newAllocators(n *network) ([]allocator.Allocator, error) {
	chosen := &n.Config.Switch.Allocator
	name := chosen.Name()
	inputs := n.Config.Switch.InputSpeedup
	if (name == allocator.ISLIP || name == allocator.InputFirst) && inputs == 1 && !neverTuned {
		return nil, nil
	}
	if most := int(n.mostPorts) * inputs; most > math.MaxUint16 {
		return nil, &param.ParamError{Key: "switch.input_speedup", Value: inputs, Want: fmt.Sprintf("at most %d: a switch has %d ports, and %d inputs of a crossbar are the most", math.MaxUint16/n.mostPorts, n.mostPorts, math.MaxUint16)}
	}
	bySwitch := make([]allocator.Allocator, len(n.Switches))
	for s := range n.Switches {
		env := allocator.Env{Ports: max(1, int(n.Switches[s].Ports)) * inputs, VCs: n.vcs, Iterations: n.Config.Switch.Iterations, Switch: s, Seed: n.seed}
		var err error
		if bySwitch[s], err = chosen.Build(env); err != nil {
			return nil, err
		}
	}
	return bySwitch, nil
}

// neverTuned, which tests set, has registered allocators do what allocateSwitch can.
var neverTuned bool

// holds says which ports of switches are held, under switch.hold: from the grant of a packet's head
// until its tail has crossed, nobody else crosses by its input or output port, on any virtual
// channel. Packets on a channel are then whole, one after the other.
//
// Allocators see heads only. The flits behind a head cross as they come, one a step, unasked.
type holds struct {
	ports  []heldPort
	bodies []Request
}

// multicast is what replication needs beside the state of queues and outputs.
//
// A multicast packet stays in its queue until the last of its branches has left: each branch reads
// it at its own pace, gets an output virtual channel with room for the whole packet (virtual
// cut-through), in turn with other queues, and holds it to its tail. In one step of the switch core
// an input port reads one flit; all branches that can use it take it together. A flit's slot is
// freed, and its credit sent, when every branch has read it. An output port that both unicast and
// multicast packets want serves them in turn.
//
// Multicast packets keep to the virtual channels that their sender names (the
// service level), and are not counted by [fabric.View.Waiting].
type multicast struct {
	tables []fabric.MulticastTable // by switch
	under  []int32                 // by queue: replication of the packet at its front, + 1; 0: none
	work   []replication
	idle   []int32
	turn   []int32 // by switch: local queue behind the one served first in the last step
	grant  []int32 // by port: local queue behind the one that was given a virtual channel last
	prefer []bool  // by port: multicast packets are next

	mine        []uint32 // queues of the present switch with a multicast packet in front
	served      bool     // some of them sent a flit in this step
	bids        []bid    // by local port
	wanted      []uint32 // ports with a bid
	usedInputs  []bool   // by local port, in this step
	usedOutputs []bool
	usedList    []uint32 // of both, for clearing: input<<16 | output

	asleep []uint64 // by mask word, where packets are the unit: queues that bid again when something changes at their switch
}

// replication is a packet on its way out of a queue.
type replication struct {
	flits    int32
	freed    int32 // flits that have left the queue
	heads    int32 // branches without a virtual channel
	branches []branch
	pass     pass // under switch.hold
}

// branch is a copy of a packet on its way to an output port.
type branch struct {
	output uint32 // local port
	lov    int32  // local output virtual channel held; -1: none yet
	sent   int32  // flits
}

// Under switch.hold an input reads a multicast packet from head to tail, for all outputs that it is
// granted in the same step: a pass. It holds its input and these outputs until the tail has
// crossed; every flit goes to all of them at once. An output takes part if a virtual channel and
// the buffer behind the crossbar have room for the whole packet, so no output holds up the others.
// The other outputs get later passes; slots are freed, and credits sent, in the last. A packet
// without branches is read, and dropped, in one pass.

// pass is a replication's present pass. Its branches have a virtual channel; earlier passes'
// branches are gone.
type pass struct {
	on      bool
	granted uint32 // step
	crossed int32  // flits
}

// bid is the branch that an output port gives a virtual channel next.
type bid struct {
	local    uint32
	branch   uint32
	lov      int32
	distance int32 // from the port's round-robin pointer
}

// registered is the memory that switch allocation by registered allocators works in.
type registered struct {
	reads    allocator.Traits
	requests []allocator.Request
	matches  []int
	chosen   []Request
}

// behind ends the waiting of flits that have crossed their switch: when their channel takes them
// or, with [fabric.Needs].HeldSlots, when their credit is sent. Only for readers of occupancy.
//
// Most flits leave within a cycle or two: they go to plain lists, only the others to a wheel.
type behind struct {
	soon  [soonCycles][]int32 // by cycle modulo soonCycles: output virtual channels of the decisions
	until *wheel.Wheel[int32] // the same, later cycles
	slots bool                // until credits are let go
}

const soonCycles = 4
