package core

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/wheel"
)

// Domain is a part of a network that one thread simulates at a time. It is made when the network is
// divided, and filled in when the network is opened ([Fabric.open]).
type Domain struct {
	// hardware is the opened network, constant from then on, and its state, of which a domain
	// touches only what belongs to its switches and terminals.
	hardware
	clock
	links
	switches
	terminals
	packetPool
	sight
	forms
	Counters

	alone bool // is true if there is no other domain

	// What not every network has.
	observer  Observer    // is told what happens here; nil if nobody looks
	multicast *multicast  // replicates packets; nil if there are no multicast packets
	hold      *holds      // says which ports packets hold; nil if they hold none
	Unit      *packetUnit // simulates packets as the unit; nil if flits are
	retry     *retry      // sends packets again; nil without faults
}

type clock struct {
	Cycle  int64 // is being simulated, or was last
	worked int64 // is the last cycle in which anything happened; -1: none
	purged int64 // is the last cycle at the beginning of which packets were discarded; -1: none
	Steps  stepTimes
}

// links is the traffic on its way to a domain's switches and terminals, and to other domains.
type links struct {
	Flits   [256]*wheel.Wheel[Flit]  // has flits to terminals, to switches, and to the switches of each other domain
	credits [256]*wheel.Wheel[int32] // has credits, by ov: to switches and terminals, and, in the same places as flits, to other domains
	held    *wheel.Wheel[heldCredit] // has the credits that are sent late; nil without credit sensing
	late    []int64                  // says by how many cycles the credit of each flit that crosses in this step is sent late
	unfiled unfiled                  // is the flit that crosses, and its credit, while their wheels have no room at hand

	handed []*handed // has, by other domain, what is sent to it; nil: nothing is, or it is filed there
	heard  []*handed // has what others send to this one
	turn   int64     // is the number of the window
	sent   int64     // is the cycle in which the first of what was sent to others in the last window arrives; Never: there is none
}

// Wheels of links.Flits.
const (
	toTerminals = iota
	toSwitches
	firstOutbox // to domain 0
)

type switches struct {
	Mine       []int32  // lists the switches, ascending
	active     []uint64 // has a bit for each mask word; it is set if a bit of that word is
	Pool       flitPool // has the flits behind the fronts of queues
	Matcher    matcher
	registered *registered // works for registered allocators; nil if iSLIP or input-first is played out in Matcher
	decided    []uint32    // lists the ov chosen by each decision of a cycle at a switch, of a greedy routing
	behind     *behind     // ends the waiting of flits that have crossed; nil unless Needs.Queues
	leaving    *[]int32    // is a list of behind for the flits that cross and leave at once; nil: each is filed
	doomed     []int32     // lists the packets to be discarded at the beginning of the next cycle
}

// terminals is what a domain keeps for its terminals, and whom it asks and tells there.
type terminals struct {
	Ends       []int32             // lists the terminals, ascending
	wakes      *wheel.Wheel[int32] // has the terminals to be served, by cycle
	woken      []int32             // lists the terminals to be served in this cycle because of a credit
	departing  bool                // is true while terminals send and decide before anything arrives
	source     fabric.Source
	prefetcher fabric.Prefetcher        // is source, if it is one
	listens    fabric.DepartureListener // likewise
	sink       fabric.Sink
	listener   *listener // is the end of sink where the workload of a run is a Responder; otherwise nil
	// What is handed to others is kept here: it must not escape to the heap with every call.
	spec     fabric.PacketSpec // is handed to source
	delivery fabric.Delivery   // is handed to sink
}

// packetPool is the free records among those that a domain has made.
type packetPool struct {
	packetFree []int32 // lists their ids
	touched    int32   // is the sum of what touchPackets reads: so that the compiler keeps the reads
}

// sight is what a domain's routing sees.
type sight struct {
	view    fabric.View
	decides fabric.Routing    // is the routing, or what tells it about packets
	head    fabric.Head       // is handed to decides
	sums    []int32           // are the sums of View.OutstandingPorts
	summed  topology.SwitchID // is the switch that sums are of, plus 1, while it decides; otherwise 0
}

// forms is the form in which a domain's loops run. [Fabric.open] fills it in, and explains its
// lists' order.
type forms struct {
	moments  []moment
	evaluate func(*Domain, *SwitchState, topology.SwitchID)
	allocate func(*Domain, *SwitchState, topology.SwitchID, *StepTime)
	asks     []gate // for a virtual channel
	rivalVCs func(d *Domain, sw *SwitchState, requests []Request) []Request
	request  func(d *Domain, sw *SwitchState, step uint32) []Request
	bids     []gate // for the crossbar
	filters  []filter
	match    func(*Domain, *SwitchState, []Request, *StepTime)
	notices  []notice
	cross    func(d *Domain, sw *SwitchState, matches []Request, t *StepTime, advance bool)
	serve    func(d *Domain, t int32, te *terminal, c int64)

	singleVCs  bool   // is true while each packet asks for one virtual channel and takes it at once if that is free (asksForOne)
	crossTimed bool   // is true if a flit that crosses has more to do than to leave: for sensing, receiving terminals or the queues that a routing reads
	routeNoted bool   // is true if a packet that has been routed has more to do than to ask
	allRivals  uint32 // is 1 if rivals for virtual channels are looked for in every step
	ahead      uint64 // is all ones if packets behind the front may be given a virtual channel (asksAhead)
}

// moment is an event of cycle c, if there is anything to do.
type moment func(d *Domain, c int64)

// gate tells whether the head at the front of a queue may ask in this step. If not, it may have
// been put to sleep.
type gate func(d *Domain, sw *SwitchState, local uint32, v *InVC, step uint32) bool

// filter keeps some of a step's requests for the crossbar.
type filter func(d *Domain, sw *SwitchState, requests []Request, t *StepTime) []Request

// notice is told of flits that are about to cross.
type notice func(d *Domain, sw *SwitchState, matches []Request, t *StepTime)

func (d *Domain) may(gates []gate, sw *SwitchState, local uint32, v *InVC, step uint32) bool {
	for _, passes := range gates {
		if !passes(d, sw, local, v, step) {
			return false
		}
	}
	return true
}

// activate marks a mask word as having work.
func (s *switches) activate(word int32) { *check.At(s.active, uint32(word)>>6) |= 1 << (word & 63) }

func (s *switches) anyActive() bool {
	for _, w := range s.active {
		if w != 0 {
			return true
		}
	}
	return false
}

// unfiled is a flit that crosses, and its credit, whose wheels have no room at hand, and whether
// the flit lacks digits for the hop.
type unfiled struct {
	any, hop               bool
	creditWheel, flitWheel uint8
	back, arrival          int64 // when they are due; 0: is filed
	credit                 int32
	flit                   Flit
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

// neverPlain, which only tests set, has the loops for the usual case never serve.
var neverPlain bool

// broken ends the program, as an invariant does not hold.
func (d *Domain) broken(format string, args ...any) {
	panic(fmt.Sprintf("core: in cycle %d, ", d.Cycle) + fmt.Sprintf(format, args...))
}

// Observer looks at what happens in a domain and changes nothing. It is told of moments in packets'
// lives, and reads all else from the domain. Without observers a domain tests for nil at each
// moment. A new observer embeds [Unobserved], has the methods that it wants, and is given to
// [Fabric.Observe].
type Observer interface {
	// Part is the observer of a domain. A network's observer is asked for it, before the first
	// cycle.
	Part(d *Domain) Observer
	// Gather takes over what the observers of domains have seen.
	Gather()
	// Begins: a cycle begins. Faults have happened, and what left before waits no more; nothing
	// else is done yet. Cycles in which nothing happens are left out, but for those that Next
	// names.
	Begins(d *Domain)
	// Injects: the head of the packet that terminal t is sending enters the network.
	Injects(d *Domain, t int32)
	// Injected: so does its last flit.
	Injected(d *Domain, t int32)
	// Arrived: flits have been put into queues of switches, at most one each; with packets as the
	// unit, heads and tails.
	Arrived(d *Domain, flits []Flit)
	// Sleeps: the flit at the front of a queue does not ask any more, for want of part, until it
	// resumes.
	Sleeps(d *Domain, queue int32, part Part)
	// Resumes: it is awake, and waits for something that is decided anew in each step.
	Resumes(d *Domain, queue int32, part Part)
	// Blocked: it does not ask for the crossbar in this cycle, as there is no room behind it on the
	// way to o.
	Blocked(d *Domain, queue int32, o *OutPort)
	// GrantedVC: packets at the front of their queues are about to get virtual channels in a step.
	GrantedVC(d *Domain, sw *SwitchState, matches []Request, step uint32)
	// GrantedSwitch: flits (with packets as the unit: heads) are about to cross the switch in a
	// step.
	GrantedSwitch(d *Domain, sw *SwitchState, matches []Request, t *StepTime)
	// TailCrosses: with packets as the unit, the last flit of a packet of several is about to cross
	// the switch in a step, and leaves by the channel at a time. Its head was granted the switch
	// before.
	TailCrosses(d *Domain, sw *SwitchState, m Request, t *StepTime, leaves int64)
	// Delivered: the packet of this number has arrived whole.
	Delivered(d *Domain, packet int32, delivery *fabric.Delivery)
	// Discarded: the packet of this number has been taken out of the network.
	Discarded(d *Domain, packet int32)
	// Uncovered: a head has come to the front of a queue as the packets before it were discarded.
	Uncovered(d *Domain, queue int32)
	// EndCycle: all of a cycle is done. Cycles in which nothing happens are left out, but for the
	// next one that Next names; Never: none.
	EndCycle(d *Domain)
	Next() int64
	// Archive writes, between cycles, what the observers of all domains have seen, in a form that
	// does not depend on the division, or reads it into a network that has not simulated a cycle.
	Archive(x *Archiver)
}

// retry is the transport of a network with faults, between terminals and their source and sink: it
// keeps every packet until its end is known and, where the plan has retries, sends it again after a
// timeout, as InfiniBand's reliable connections (RC) do. Each packet is acknowledged and repeated
// alone; RC goes back to the first missing packet. Acknowledgements are no packets: one comes back
// as many cycles after the tail's arrival as the packet was in the network. If it is late the
// packet is sent again, and the destination drops the copy. A terminal repeats packets before it
// sends new ones.
//
// Every domain has one, for its terminals. It notes what it hears of other domains' packets for
// their retry, which takes it at the beginning of the next window: before an acknowledgement can be
// back.
type retry struct {
	domain  *Domain
	x       *faults
	source  fabric.Source
	sink    fabric.Sink
	unused  []int32     // source packets
	pending int         // source packets neither delivered nor given up
	heard   [][]landing // by domain of the terminal
	tally   fabric.FaultTally

	discarding bool   // packets, so that the workload is told behind all of them
	lost       []lost // meanwhile
}

// listener stands between a domain and a workload that hears of measured arrivals and of time.
type listener struct {
	domain   *Domain
	workload fabric.Responder
	recorder Recorder
	alarms   *wheel.Wheel[int32] // terminal
}

// Recorder is the sink of measured runs, which also takes down what workloads note.
type Recorder interface {
	fabric.Sink
	// Note enters a time of so many cycles, which began in a cycle, into measure i of the workload.
	Note(i int, began, cycles int64)
}

// lost is a packet that has been given up.
type lost struct {
	terminal topology.TerminalID
	spec     fabric.PacketSpec
}

// landing is the end of a transmission.
type landing struct {
	sourcePacket int32
	src          topology.TerminalID
	again        bool  // it had been delivered before
	acked        int64 // cycle in which the acknowledgement is back
}

type sender struct {
	timers []timer
	first  int
}

type timer struct {
	end          int64
	sourcePacket int32
}

// Unobserved has empty methods for the moments that an observer ignores.
type Unobserved struct{}

func (Unobserved) Gather()                                                      {}
func (Unobserved) Begins(*Domain)                                               {}
func (Unobserved) Injects(*Domain, int32)                                       {}
func (Unobserved) Injected(*Domain, int32)                                      {}
func (Unobserved) Arrived(*Domain, []Flit)                                      {}
func (Unobserved) Sleeps(*Domain, int32, Part)                                  {}
func (Unobserved) Resumes(*Domain, int32, Part)                                 {}
func (Unobserved) Blocked(*Domain, int32, *OutPort)                             {}
func (Unobserved) GrantedVC(*Domain, *SwitchState, []Request, uint32)           {}
func (Unobserved) GrantedSwitch(*Domain, *SwitchState, []Request, *StepTime)    {}
func (Unobserved) TailCrosses(*Domain, *SwitchState, Request, *StepTime, int64) {}
func (Unobserved) Delivered(*Domain, int32, *fabric.Delivery)                   {}
func (Unobserved) Discarded(*Domain, int32)                                     {}
func (Unobserved) Uncovered(*Domain, int32)                                     {}
func (Unobserved) EndCycle(*Domain)                                             {}
func (Unobserved) Next() int64                                                  { return fabric.Never }

// handed is what a domain sends to one that another thread may simulate: a list, which the other
// reads and files in its wheels behind the window. Memory that both write moves between the cores'
// caches, at a hundred nanoseconds a line.
type handed struct {
	flits     post[Flit]
	credits   post[int32]
	schedules post[flitSchedule]
}

// post is items of one kind, by the last bit of the window's number: the domain may finish this
// window while the other reads the last.
type post[T any] struct {
	items [2][]timed[T]
	_     [64]byte // not in one cache line with the next
}

// timed is an item and the cycle in which it arrives.
type timed[T any] struct {
	cycle int64
	item  T
}

// out is what is handed to the domain that a wheel is for; nil: it is filed there.
func (d *Domain) out(number uint8) *handed {
	if number < firstOutbox || d.handed == nil {
		return nil
	}
	return d.handed[number-firstOutbox]
}

// fileFlit files a flit that arrives in a cycle, in the wheel of a number.
func (d *Domain) fileFlit(number uint8, cycle int64, e Flit) {
	if to := d.out(number); to != nil {
		to.flits.add(d, cycle, e)
	} else {
		*d.Flits[number].Place(cycle) = e
	}
}

// fileCredit files a credit likewise.
func (d *Domain) fileCredit(number uint8, cycle int64, ov int32) {
	if to := d.out(number); to != nil {
		to.credits.add(d, cycle, ov)
	} else {
		*d.credits[number].Place(cycle) = ov
	}
}

// scheduleTo is a place for a schedule, for the caller to fill in.
func (u *packetUnit) scheduleTo(d *Domain, number uint8, cycle int64) *flitSchedule {
	if to := d.out(number); to != nil {
		return to.schedules.add(d, cycle, flitSchedule{})
	}
	return u.schedules[number].Place(cycle)
}

func (p *post[T]) add(d *Domain, cycle int64, item T) *T {
	d.sent = min(d.sent, cycle)
	items := append(p.items[d.turn&1], timed[T]{cycle, item})
	p.items[d.turn&1] = items
	return &items[len(items)-1].item
}

// take files in a wheel what was sent in a window.
func (p *post[T]) take(window int64, w *wheel.Wheel[T]) {
	for _, e := range p.items[window&1] {
		if w.HasRoom(e.cycle) {
			*w.Fill(e.cycle) = e.item
		} else {
			*w.Place(e.cycle) = e.item
		}
	}
}

func (p *post[T]) begin(window int64) { p.items[window&1] = p.items[window&1][:0] }

// receive takes what other domains have sent to d in a window.
func (d *Domain) receive(window int64) {
	for _, from := range d.heard {
		from.flits.take(window, d.Flits[toSwitches])
		from.credits.take(window, d.credits[0])
		if d.Unit != nil {
			from.schedules.take(window, d.Unit.schedules[0])
		}
	}
}

// send begins what d sends in a window.
func (d *Domain) send(window int64) {
	d.turn, d.sent = window, fabric.Never
	for _, to := range d.handed {
		if to != nil {
			to.flits.begin(window)
			to.credits.begin(window)
			to.schedules.begin(window)
		}
	}
}
