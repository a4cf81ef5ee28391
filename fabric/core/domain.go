package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/wheel"
)

// Domain is the part of a network that a thread simulates at a time: its own clock,
// wheels, allocator, pool of flits, free packets and counters, beside the network and
// the state that it shares with other domains. Of the state it touches only what
// belongs to its switches and terminals.
type Domain struct {
	network
	state
	Cycle  int64 // being simulated, or last simulated
	worked int64 // last in which anything happened
	extras
	Mine []int32 // its switches, ascending
	Ends []int32 // its terminals, likewise

	alone  bool    // there is no other
	retry  *retry  // nil without faults
	doomed []int32 // packets to be discarded at the beginning of the next cycle
	purged int64   // cycle at the beginning of which packets were discarded last

	Pool       []buffered // flits behind the fronts of queues
	poolFree   int32      // + 1
	touched    int32      // sum of what touchPackets reads: so that the compiler keeps the reads
	packetFree []int32

	handed  []handed                 // by other domain
	sent    int64                    // cycle in which the first of what it has sent in the last window arrives; Never if there is none
	Flits   [16]*wheel.Wheel[Flit]   // to terminals, to switches, and to the switches of each other domain
	credits [16]*wheel.Wheel[int32]  // ov: to switches and terminals, and to the switches of each other domain
	held    *wheel.Wheel[heldCredit] // by credit sensing; nil without
	late    []int64                  // cycles that it has held back the credits of the flits that cross in this step
	unfiled unfiled
	wakes   *wheel.Wheel[int32] // terminal
	active  []uint64            // mask words with a bit set
	woken   []int32             // terminals to serve in this cycle because of a credit
	behind  *behind             // nil unless occupancy
	leaving *[]int32            // of behind, for flits that cross and leave at once; nil: each is filed
	decided []uint32            // ov chosen by each decision of a cycle, of a greedy routing

	departing   bool   // terminals send and decide before anything arrives
	routesAhead bool   // switches route while those ahead of them are evaluated
	plain       bool   // requestPlainly serves
	crossNoted  bool   // noteCrossing has something to do
	crossTimed  bool   // a flit that crosses has more to do than to leave: for sensing, receiving terminals or the queues that a routing reads
	routeNoted  bool   // a packet that has been routed has more to do than to ask
	ahead       uint64 // all ones if packets behind the front may be given a virtual channel (asksAhead)
	vcSpecial   bool   // in the stage for virtual channels, packets may wait for more than a free one

	Steps      stepTimes
	Matcher    matcher
	registered *registered // nil: iSLIP or input-first, played out here
	hold       *holds      // nil: packets hold no ports
	Unit       *packetUnit // nil: flits are simulated

	source     fabric.Source
	prefetcher fabric.Prefetcher        // the source, if it is one
	listens    fabric.DepartureListener // likewise
	sink       fabric.Sink
	listener   *listener // of a run whose workload is a Responder, which is the end of sink then; otherwise nil
	view       fabric.View
	decides    fabric.Routing // the routing, or what tells it about packets

	// What is handed to others, here so that it does not escape to the heap with every
	// call: to the source, the routing, and the sink.
	spec     fabric.PacketSpec
	head     fabric.Head
	delivery fabric.Delivery

	sums   []int32           // of View.OutstandingPorts
	summed topology.SwitchID // the switch that they are of, plus 1, while it decides; otherwise 0

	Counters
}

// Wheels of domain.flits.
const (
	toTerminals = iota
	toSwitches
	firstOutbox // to domain 0
)

// newDomain makes an idle domain of the network of f, one of as many as f has tasks.
func newDomain(f *Fabric) *Domain {
	d := &Domain{
		network: f.network, state: f.state, extras: f.extras, Cycle: -1, worked: -1, sent: fabric.Never, Steps: newStepTimes(&f.Config.Switch), purged: -1, alone: len(f.tasks) == 1,
		active:  mem.Apart[uint64]((len(f.Masks) + 63) / 64),
		Matcher: newMatcher(f.mostPorts, int32(f.vcs), f.Config.Switch.Allocator.Name() == allocator.InputFirst),
	}
	d.openView()
	d.inform()
	if f.unit != nil {
		d.Unit = f.unit.of()
	}
	d.makeWheels(f)
	if f.hold != nil {
		d.hold = f.hold.of(d)
	}
	if f.allocators != nil {
		d.registered = newRegistered(d)
	}
	return d
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
func (d *Domain) activate(word int32) { *check.At(d.active, uint32(word)>>6) |= 1 << (word & 63) }

// anyActive tells whether some switch has work.
func (d *Domain) anyActive() bool {
	for _, w := range d.active {
		if w != 0 {
			return true
		}
	}
	return false
}
