package core

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/wheel"
)

// New builds the network of g in its idle state. Problems of the settings are
// returned together, each a *param.ParamError with its dotted key; a routing of
// another network is an error. Cost: linear in ports*vcs.
func New(g *topology.Graph, config fabric.Config, routing fabric.Routing, seed uint64) (*Fabric, error) {
	if err := config.CheckSettings(routing); err != nil {
		return nil, err
	}
	config.Switch.Hold = config.Holds()
	if err := checkRouting(g, routing); err != nil {
		return nil, err
	}
	timings, err := config.ChannelTimings(g)
	if err != nil {
		return nil, err
	}
	vcs := config.Switch.VCs
	if vcs == 0 {
		vcs = max(1, routing.VCs())
	}
	f := &Fabric{
		hardware: hardware{network: network{
			graph: g, Config: config, routing: routing, seed: seed, vcs: vcs, buffer: int32(config.Switch.BufferFlits),
			cutThrough: config.Switch.FlowControl == "cut-through", creditsBack: config.Switch.VCReuse == fabric.CreditsBack, storeForward: config.Switch.Forwarding == fabric.StoreAndForward,
			allVCs: 1<<vcs - 1, unicastVCs: vcs, leastWindow: fabric.Never,
			RouteDelay:     uint32(config.Switch.RouteCycles),
			VADelay:        uint32(config.Switch.VCAllocCycles),
			creditInterval: creditIntervalOf(config.Switch.CreditsPerCycle),
		}},
		cycle: -1,
	}
	f.roomy = f.cutThrough || f.creditsBack
	f.packets = &packetTable{}
	if config.Switch.VCAllocCycles == 0 {
		f.Combined = HeadFlit
	}
	f.ask(routing)
	if config.Switch.Marks() || f.needs.Packets {
		f.labels = &PacketRecords[label]{}
	}
	f.layOutSwitches()
	f.wire(timings)
	if r, ok := routing.(fabric.Learner); ok {
		f.memory = r.NewMemory(func(p topology.PortID) int64 { return f.Latency(&f.Out[p]) })
	}
	if f.allocators, err = newAllocators(&f.network); err != nil {
		return nil, err
	}
	f.lanes, f.laneQueues = newLanes(&f.network), newLaneQueues(&f.network)
	f.large = mem.Prefetching && f.stateBytes() > largeState // asks for its memory ahead
	if config.Switch.SensesCredits(routing) {
		f.sensing = newSensing(&f.network)
	}
	if config.Switch.Hold {
		f.hold = &holds{ports: make([]heldPort, len(f.in))}
	}
	f.horizon = f.reach(timings)
	if config.Fabric.Unit == fabric.UnitPacket {
		f.unit = newPacketUnit(f)
		const most = 4096 // ahead of flits: a buffer full of them on a channel, within reason
		f.horizon += min(most, int64(f.buffer)*f.longestInterval()>>IntervalShift)
	}
	f.divideInto(make([]int, len(f.Switches)), 1, fabric.Never)
	if config.Switch.Marks() {
		m, err := newMarker(f)
		if err != nil {
			return nil, err
		}
		if m != nil {
			f.Observe(m)
		}
	}
	if err := f.newProbes(); err != nil {
		return nil, err
	}
	return f, nil
}

// reach bounds how far ahead flits and credits are usually filed: the longest channel, with flits
// that wait for it and fill the buffers at its end, or 256 cycles.
func (f *Fabric) reach(timings []fabric.ChannelTiming) int64 {
	reach, s := int64(0), &f.Config.Switch
	waiting := int64(f.buffer) * int64(f.vcs)
	if s.OutputBufferFlits > 0 {
		waiting = min(waiting, int64(s.OutputBufferFlits))
	}
	for _, t := range timings {
		interval := intervalOf(t)
		reach = max(reach, t.CreditLatency, t.Latency+max(4*interval, min(waiting*interval, 256<<IntervalShift))>>IntervalShift)
	}
	pipeline := s.RouteCycles + s.VCAllocCycles + s.SwitchAllocCycles + s.CrossbarCycles + s.CreditCycles
	return reach + int64(pipeline) + int64(f.Config.Terminal.InjectionCycles) + 16
}

// open fills in the domains of a network, once it is complete, and connects each to its part of a
// host.
func (f *Fabric) open(parts []fabric.Ends) {
	f.attached = true
	for i, d := range f.domains {
		f.fill(d)
		d.source, d.sink = parts[i].Source, d.listen(parts[i])
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
	if f.unit != nil && f.observer != nil {
		all := make([]passing, len(f.Queues))
		for _, d := range f.domains {
			d.Unit.Followed = &followed{passing: all, tails: wheel.New[Flit](f.horizon), polls: d.Upcoming != nil}
		}
	}
	for _, d := range f.domains {
		if d.Unit != nil {
			// Ports are held up to a time only if tails cross soon enough behind heads to tell steps modulo 2^32 apart.
			soon := float64(f.buffer)*float64(f.longestInterval()>>IntervalShift+1)*MaxSpeedup < 1<<29
			d.Unit.timed = soon && d.Unit.requestsPlainly(d) && !d.watched && d.Unit.Followed == nil && d.multicast == nil && d.Upcoming == nil && d.lanes == nil
		}
		d.choose(f)
	}
	for t := range f.Terminals {
		f.Terminals[t] = terminal{wake: fabric.Never, Packet: -1, VC: int8(f.vcs) - 1}
		f.Wake(topology.TerminalID(t))
	}
}

// fill gives d what a fresh domain of f works with.
func (f *Fabric) fill(d *Domain) {
	d.hardware = f.hardware
	d.clock = clock{Cycle: -1, worked: -1, purged: -1, Steps: newStepTimes(&f.Config.Switch)}
	d.active = mem.Apart[uint64]((len(f.Masks) + 63) / 64)
	d.Matcher = newMatcher(f.mostPorts, int32(f.vcs), f.Config.Switch.Allocator.Name() == allocator.InputFirst)
	if f.hold != nil {
		d.hold = &holds{ports: f.hold.ports, bodies: make([]Request, 0, f.mostPorts)}
	}
	if f.unit != nil {
		own := *f.unit // with wheels of its own; domains share the records of ports and queues
		d.Unit = &own
	}
	if f.allocators != nil {
		d.registered = newRegistered(d)
	}
	if d.multicast = f.multicast; d.multicast != nil && !d.alone {
		own := *f.multicast // domains share what is numbered by queue, switch or port
		own.work, own.idle, own.mine, own.wanted, own.usedList = nil, nil, nil, nil, nil
		own.bids, own.usedInputs, own.usedOutputs = make([]bid, len(own.bids)), make([]bool, len(own.usedInputs)), make([]bool, len(own.usedOutputs))
		d.multicast = &own
	}
	d.Pool = flitPool{chunks: make([][chunkPlaces]Queued, 1)}
	d.makeWheels(f)
	d.openView()
}

// choose chooses the forms of a domain's loops: its lists hold just what there is to do.
func (d *Domain) choose(f *Fabric) {
	d.forms = forms{
		evaluate: (*Domain).evaluateAll, allocate: (*Domain).allocateUnicast, rivalVCs: (*Domain).allocateRivalVCs, request: (*Domain).requestCrossbar,
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
	d.singleVCs = d.asksForOne()
}

func (d *Domain) chooseMoments(f *Fabric) {
	add := func(is bool, m moment) {
		if is {
			d.moments = append(d.moments, m)
		}
	}
	// What fails takes arrivals with it. With several domains the last thread at the barrier does
	// this.
	add(f.Faults != nil && d.alone, func(_ *Domain, c int64) { f.Faults.tick(c) })
	// What left before waits no more. Observers see what that and faults have left.
	add(d.behind != nil, func(d *Domain, c int64) { d.behind.release(d, c) })
	add(d.observer != nil, func(d *Domain, _ int64) { d.observer.Begins(d) })
	// Routings that read queues at terminals do so before anything arrives, in any order.
	add(d.departsAhead, (*Domain).departAhead)
	// Arrivals, in any order. Terminals receive before they send: workloads answer at once.
	add(d.Unit != nil, func(d *Domain, c int64) { d.Unit.arrive(d, c) })
	add(d.Unit == nil, (*Domain).arriveCredits)
	add(d.held != nil, (*Domain).releaseCredits)
	add(true, (*Domain).arriveAtTerminals)
	add(true, (*Domain).arriveAtSwitches)
	add(d.Unit != nil && d.Unit.Followed != nil, func(d *Domain, c int64) { d.Unit.Followed.tailsArrive(d, c) })
	add(d.listener != nil, func(d *Domain, c int64) { d.listener.ring(c) })
	// Terminals have this cycle's credits, as switches do, which come last: their effects elsewhere
	// are later cycles'.
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
	if d.Config.Switch.VCAllocator == fabric.InputFirst {
		d.rivalVCs, d.allRivals = (*Domain).putVCsForward, 1
	}
	if d.multicast != nil {
		d.allocate = (*Domain).allocateMulticast
	}
	if d.registered != nil {
		d.match = (*Domain).matchRegistered
	}
}

// chooseGates lists what may keep heads from asking for virtual channels, and for the crossbar.
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
	// Multicast packets have taken their ports, lanes choose among the rest, and flits behind heads
	// cross at once: heads alone are matched.
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

// Wake tells an idle terminal that its source may have a packet; busy ones do not mind. Under a
// kernel, which may have passed over many cycles, WakeAt is told the present one.
func (f *Fabric) Wake(t topology.TerminalID) { f.WakeAt(t, 0) }

// WakeAt is Wake for a packet born in that cycle. Attaching a network wakes all terminals.
func (f *Fabric) WakeAt(t topology.TerminalID, cycle int64) {
	if f.attached {
		f.owner(t).wakeUp(t, cycle)
	}
}

// Attach connects f to a host and starts every terminal. Call it once, before the first cycle and
// after [Fabric.Divide] or [Fabric.DivideFor]. What [Fabric.Check] refuses is an error. A
// [fabric.Responder] is the source of all parts, whose sinks are [Recorder]s.
func (f *Fabric) Attach(host fabric.Host) error {
	parts := lists.Make(len(f.domains), func(i int) fabric.Ends { return host.Part(i) })
	if err := f.Check(parts[0].Source); err != nil {
		return err
	}
	if f.hostModel, _ = host.(HostModel); f.hostModel != nil {
		f.lookahead = min(f.lookahead, f.hostModel.Window())
	}
	f.open(parts)
	if responder, ok := parts[0].Source.(fabric.Responder); ok {
		responder.Start(func(t topology.TerminalID) fabric.Engine { return f.owner(t).listener })
	}
	return nil
}

// Divide divides f among threads, where that pays, before it is attached. worth is the terminals
// times cycles of a window from which a second thread is used; 0: from where it pays.
func (f *Fabric) Divide(threads int, worth int64) {
	if f.split(threads, fabric.Never, cmp.Or(worth, worthThreads), nil); f.onOne != "" {
		f.tile()
	}
}

// Check tells why f cannot be attached to a source; nil: it can.
func (f *Fabric) Check(source fabric.Source) error {
	if f.attached {
		return errors.New("the fabric has been run or attached before; a run needs a new one")
	}
	if s, ok := source.(sizedSource); ok && s.Terminals() != f.graph.Terminals() {
		return fmt.Errorf("the source has %d terminals, the network %d", s.Terminals(), f.graph.Terminals())
	}
	if w, ok := source.(fabric.Workload); ok && f.Faults != nil && !fabric.BearsLosses(w) {
		return errors.New("the workload would wait for answers to packets that are lost: it is no fabric.LossListener that bears losses")
	}
	return nil
}

// sizedSource is implemented by sources that are made for so many terminals.
type sizedSource interface{ Terminals() int }

// Clocked is a domain as a component of a kernel; f itself, if it is the only one.
func (f *Fabric) Clocked(domain int) sim.Clocked {
	if len(f.domains) == 1 {
		return f
	}
	return f.domains[domain]
}

func (f *Fabric) ask(routing fabric.Routing) {
	f.injection = routing.InjectionVCs(f.vcs) & f.allVCs
	f.needs = fabric.NeedsOf(routing)
	if f.needs.Departs {
		r, ok := routing.(fabric.Departer)
		if !ok {
			f.misuse("declares Needs.Departs and is no fabric.Departer")
		}
		f.departer, f.injection = r, 0
		if f.departsAhead = f.needs.Queues || f.needs.Credits; f.departsAhead {
			f.lead = int64(min(1, f.Config.Terminal.InjectionCycles))
		}
		f.departures = make([]sim.Stream, f.graph.Terminals())
		for t := range f.departures {
			f.departures[t] = sim.NewStream(f.seed, "departure", t)
		}
	} else if f.injection == 0 {
		f.misuse("lets terminals inject on none of the %d virtual channels: want some in InjectionVCs", f.vcs)
	}
	if r, ok := routing.(fabric.EscapeRouting); ok {
		f.escape = newEscape(&f.network, r)
	}
	if f.Config.Switch.Marks() { // by what waits, which does not make terminals decide ahead
		f.needs.Queues, f.needs.Crossed = true, true
	}
	f.countPorts()
	f.watched = f.needs.Queues || f.escape != nil || f.needs.Credits
}

// layOutSwitches numbers the switches and their queues.
func (f *Fabric) layOutSwitches() {
	g, vcs := f.graph, int32(f.vcs)
	f.Switches = make([]SwitchState, g.Switches())
	f.streams = make([]sim.Stream, g.Switches())
	word := int32(0)
	for s := range f.Switches {
		first, end := g.Ports(topology.SwitchID(s))
		n := int32(end - first)
		words := (n*vcs + 63) / 64
		f.Switches[s] = SwitchState{Queue0: word * 64, Port0: int32(first), Ports: n}
		f.streams[s] = sim.NewStream(f.seed, "routing", s)
		word += words
		f.mostPorts = max(f.mostPorts, n)
	}
	f.Queues = make([]InVC, word*64)
	f.seconds, f.came = make([]int32, len(f.Queues)), make([]arrival, len(f.Queues))
	f.waitNext = make([]int32, len(f.Queues))
	f.acceptOV = make([]int32, len(f.Queues))
	f.Upcoming = newUpcoming(&f.network, len(f.Queues))
	f.Masks = make([]masks, word)
	f.WordSwitch = make([]int32, word)
	for q := range f.Queues {
		f.Queues[q].Out = -1
	}
}

// wire fills in both ends of every channel.
func (f *Fabric) wire(timings []fabric.ChannelTiming) {
	g, vcs := f.graph, f.vcs
	ports, terminals := g.NumPorts(), g.Terminals()
	f.received = unboundedCredits
	if n := f.Config.Terminal.BufferFlits; n > 0 {
		f.received = int32(n)
	}
	f.laterBack = int64(f.Config.Switch.CreditCycles - fabric.TerminalCreditCycles)
	f.TerminalOut0, f.terminalOV0 = int32(ports), int32(ports*vcs)
	f.OutVC = make([]outVC, (ports+terminals)*vcs)
	f.Out = make([]OutPort, ports+terminals)
	f.in = make([]inPort, ports)
	for s := range f.Switches {
		sw := &f.Switches[s]
		end := int32(len(f.Queues))
		if s+1 < len(f.Switches) {
			end = f.Switches[s+1].Queue0
		}
		sw.masks = f.Masks[sw.Queue0/64 : end/64]
		if sw.Ports > 0 {
			port0, ports := int(sw.Port0), int(sw.Ports)
			sw.queues, sw.outVCs = check.Of(f.Queues[sw.Queue0:end]), check.Of(f.OutVC[port0*vcs:][:ports*vcs])
			sw.outs, sw.ins = check.Of(f.Out[port0:][:ports]), check.Of(f.in[port0:][:ports])
		}
		for w := range sw.masks {
			f.WordSwitch[int(sw.Queue0/64)+w] = int32(s)
		}
	}
	f.Terminals = make([]terminal, terminals)
	credit := int32(f.Config.Switch.CreditCycles)
	limit := int64(f.Config.Switch.OutputBufferFlits)
	// A terminal's unbounded buffers bound nothing, so what waits for its channel is bounded at the
	// switch: by the room of a switch's buffer, but not so that flits in the crossbar keep the
	// channel from being full.
	terminalLimit := limit
	if limit == 0 && !f.receives() {
		terminalLimit = max(int64(f.buffer)*int64(vcs), f.Config.Switch.CrossingCycles()+2)
	}
	for p := range ports {
		port := topology.PortID(p)
		t := timings[g.PortClass[p]]
		o := OutPort{until: -1, free: 1<<vcs - 1, pace: f.paceOf(t, limit)}
		f.in[p].until, f.in[p].delay = -1, int32(t.CreditLatency)+credit
		if peer, ok := g.PeerPort(port); ok {
			o.dest, o.Bounded, o.wheel = f.queueOf(peer, 0), 1, toSwitches
			f.in[p].upstream = f.ov(peer, 0)
		} else {
			terminal, _ := g.PeerTerminal(port)
			o.dest, o.pace = ^int32(terminal), f.paceOf(t, terminalLimit)
			f.in[p].upstream, f.in[p].delay = f.terminalOV(terminal, 0), int32(t.CreditLatency)+fabric.TerminalCreditCycles
			f.Out[ports+int(terminal)] = OutPort{until: -1, dest: f.queueOf(port, 0), pace: f.paceOf(t, 0)}
		}
		f.Out[p] = o
		for vc := range vcs {
			f.OutVC[f.ov(port, vc)] = outVC{credits: f.bufferOf(port), owner: ^f.Switches[g.PortSwitch[p]].Queue0}
		}
	}
	for ov := f.terminalOV0; int(ov) < len(f.OutVC); ov++ {
		f.OutVC[ov].credits = f.buffer
	}
}

// Switch ports tell probes and routings what they have and have done. Here is counted what nobody
// else needs: where a channel's flits are follows from when they crossed and what has not left.

// countPorts has the network keep what probes and the routing ask of ports. Terminals do not decide
// ahead for it.
func (f *Fabric) countPorts() {
	c, n := &f.Config, &f.needs
	if n.Sent && (f.escape != nil || n.HeldSlots) {
		f.misuse("declares Needs.Sent, and is a fabric.EscapeRouting or declares HeldSlots: what waits, which is no longer what has not left, says what has")
	}
	n.Sent, n.Marked = n.Sent || c.Probed(fabric.Sent), n.Marked || c.Probed(fabric.Marked)
	n.Queues = n.Queues || n.Sent || c.Probed(fabric.Waiting)
	n.Credits = n.Credits || c.Probed(fabric.Outstanding)
	if n.Crossed = n.Crossed && n.Queues || n.Sent; n.Crossed {
		f.crossed = make([]int32, f.graph.NumPorts()*f.vcs)
	}
	if n.Marked && c.Switch.Marks() {
		f.marked = make([]uint32, f.graph.NumPorts())
	}
}
