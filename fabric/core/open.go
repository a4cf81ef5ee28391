package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/mem"
)

// neverPlain, which only tests set, has the loops for the usual case never serve.
var neverPlain bool

// open fills in the domains of a network, once all is known that it is to have, and connects each to a
// source and a sink. first is the source that says what all are: see [Fabric.CheckSource].
func (f *Fabric) open(first fabric.Source, endsOf func(i int, d *Domain) (fabric.Source, fabric.Sink)) {
	f.source = first
	for i, d := range f.domains {
		f.fill(d)
		d.source, d.sink = endsOf(i, d)
		if f.Faults != nil {
			f.faulty(d)
		}
		d.prefetcher, _ = d.source.(fabric.Prefetcher)
		d.listens, _ = d.source.(fabric.DepartureListener)
		if f.observer != nil {
			d.observer = f.observer.Part(d)
		}
	}
	f.follow()
	for _, d := range f.domains {
		if d.Unit != nil {
			d.Unit.timed = d.Unit.timesHolds(d)
		}
		d.choose(f)
	}
	for t := range f.Terminals {
		f.Terminals[t] = terminal{wake: fabric.Never, Packet: -1, VC: int8(f.vcs) - 1}
		f.Wake(topology.TerminalID(t))
	}
}

// fill gives d what a domain of f works with, before it has done anything.
func (f *Fabric) fill(d *Domain) {
	d.hardware = f.hardware
	d.clock = clock{Cycle: -1, worked: -1, purged: -1, Steps: newStepTimes(&f.Config.Switch)}
	d.sent = fabric.Never
	d.active = mem.Apart[uint64]((len(f.Masks) + 63) / 64)
	d.Matcher = newMatcher(f.mostPorts, int32(f.vcs), f.Config.Switch.Allocator.Name() == allocator.InputFirst)
	if f.hold != nil {
		d.hold = f.hold.of(d)
	}
	if f.unit != nil {
		d.Unit = f.unit.of()
	}
	if f.allocators != nil {
		d.registered = newRegistered(d)
	}
	if d.multicast = f.multicast; d.multicast != nil && !d.alone {
		d.multicast = f.multicast.of()
	}
	d.makeWheels(f)
	d.openView()
}

// choose chooses the forms of a domain's loops: its lists have just what there is to do.
func (d *Domain) choose(f *Fabric) {
	d.forms = forms{
		evaluate: (*Domain).evaluateAll, allocate: (*Domain).allocateUnicast, request: (*Domain).requestCrossbar,
		match: (*Domain).matchRoundRobin, cross: (*Domain).crossFlits, serve: (*Domain).sendFlit,
	}
	d.chooseMoments(f)
	d.chooseStages()
	d.chooseGates()
	d.chooseLists()
	d.crossTimed = d.sensing != nil || d.receives() || d.behind != nil
	if d.crossTimed {
		d.late = make([]int64, d.mostPorts)
	}
	d.routeNoted = d.large || d.Upcoming != nil || d.needs.Queues
	d.ahead = d.asksAhead()
}

// chooseMoments lists what happens in a cycle.
func (d *Domain) chooseMoments(f *Fabric) {
	add := func(is bool, m moment) {
		if is {
			d.moments = append(d.moments, m)
		}
	}
	// What fails takes with it what would have arrived. Of several domains the last thread at the
	// barrier sees to it.
	add(f.Faults != nil && d.alone, func(_ *Domain, c int64) { f.Faults.tick(c) })
	// What left before waits no more. Observers see what that and faults have left.
	add(d.behind != nil, func(d *Domain, c int64) { d.behind.release(d, c) })
	add(d.observer != nil, func(d *Domain, _ int64) { d.observer.Begins(d) })
	// Routings that read queues at terminals do so before anything arrives, in any order.
	add(d.departsAhead, (*Domain).departAhead)
	// Arrivals, in any order: those at terminals come before terminals send, since workloads
	// answer at once.
	add(d.Unit != nil, func(d *Domain, c int64) { d.Unit.arrive(d, c) })
	add(d.Unit == nil, (*Domain).arriveCredits)
	add(d.held != nil, (*Domain).releaseCredits)
	add(true, (*Domain).arriveAtTerminals)
	add(true, (*Domain).arriveAtSwitches)
	add(d.Unit != nil && d.Unit.Followed != nil, func(d *Domain, c int64) { d.Unit.Followed.tailsArrive(d, c) })
	add(d.listener != nil, func(d *Domain, c int64) { d.listener.ring(c) })
	// Terminals have the credits of this cycle, as switches do, which come last: what they do reaches
	// others in a later cycle.
	add(true, (*Domain).serveTerminals)
	add(d.mayRouteAhead(), (*Domain).evaluateAhead)
	add(!d.mayRouteAhead(), (*Domain).evaluateInTurn)
	add(d.observer != nil, func(d *Domain, _ int64) { d.observer.EndCycle(d) })
}

// chooseStages chooses the forms of the stages of a switch.
func (d *Domain) chooseStages() {
	switch {
	case d.Unit != nil:
		d.evaluate, d.cross, d.serve = (*Domain).evaluatePackets, (*Domain).crossPackets, (*Domain).sendPacket
		if d.Unit.requestsPlainly(d) {
			d.request = (*Domain).requestPackets
		}
	case d.requestsPlainly():
		d.request = (*Domain).requestPlainly
	}
	if d.Unit == nil && d.multicast == nil && int(d.mostPorts)*d.vcs <= 64 && !neverPlain {
		d.evaluate = (*Domain).evaluatePlainly
	}
	if d.multicast != nil {
		d.allocate = func(d *Domain, sw *SwitchState, s topology.SwitchID, t *StepTime) { d.multicast.allocate(d, sw, s, t) }
	}
	if d.registered != nil {
		d.match = (*Domain).matchRegistered
	}
}

// chooseGates lists what may keep heads from asking for a virtual channel, and for the crossbar.
func (d *Domain) chooseGates() {
	if d.storeForward { // before all else: a packet that is not whole asks for nothing
		d.asks, d.bids = append(d.asks, (*Domain).isWhole), append(d.bids, (*Domain).isWhole)
	}
	if d.multicast != nil {
		d.asks = append(d.asks, (*Domain).isUnicast)
	}
	if d.hold != nil {
		d.bids = append(d.bids, (*Domain).inputLets)
	}
	if d.escape != nil { // which may choose another output
		choose := func(d *Domain, sw *SwitchState, local uint32, v *InVC, _ uint32) bool {
			return d.escape.decide(d, sw, local, v)
		}
		if d.asks = append(d.asks, choose); d.Combined != 0 {
			d.bids = append(d.bids, choose)
		}
	}
	if d.hold != nil {
		d.bids = append(d.bids, (*Domain).outputLets)
	}
}

// chooseLists lists the filters of requests, and who is told of flits that cross.
func (d *Domain) chooseLists() {
	// Filters: multicast packets have taken their ports, lanes choose among the rest, and flits behind
	// heads cross at once, so that heads alone are matched.
	// Notices: an observer is told first, of what has not changed yet.
	if d.observer != nil {
		d.notices = append(d.notices, func(d *Domain, sw *SwitchState, matches []Request, t *StepTime) {
			d.observer.GrantedSwitch(d, sw, matches, t)
		})
	}
	if d.multicast != nil {
		d.filters = append(d.filters, func(d *Domain, _ *SwitchState, requests []Request, _ *StepTime) []Request {
			return d.multicast.exclude(requests)
		})
		d.notices = append(d.notices, func(d *Domain, sw *SwitchState, matches []Request, _ *StepTime) { d.multicast.crossed(sw, matches) })
	}
	if d.lanes != nil {
		d.filters = append(d.filters, (*Domain).arbitrateLanes)
		d.notices = append(d.notices, (*Domain).crossedLanes)
	}
	if d.hold != nil && d.Unit == nil {
		d.filters = append(d.filters, func(d *Domain, sw *SwitchState, requests []Request, t *StepTime) []Request {
			return d.hold.body(d, sw, requests, t)
		})
		d.notices = append(d.notices, func(d *Domain, sw *SwitchState, matches []Request, _ *StepTime) { d.hold.crossing(sw, matches) })
	}
}
