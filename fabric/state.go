package fabric

import (
	"math/bits"
	"unsafe"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// This file holds the state of the simulated hardware and all of its index
// arithmetic:
//
//   - A queue is the buffer of an input virtual channel. The queues of a switch
//     are numbered consecutively, port by port, from a multiple of 64, so that
//     a queue's number names its bit in the switch's masks.
//   - An output virtual channel (ov) is numbered port*vcs + vc over all switch
//     ports, then terminal by terminal for the channels that they inject into.

// flit is a flit on a channel, and the event of its arrival: 16 bytes, which is
// what the speed of the simulator hangs on.
type flit struct {
	queue  int32  // queue that it arrives in, or ^t for terminal t
	packet int32  // packet<<2 | tail<<1 | head
	dst    int32  // destination terminal, or ^MLID
	state  uint32 // routing's state in the low 24 bits, switches crossed above; of multicast packets the virtual channels allowed
}

const (
	headFlit   = 1
	tailFlit   = 2
	packetBits = 2
	hopShift   = StateBits
	maxHops    = 255
)

// queued is a flit in a queue.
type queued struct {
	packet int32 // as in flit
	dst    int32
	state  uint32
	hop    uint32 // routing's decision for its packet: local port<<16 | virtual channels
}

// inVC is a queue: its front flit by value, the rest in the pool. 32 bytes.
type inVC struct {
	queued        // the front; valid while count > 0, but for hop, which a packet's body goes by, too
	last   int32  // last flit in the pool, whose next is the second flit of the queue
	count  int32  // flits in the queue
	out    int32  // local output virtual channel held by the packet at the front; -1: none yet
	ready  uint32 // step of the switch core from which the present stage may act
}

// buffered is a flit behind the front of a queue.
type buffered struct {
	next int32
	queued
}

// outVC is an output virtual channel. 16 bytes.
type outVC struct {
	credits int32
	owner   int32  // queue whose packet holds it; ^queue of the last one if free
	waiting int32  // flits routed to it that have not left the switch; kept for OccupancyReaders only
	flits   uint32 // sent since the counters were last collected
}

// outPort is the sending end of a channel. 32 bytes.
type outPort struct {
	nextFree int64  // when the channel is free, in cycles << intervalShift
	dest     int32  // queue of virtual channel 0 at the far end, or ^t
	waiters  int32  // queue + 1 of the first packet waiting for a virtual channel
	latency  int32  // cycles
	free     uint16 // virtual channels that no packet holds
	grant    uint16 // round-robin pointer over local input ports
	pace     uint16 // of Fabric.paces
	bounded  uint8  // 1: sends take a credit; 0: a terminal takes every flit
	wheel    uint8  // of Fabric.flits, for what is sent
	passed   uint32 // blame's: measured packets that have been sent and not yet been added to its sums
}

// pace is how fast channels of one kind take flits. Times are in cycles <<
// intervalShift.
type pace struct {
	interval int64 // time of a flit on the channel
	window   int64 // how far ahead of the clock outPort.nextFree may be for one more flit to join those behind the crossbar
}

func (f *Fabric) pace(o *outPort) *pace { return of(f.paces, uint32(o.pace)) }

// inPort is the receiving end of a channel. 24 bytes.
type inPort struct {
	nextCredit int64  // when the next credit may leave, in cycles << intervalShift
	upstream   int32  // ov of virtual channel 0 at the sending end
	delay      int32  // cycles that a credit takes back, processing included
	accept     uint16 // round-robin pointer over local output ports
	vc         uint16 // round-robin pointer over virtual channels
	wheel      uint8  // of Fabric.credits, for what is sent
}

// Round-robin pointers stand one behind the last choice. They are not wrapped
// around: n means 0.

// switchState locates what a switch owns of the fabric's state.
type switchState struct {
	masks  []masks
	queues *inVC    // first queue
	outVCs *outVC   // first output virtual channel
	outs   *outPort // first port
	ins    *inPort
	queue0 int32 // number of the first queue, a multiple of 64
	port0  int32
	ports  int32
}

// What follows finds a switch's records by their local numbers. The allocators
// spend a fifth of their instructions on checks of bounds otherwise. Numbers
// come from masks and from decisions that route has checked.

func (sw *switchState) queue(local uint32) *inVC      { return at(sw.queues, local) }
func (sw *switchState) outVC(lov uint32) *outVC       { return at(sw.outVCs, lov) }
func (sw *switchState) outPort(local uint32) *outPort { return at(sw.outs, local) }
func (sw *switchState) inPort(local uint32) *inPort   { return at(sw.ins, local) }

// mask is the mask word of a queue; its bit there is 1<<(local&63).
func (sw *switchState) mask(local uint32) *masks { return of(sw.masks, local>>6) }

// at is element i of the array that begins with first.
func at[T any](first *T, i uint32) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(first), uintptr(i)*unsafe.Sizeof(*first)))
}

// of is element i of a slice, which must have it.
func of[T any](s []T, i uint32) *T { return at(unsafe.SliceData(s), i) }

// masks says which of 64 queues have something to do.
type masks struct {
	route uint64 // a packet has arrived that has not been routed
	va    uint64 // the packet at the front wants an output virtual channel
	sa    uint64 // the flit at the front wants the crossbar and has a credit
	next  uint64 // as sa, but from the next step on
}

// packet is what the end points need to know of a packet; switches do not
// touch it, but for its size under cut-through and, to replicate it, its
// copies. 32 bytes.
type packet struct {
	birth  int64  // cycle
	tag    uint64 // the source's own
	wait   uint32 // cycles from birth until the head entered the network, below 2^31, and wentAround
	src    topology.TerminalID
	flits  int32
	copies int32 // in the network, beside the first
}

// wentAround marks in packet.wait that the head, which alone is routed, came by a
// non-minimal path, for when the tail comes.
const wentAround = 1 << 31

func (f *Fabric) ov(p topology.PortID, vc int) int32 { return int32(p)*int32(f.vcs) + int32(vc) }

func (f *Fabric) terminalOV(t topology.TerminalID, vc int) int32 {
	return f.terminalOV0 + int32(t)*int32(f.vcs) + int32(vc)
}

// queueOf is the queue of virtual channel vc at input port p.
func (f *Fabric) queueOf(p topology.PortID, vc int) int32 {
	s := &f.switches[f.graph.PortSwitch[p]]
	return s.queue0 + (int32(p)-s.port0)*int32(f.vcs) + int32(vc)
}

// bufferOf is the number of flits that one virtual channel behind port p
// holds.
func (f *Fabric) bufferOf(p topology.PortID) int32 {
	if f.graph.Peer[p] < 0 {
		return unboundedCredits
	}
	return f.buffer
}

// unboundedCredits stands for a receiver that takes every flit: a terminal.
const unboundedCredits = 1 << 30

// Fabric is a network in simulation. It advances cycle by cycle with
// [Fabric.Advance], or as a clocked component of a kernel. Memory grows with
// ports*vcs and with the flits in flight, not with the depth of buffers.
type Fabric struct {
	graph   *topology.Graph
	config  Config
	routing Routing
	view    View
	vcs     int
	buffer  int32 // flits a queue holds
	cycle   int64 // cycle being simulated, or last simulated

	queues         []inVC // by queue
	outVC          []outVC
	out            []outPort // by port, then by terminal
	in             []inPort  // by port
	paces          []pace
	leastWindow    int64 // of them
	creditInterval int64 // of a credit on its wires, in cycles << intervalShift
	switches       []switchState
	masks          []masks // by queue / 64
	wordSwitch     []int32 // switch of each mask word
	waitNext       []int32 // by queue: next packet that waits for the same port, + 1
	acceptOV       []int32 // by queue: round-robin pointer over local output virtual channels
	terminalOV0    int32
	terminalOut0   int32  // a terminal's sending end is f.out[terminalOut0+t]
	injection      uint32 // virtual channels that terminals may inject on; 0: asked for each packet
	terminals      []terminal
	streams        []sim.Stream // routing decisions, by switch
	departures     []sim.Stream // those of a Departer, by terminal

	pool       []buffered
	poolFree   int32 // + 1
	packets    packetTable
	packetFree []int32

	flits   [16]*sim.Wheel[flit]   // to terminals, to switches, and to the switches of each shard
	credits [16]*sim.Wheel[int32]  // ov: to switches and terminals, and to the switches of each shard
	held    *sim.Wheel[heldCredit] // by credit sensing; nil without
	wakes   *sim.Wheel[int32]      // terminal
	active  []uint64               // mask words with a bit set
	woken   []int32                // terminals to serve in this cycle because of a credit

	steps        stepTimes
	alloc        scratch
	allVCs       uint32 // set of all virtual channels
	routeDelay   uint32 // steps
	vaDelay      uint32
	combined     int32       // headFlit: heads are given a virtual channel as they win the crossbar; 0: in a stage of their own
	sensing      *sensing    // nil: off
	observed     bool        // by any of blame and trace
	blame        *Blame      // nil: off
	faults       *faults     // nil: none
	trace        *Tracer     // nil: off
	occupancy    bool        // keep outVC.waiting
	behind       *behind     // nil unless occupancy
	greedy       bool        // count the decisions of a cycle only when all are made
	decided      []uint32    // ov chosen by each of them
	departer     Departer    // nil: packets leave their terminals undecided
	multicast    *multicast  // nil: off
	escape       *escape     // nil unless the routing is an EscapeRouting
	registered   *registered // nil: iSLIP or input-first, played out here
	cutThrough   bool
	hold         *holds      // nil: off
	unit         *packetUnit // nil: flits are
	storeForward bool
	inputFirst   bool
	large        bool       // ask for memory ahead
	touched      int32      // of no meaning
	prefetcher   prefetcher // the source, if it is one

	seed     uint64
	horizon  int64   // cycles that wheels file ahead
	shards   *shards // nil: one thread
	shardOf  []uint8 // by switch, where there are shards
	source   Source
	sink     Sink
	spec     PacketSpec // filled in by the source; likewise
	head     Head       // handed to the routing: kept here so that it does not
	delivery Delivery   // escape to the heap with every call; likewise
	Counters

	responder Responder         // the source, if it is one
	meter     *Meter            // of its run
	alarms    *sim.Wheel[int32] // terminal; nil without
}

// Counters are running totals of a fabric.
type Counters struct {
	InjectedFlits  int64 // entered the network
	DeliveredFlits int64 // left it at their terminal
	FlitHops       int64 // switches crossed, summed over flits
	Packets        int64 // delivered
	// Multicast packets leave the network more often than they enter it.
	ReplicatedFlits int64 // copies made, less the flits that they were made of
	DiscardedFlits  int64 // of packets that no branch led on from their first switch, or that faults took
}

// Wheels of Fabric.flits.
const (
	toTerminals = iota
	toSwitches
	firstOutbox // of shard 0
)

// activate marks a mask word as having work.
func (f *Fabric) activate(word int32) { *of(f.active, uint32(word)>>6) |= 1 << (word & 63) }

// InFlight is the number of packets between injection and delivery.
func (f *Fabric) InFlight() int {
	n := f.packetIDs()
	for _, list := range f.freeLists() {
		n -= len(list)
	}
	return n
}

// Graph is the network's graph.
func (f *Fabric) Graph() *topology.Graph { return f.graph }

// VCs is the number of virtual channels of every channel.
func (f *Fabric) VCs() int { return f.vcs }

// Cycle is the number of cycles simulated so far.
func (f *Fabric) Cycle() int64 { return f.cycle + 1 }

// Clock is the length of a cycle.
func (f *Fabric) Clock() sim.Time { return f.config.Fabric.Clock }

// anyActive tells whether some switch has work.
func (f *Fabric) anyActive() bool {
	for _, w := range f.active {
		if w != 0 {
			return true
		}
	}
	return false
}

// lowestOV is the local output virtual channel that a decision is counted under.
func lowestOV(hop, vcs uint32) uint32 { return hop>>16*vcs + uint32(bits.TrailingZeros32(hop)) }
