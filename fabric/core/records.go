package core

import (
	"math/bits"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// This file holds the state of the simulated hardware and all of its index arithmetic:
//
//   - A queue is the buffer of an input virtual channel. The queues of a switch
//     are numbered consecutively, port by port, from a multiple of 64, so that
//     a queue's number names its bit in the switch's masks.
//   - An output virtual channel (ov) is numbered port*vcs + vc over all switch
//     ports, then terminal by terminal for the channels that they inject into.

// Flit is a flit on a channel, and its arrival: 16 bytes, on which the simulator's speed depends.
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

// arrival is what the routing is asked about a head that has come.
type arrival struct {
	dst   int32 // as in flit
	state uint32
}

// InVC is a queue: its front flit by value, the rest in the pool. 32 bytes.
type InVC struct {
	Queued        // the front; valid while count > 0, but for hop, which a packet's body goes by, too
	Last   int32  // place of the last flit in the pool
	Count  int32  // flits in the queue
	Out    int32  // local output virtual channel held by the packet at the front; -1: none yet
	Ready  uint32 // step of the switch core from which the present stage may act
}

// flitPool has the flits behind the fronts of queues, in chunks that are two cache lines each. A
// queue fills its last chunk and empties its first. A chunk ends with the first place of the next
// one, in its queue or the free list.
type flitPool struct {
	chunks [][chunkPlaces]Queued
	free   int32 // is the first place of the first free chunk; 0, which is never used: none
}

const (
	chunkPlaces = 8
	chunkFlits  = chunkPlaces - 1
)

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

// Round-robin pointers stand one behind the last choice. They are not wrapped around: n means 0.

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

// The following finds a switch's records by local numbers, with bounds checked in the checked build
// only: they would cost allocators a fifth of their instructions. Numbers come from masks and from
// decisions that route has checked.

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

	// Where stages overlap: a packet waits behind the front; it is listed as waiting for a virtual
	// channel.
	second, asleep uint64
}

// Part is a part of a packet's latency.
type Part int

// The parts of a packet's latency. In a switch's queue the front flit waits, for itself and all
// behind it.
const (
	PartSource   Part = iota // at its terminal, until the head enters the channel
	PartRoute                // route computation
	PartVC                   // virtual-channel allocation
	PartSwitch               // switch allocation and the crossbar
	PartCredit               // no buffer free at the far end
	PartSerial               // flits in front on their way through the crossbar and onto channels between switches
	PartEjection             // waiting for the channel to the destination
	PartWire                 // latencies of channels
	NumParts     = iota
)

// PartNames are the names of the parts.
var PartNames = [NumParts]string{"source_queue", "route", "vc_allocation", "switch_allocation", "credit_stall", "serialisation", "ejection", "wire"}

// Parts is a time by parts, in cycles.
type Parts [NumParts]int64

// Total is the sum of the parts.
func (p *Parts) Total() int64 {
	sum := int64(0)
	for _, x := range p {
		sum += x
	}
	return sum
}

// Add adds other.
func (p *Parts) Add(other *Parts) {
	for i, x := range other {
		p[i] += x
	}
}

// Subtract takes other away.
func (p *Parts) Subtract(other *Parts) {
	for i, x := range other {
		p[i] -= x
	}
}

// Waiting is the packet-cycles spent waiting for channels in the network: without the source queue,
// and an idle network's routes and wires.
func (p *Parts) Waiting() int64 {
	return p[PartVC] + p[PartSwitch] + p[PartCredit] + p[PartSerial] + p[PartEjection]
}

// lacking is what a head sleeps for: any free virtual channel, or room in one that is free.
func lacking(free uint32) Part {
	if free == 0 {
		return PartVC
	}
	return PartCredit
}

// secondWakes notes that the second packet of a queue, if it slept, asks again.
func (m *masks) secondWakes(bit uint64) (second bool) {
	second = m.asleep&bit != 0
	m.asleep &^= bit
	return second
}

// nextStep lets those ask for the crossbar that may from the next step on; va and sa are
// routeAll's.
func (sw *SwitchState) nextStep() (va, sa bool) {
	for w := range sw.masks {
		m := &sw.masks[w]
		m.sa |= m.next
		m.next = 0
		va, sa = va || m.va != 0, sa || m.sa != 0
	}
	return va, sa
}

// upcoming is what a queue keeps of the packets behind its front, where a switch's stages overlap:
// while the front bids for the crossbar, the second asks for a virtual channel, and the third is
// routed. Each stage works on one packet of a queue at a time. 32 bytes.
//
// A virtual channel is given ahead only when the front waits for nothing but its turn
// (see mayAsk). Otherwise packets of two queues could wait for ever, each for the
// channel that is held behind the other, although the routing is free of deadlock.
type upcoming struct {
	packets int32  // behind the front, if there are any (masks.second)
	head    int32  `snap:"-"` // of the second packet: its place in the pool
	left    int32  // flits of the front packet that are in the queue, when there is a second
	out     int32  // output virtual channel that the second has been given; -1: none
	ready   uint32 // step in which the second has its route or, if out >= 0, its virtual channel
	third   uint32 // step in which the third packet has its route
	waits   Part   // what the second waits for, while it is asleep (masks.asleep)
}

// later is the later one of two steps, and latest of two times. The compiler makes branches of max and
// the like, which nothing predicts here.
func later(a, b uint32) uint32 {
	ahead := int32(a - b)
	return a - uint32(ahead&(ahead>>31))
}

func latest(a, b int64) int64 {
	ahead := a - b
	return a - ahead&(ahead>>63)
}

// terminal is the sending side of an end point: one packet at a time, its flits in order on one
// virtual channel. 32 bytes.
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

// Request is the wish of a queue's front flit or packet: for an output port or, in virtual-channel
// allocation, for one of a port's virtual channels. Packed, as allocation is mostly lists of
// requests.
type Request uint64

// newRequest packs a queue with ports: in virtual-channel allocation an output port and a set of
// its virtual channels, in switch allocation an input and an output port.
func newRequest(local, ports uint32) Request { return Request(local)<<32 | Request(ports) }
func (r Request) Local() uint32              { return uint32(r >> 32) }

func (r Request) Port() uint32 { return uint32(r) >> 16 } // switch allocation: of the input

func (r Request) Output() uint32 { return uint32(r) & (1<<16 - 1) } // switch allocation

func (r Request) free() uint32 { return uint32(r) & (1<<16 - 1) } // virtual-channel allocation

// meets tells whether two requests are for the same output or from the same input.
func (r Request) meets(other Request) bool {
	return r.Port() == other.Port() || r.Output() == other.Output()
}

// asked is the local output virtual channels, modulo 64, of a request.
func (r Request) asked(vcs uint32) uint64 {
	return bits.RotateLeft64(uint64(r.free()), int(r.Port()*vcs&63))
}

// rivals are the ports, modulo 64, that several requests come from, and that several want.
func rivals(requests []Request) (rivalInputs, rivalOutputs uint64) {
	var inputs, outputs uint64
	for _, r := range requests {
		in, out := uint64(1)<<(r.Port()&63), uint64(1)<<(r.Output()&63)
		rivalInputs |= inputs & in
		inputs |= in
		rivalOutputs |= outputs & out
		outputs |= out
	}
	return rivalInputs, rivalOutputs
}

// place is the port and the virtual channel of a queue.
type place struct{ Port, vc uint16 }

// heldCredit is a credit that credit sensing holds back, and the event of its release.
type heldCredit struct {
	port     int32 // input port
	upstream int32 // ov that it is for
}

// heldPort tells whether a port is held and, with packets as the unit, who waits for its end: queue
// + 1 of the first; 0: nobody. Packets that know until when they hold a port enter that in its
// records (inPort.until, outPort.until) and list nobody. 12 bytes.
type heldPort struct {
	inputWaiters, outputWaiters int32
	input, output               bool // held
}

// lowestOV is the local output virtual channel that a decision is counted under.
func lowestOV(hop, vcs uint32) uint32 { return hop>>16*vcs + uint32(bits.TrailingZeros32(hop)) }

// label is what travels with a packet beside its flits' fields: its sender's level and entropy, and
// a port's mark. Networks have labels only if they mark packets or the routing reads them
// ([fabric.Needs].Packets).
type label struct {
	level   uint8
	marked  bool
	entropy uint16
}

// refusal is why the flit at the front of a queue does not ask for the crossbar, for the observer.
type refusal struct {
	local uint32
	part  Part
}

// multicastHop is the decision for a multicast packet: none, its table row decides.
const multicastHop = 0

const (
	chunkBits    = 10
	chunkPackets = 1 << chunkBits
)

// recordIDs numbers records, for several domains, a chunk of them at a time.
type recordIDs struct{ chunks atomic.Int32 }

// ids is the number of records; ids are below.
func (r *recordIDs) ids() int { return int(r.chunks.Load()) * chunkPackets }

// more lists the ids of a new chunk in unused, the lowest last, to be taken first.
func (r *recordIDs) more(unused []int32) []int32 {
	end := r.chunks.Add(1) * chunkPackets
	for i := range int32(chunkPackets) {
		unused = append(unused, end-1-i)
	}
	return unused
}

// PacketRecords holds what the network or others keep of each packet, in chunks that never move. A
// record belongs to the domain of its packet, or of the part of it that it describes. Several
// domains each have a copy of the list, made once it is divided.
type PacketRecords[T any] struct {
	chunks []*[chunkPackets]T
}

// Divided makes room for all possible chunks: their list must not move while several domains use
// it.
func (r *PacketRecords[T]) Divided() {
	r.chunks = append(make([]*[chunkPackets]T, 0, maxChunks), r.chunks...)[:maxChunks]
}

// At is the record of a packet that has been opened.
func (r *PacketRecords[T]) At(id int32) *T {
	return &(*check.At(r.chunks, uint32(id)>>chunkBits))[uint32(id)%chunkPackets]
}

// Open makes the record of a packet, if there is none, and returns it. The domain of the packet's
// terminal calls it before the first flit leaves: it has made the chunk of packets, makes the chunk
// of records, and others find it.
func (r *PacketRecords[T]) Open(id int32) *T {
	chunk := int(id >> chunkBits)
	for chunk >= len(r.chunks) {
		r.chunks = append(r.chunks, nil)
	}
	if r.chunks[chunk] == nil {
		r.chunks[chunk] = new([chunkPackets]T)
	}
	return r.At(id)
}

// LookUp is the record of a packet, nil if there is none.
func (r *PacketRecords[T]) LookUp(id int32) *T {
	if chunk := int(id >> chunkBits); chunk >= len(r.chunks) || r.chunks[chunk] == nil {
		return nil
	}
	return r.At(id)
}

// Each visits all records, also of unused numbers.
func (r *PacketRecords[T]) Each(visit func(*T)) {
	for _, chunk := range r.chunks {
		if chunk != nil {
			for i := range chunk {
				visit(&chunk[i])
			}
		}
	}
}

// sourcePacket is a packet of the source in a network with faults. It is in use until it is
// delivered or given up, without a transmission under way or a timer. It belongs to its terminal's
// domain, but for what says otherwise.
type sourcePacket struct {
	Spec      fabric.PacketSpec
	acked     int64 // cycle in which the acknowledgement is back, once delivered
	tries     int32 // to send it
	sent      int32 // those that found a path: transmissions
	landed    int32 // transmissions delivered or discarded, as far as is known
	timed     bool  // in a sender's list
	delivered bool  // likewise known
	noPath    bool  // at the last try
	heard     bool  // the destination's: it has been delivered
}

// sourcePacketTable holds source packets.
type sourcePacketTable struct {
	recordIDs
	PacketRecords[sourcePacket]
}

// more makes further source packets, and lists them in unused.
func (t *sourcePacketTable) more(unused []int32) []int32 {
	unused = t.recordIDs.more(unused)
	for _, id := range unused[len(unused)-chunkPackets:] {
		t.Open(id).Spec.Birth = fabric.Never
	}
	return unused
}

// Packet is what end points need to know of a packet; switches use only its size under cut-through,
// and what they count in more. 32 bytes.
type Packet struct {
	Birth int64  // cycle
	tag   uint64 `snap:"-"` // the source's own
	Wait  uint32 // cycles from birth until the head entered the network, below 2^31, and wentAround
	Src   topology.TerminalID
	Flits int32
	more  int32 // of a multicast packet, copies in the network beside the first; else switches crossed beyond MaxHops, by the tail
}

// WentAround marks in packet.wait, for the tail, that the head, which alone is routed, came by a
// non-minimal path.
const WentAround = 1 << 31

// maxChunks bounds the packets in a divided network: 2^26.
const maxChunks = 1 << 16
