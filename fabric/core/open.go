package core

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/mem"
)

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
	f.join()
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
	d.active = mem.Apart[uint64]((len(f.Masks) + 63) / 64)
	d.Matcher = newMatcher(f.mostPorts, int32(f.vcs), f.Config.Switch.Allocator.Name() == allocator.InputFirst)
	if f.hold != nil {
		d.hold = &holds{ports: f.hold.ports, bodies: make([]Request, 0, f.mostPorts)}
	}
	if f.unit != nil {
		own := *f.unit // which has wheels of its own: the records of ports and queues are those of all
		d.Unit = &own
	}
	if f.allocators != nil {
		d.registered = newRegistered(d)
	}
	if d.multicast = f.multicast; d.multicast != nil && !d.alone {
		d.multicast = f.multicast.of()
	}
	d.Pool = flitPool{chunks: make([][chunkFlits]Queued, 1), follows: make([]int32, 1)}
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
		d.allocate = (*Domain).allocateMulticast
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
		if d.asks = append(d.asks, (*Domain).escapes); d.Combined != 0 {
			d.bids = append(d.bids, (*Domain).escapes)
		}
	}
	if d.hold != nil {
		d.bids = append(d.bids, (*Domain).outputLets)
	}
}

// chooseLists lists the filters of requests, and who is told of flits that cross.
func (d *Domain) chooseLists() {
	if d.observer != nil { // which is told first, of what has not changed yet
		d.notices = append(d.notices, func(d *Domain, sw *SwitchState, matches []Request, t *StepTime) {
			d.observer.GrantedSwitch(d, sw, matches, t)
		})
	}
	// Multicast packets have taken their ports, lanes choose among the rest, and flits behind heads cross
	// at once, so that heads alone are matched.
	if d.multicast != nil {
		d.filters, d.notices = append(d.filters, (*Domain).leaveOutTaken), append(d.notices, (*Domain).noteUnicast)
	}
	if d.lanes != nil {
		d.filters, d.notices = append(d.filters, (*Domain).arbitrateLanes), append(d.notices, (*Domain).crossedLanes)
	}
	if d.hold != nil && d.Unit == nil {
		d.filters, d.notices = append(d.filters, (*Domain).crossBodies), append(d.notices, (*Domain).holdPorts)
	}
}

// Wake tells an idle terminal that its source may have a packet. Waking a busy
// one does no harm. Where a kernel drives the fabric, which may have passed over many
// cycles, WakeAt is told the present one.
func (f *Fabric) Wake(t topology.TerminalID) { f.WakeAt(t, 0) }

// WakeAt is Wake for a packet that is born in that cycle. When a network is attached all terminals wake.
func (f *Fabric) WakeAt(t topology.TerminalID, cycle int64) {
	if f.source != nil {
		f.owner(t).wakeUp(t, cycle)
	}
}

// Attach connects the end points: where packets come from and who hears of
// their arrival. It starts every terminal and must be called once, before the
// first cycle; a second call, and a source of another number of terminals, are
// errors. Of a network that is divided among threads ([Fabric.DivideFor]), several make the calls
// of source and sink that are about different terminals, those of a [fabric.PartedSink] to parts of it.
func (f *Fabric) Attach(source fabric.Source, sink fabric.Sink) error {
	if err := f.CheckSource(source); err != nil {
		return err
	}
	if f.hostModel, _ = source.(HostModel); f.hostModel != nil {
		f.lookahead = min(f.lookahead, f.hostModel.Window())
	}
	f.open(source, func(int, *Domain) (fabric.Source, fabric.Sink) {
		if parted, ok := sink.(fabric.PartedSink); ok {
			return source, parted.Part()
		}
		return source, sink
	})
	return nil
}

// AttachEach is [Fabric.Attach] with a source and a sink for each domain, which its
// thread calls (len = Domains). Kernels drive the domains then: see
// [Fabric.RunKernels].
func (f *Fabric) AttachEach(sources []fabric.Source, sinks []fabric.Sink) error {
	if err := f.CheckSource(sources[0]); err != nil {
		return err
	}
	if f.Faults != nil {
		return errors.New("a fabric with faults is not driven by kernels")
	}
	f.open(sources[0], func(i int, _ *Domain) (fabric.Source, fabric.Sink) { return sources[i], sinks[i] })
	return nil
}

// Open divides f among threads, where that pays, and connects it to a workload and to a recorder
// for each domain (recorderOf is called for one after the other). worth is the number of
// terminals times cycles of a window from which a second thread is used; 0: from where it pays.
func (f *Fabric) Open(w fabric.Workload, threads int, worth int64, recorderOf func() Recorder) {
	if f.split(threads, fabric.Never, cmp.Or(worth, worthThreads), nil); f.onOne != "" {
		f.tile()
	}
	f.open(w, func(_ int, d *Domain) (fabric.Source, fabric.Sink) { return w, d.listen(w, recorderOf()) })
	if responder, ok := w.(fabric.Responder); ok {
		responder.Start(func(t topology.TerminalID) fabric.Engine { return f.owner(t).listener })
	}
}

// CheckSource tells why f cannot be started with a source; nil: it can.
func (f *Fabric) CheckSource(source fabric.Source) error {
	if f.source != nil {
		return errors.New("the fabric has been run or attached before; a run needs a new one")
	}
	if s, ok := source.(sizedSource); ok && s.Terminals() != f.graph.Terminals() {
		return fmt.Errorf("the source has %d terminals, the network %d", s.Terminals(), f.graph.Terminals())
	}
	return nil
}

// sizedSource is implemented by sources that are made for so many terminals.
type sizedSource interface{ Terminals() int }

// CheckWorkload tells why a workload cannot be connected to f; nil: it can.
func (f *Fabric) CheckWorkload(w fabric.Workload) error {
	if err := f.CheckSource(w); err != nil {
		return err
	}
	if f.Faults != nil && !fabric.BearsLosses(w) {
		return errors.New("the workload would wait for answers to packets that are lost: it is no fabric.LossListener that bears losses")
	}
	return nil
}

// Clocked is a domain as a component of a kernel; f itself, if it is the only one.
func (f *Fabric) Clocked(domain int) sim.Clocked {
	if len(f.domains) == 1 {
		return f
	}
	return f.domains[domain]
}
