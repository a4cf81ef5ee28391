package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/wheel"
)

// Domain is the part of a network that a thread simulates at a time. It is made when the network is
// divided, and filled in when that is opened ([Fabric.open]).
type Domain struct {
	// hardware is the network as it was when it was opened, from when on it stays as it is, and
	// its state. Of that a domain touches only what belongs to its switches and terminals.
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

// clock is how far a domain has got.
type clock struct {
	Cycle  int64 // is being simulated, or was last
	worked int64 // is the last cycle in which anything happened; -1: none
	purged int64 // is the last cycle at the beginning of which packets were discarded; -1: none
	Steps  stepTimes
}

// links is what is on its way to the switches and terminals of a domain, and from them to other domains.
type links struct {
	Flits   [16]*wheel.Wheel[Flit]   // has flits to terminals, to switches, and to the switches of each other domain
	credits [16]*wheel.Wheel[int32]  // has credits, by ov: to switches and terminals, and to the switches of each other domain
	held    *wheel.Wheel[heldCredit] // has the credits that are sent late; nil without credit sensing
	late    []int64                  // says by how many cycles the credit of each flit that crosses in this step is sent late
	unfiled unfiled                  // is the flit that crosses, and its credit, while their wheels have no room at hand

	handed []handed // has, by other domain, what was sent to it in the last two windows
	sent   int64    // is the cycle in which the first of what was sent to others in the last window arrives; Never: there is none
}

// Wheels of links.Flits.
const (
	toTerminals = iota
	toSwitches
	firstOutbox // to domain 0
)

// switches is what a domain keeps for its switches.
type switches struct {
	Mine       []int32    // lists the switches, ascending
	active     []uint64   // has a bit for each mask word; it is set if a bit of that word is
	Pool       []buffered // has the flits behind the fronts of queues
	poolFree   int32      // is the first free place of Pool, + 1; 0: none
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
	// What is handed to others is here so that it does not escape to the heap with every call.
	spec     fabric.PacketSpec // is handed to source
	delivery fabric.Delivery   // is handed to sink
}

// packetPool is the records of packets that are free, of those that a domain has made.
type packetPool struct {
	packetFree []int32 // lists their ids
	touched    int32   // is the sum of what touchPackets reads: so that the compiler keeps the reads
}

// sight is what a domain's routing sees.
type sight struct {
	view    fabric.View
	decides fabric.Routing    // is the routing, or what tells it about packets
	head    fabric.Head       // is handed to decides
	sums    []int32           // are those of View.OutstandingPorts
	summed  topology.SwitchID // is the switch that sums are of, plus 1, while it decides; otherwise 0
}

// forms says in which form the loops of a domain run. It is filled in by [Fabric.open], where the order
// of its lists is explained.
type forms struct {
	moments  []moment
	evaluate func(*Domain, *SwitchState, topology.SwitchID)
	allocate func(*Domain, *SwitchState, topology.SwitchID, *StepTime)
	asks     []gate // for a virtual channel
	request  func(d *Domain, sw *SwitchState, step uint32) []Request
	bids     []gate // for the crossbar
	filters  []filter
	match    func(*Domain, *SwitchState, []Request, *StepTime)
	notices  []notice
	cross    func(d *Domain, sw *SwitchState, matches []Request, t *StepTime, advance bool)
	serve    func(d *Domain, t int32, te *terminal, c int64)

	crossTimed bool   // is true if a flit that crosses has more to do than to leave: for sensing, receiving terminals or the queues that a routing reads
	routeNoted bool   // is true if a packet that has been routed has more to do than to ask
	ahead      uint64 // is all ones if packets behind the front may be given a virtual channel (asksAhead)
}

// moment is what happens at a time in cycle c, if anything is to.
type moment func(d *Domain, c int64)

// gate tells whether the head at the front of a queue may ask for what it wants in this step. If not,
// it may have been put to sleep.
type gate func(d *Domain, sw *SwitchState, local uint32, v *InVC, step uint32) bool

// filter leaves some of the requests for the crossbar of a step.
type filter func(d *Domain, sw *SwitchState, requests []Request, t *StepTime) []Request

// notice is told of flits that are about to cross.
type notice func(d *Domain, sw *SwitchState, matches []Request, t *StepTime)

// may tells whether a head passes all gates.
func (d *Domain) may(gates []gate, sw *SwitchState, local uint32, v *InVC, step uint32) bool {
	for _, passes := range gates {
		if !passes(d, sw, local, v, step) {
			return false
		}
	}
	return true
}

// makeWheels gives d, one of as many domains as f has tasks, empty wheels.
func (d *Domain) makeWheels(f *Fabric) {
	domains := len(f.tasks)
	d.wakes = wheel.New[int32](min(f.horizon, 1024))
	d.Flits[toTerminals], d.Flits[toSwitches] = wheel.New[Flit](f.horizon), wheel.New[Flit](f.horizon)
	d.credits[0] = wheel.New[int32](f.horizon)
	if domains > 1 {
		d.handed = mem.Apart[handed](domains)
		for i := range domains {
			d.handed[i][0].first, d.handed[i][1].first = fabric.Never, fabric.Never
			d.Flits[firstOutbox+i] = wheel.New[Flit](f.horizon + f.lookahead)
			d.credits[1+i] = wheel.New[int32](f.horizon + f.lookahead)
		}
	}
	if f.sensing != nil {
		d.held = wheel.New[heldCredit](f.horizon)
	}
	if f.needs.Queues {
		d.behind = newBehind(d)
	}
	if d.Unit != nil {
		d.Unit.makeWheels(f)
	}
}

// activate marks a mask word as having work.
func (s *switches) activate(word int32) { *check.At(s.active, uint32(word)>>6) |= 1 << (word & 63) }

// anyActive tells whether some switch has work.
func (s *switches) anyActive() bool {
	for _, w := range s.active {
		if w != 0 {
			return true
		}
	}
	return false
}
