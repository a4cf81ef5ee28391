package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// Tracer records the lives of some packets. Memory grows with the packets that
// it follows at a time: all in flight that match, where the slowest are looked
// for. Of a path of more than 255 switches it sees the first 255.
//
// Every domain has a Tracer of its own, the first that of the network. It begins to
// follow packets of its terminals, as many as are wanted of all, and keeps those that
// arrive here. Which of all are wanted is found in the end.
type Tracer struct {
	unobserved

	// OnPacket, if not nil, is told of each measured packet that arrives, on the thread of its
	// destination; then all are followed, and none is kept. It must not keep its arguments.
	OnPacket func(p *PacketTrace)

	fabric        *Fabric
	source, given int64 // cycles that a packet takes at its terminal at least, and to be given a virtual channel

	parts   []*Tracer // of the domains, with the network's first; in that only
	plan    TracePlan
	meter   *Meter
	numbers []int                // by terminal: measured packets that have entered the network
	matched []int                // by terminal: those of them that match
	live    packetRecords[*life] // nil: not followed
	kept    []*life              // those that have arrived, in no order; at most plan.Packets
	spare   []*life              // to be used again
	started []int64              // cycles in which packets were begun with, where the first are wanted
}

// StartTrace makes the fabric record the packets that plan chooses among those
// that meter measures. It must be called before Attach.
func (f *Fabric) StartTrace(meter *Meter, plan TracePlan) *Tracer {
	n := f.graph.Terminals()
	tr := &Tracer{fabric: f, source: int64(f.config.Terminal.InjectionCycles), given: f.domains[0].steps.cycleFrom(int64(f.vaDelay)),
		plan: plan, meter: meter, numbers: make([]int, n), matched: make([]int, n)}
	f.observe(tr)
	return tr
}

// part is the Tracer of a domain.
func (tr *Tracer) part(*domain) observer {
	p := tr
	switch len(tr.parts) {
	case 0:
	case 1:
		tr.live.divided()
		fallthrough
	default:
		p = &Tracer{OnPacket: tr.OnPacket, plan: tr.plan, meter: tr.meter, numbers: tr.numbers, matched: tr.matched, live: tr.live}
	}
	tr.parts = append(tr.parts, p)
	return p
}

// injects begins to follow a packet, if it is chosen.
func (tr *Tracer) injects(d *domain, t int32) {
	te := &d.terminals[t]
	id, p := te.packet, d.packet(te.packet)
	live := tr.live.open(id)
	*live = nil
	if !tr.chooses(p, te.dst, d.cycle) {
		return
	}
	l := &life{}
	if n := len(tr.spare); n > 0 {
		l = tr.spare[n-1]
		tr.spare = tr.spare[:n-1]
	}
	l.PacketTrace = PacketTrace{Delivery: fabric.Delivery{Src: p.src, Dst: topology.TerminalID(te.dst), Inject: d.cycle}, Number: tr.numbers[p.src], VC: int(te.vc), Path: l.Path[:0]}
	*live = l
}

// injected notes that the last flit of a packet enters the network.
func (tr *Tracer) injected(d *domain, t int32) {
	if l := *tr.live.at(d.terminals[t].packet); l != nil {
		l.InjectTail = d.cycle
	}
}

// hop is the crossing that a flit is at; nil if its packet is not followed.
func (tr *Tracer) hop(packet int32, state uint32) *TraceHop {
	l := *tr.live.at(packet >> packetBits)
	i := int(state >> hopShift)
	if l == nil || i >= maxHops {
		return nil
	}
	return l.path.at(i)
}

// arrived notes flits that have been put into their queues in this cycle.
func (tr *Tracer) arrived(d *domain, flits []flit) {
	for i := range flits {
		e := &flits[i]
		h := tr.hop(e.packet, e.state)
		if h == nil {
			continue
		}
		if e.packet&tailFlit != 0 {
			h.TailArrive = d.cycle
		}
		if e.packet&headFlit != 0 {
			port, vc := d.placeOf(e.queue)
			h.In, h.InVC, h.Arrive = port, vc, d.cycle
			if d.queues[e.queue].count == 1 {
				tr.atFront(d, h, d.steps.firstStep(d.cycle))
			}
		}
	}
}

// atFront notes that a head may begin with route computation in a step.
func (tr *Tracer) atFront(d *domain, h *TraceHop, step int64) {
	h.Front = d.steps.cycleOf(step)
	h.Routed = d.steps.cycleOf(step + int64(d.routeDelay))
	h.Held = h.Routed
}

// front is the crossing of the head at the front of a queue; nil if there is
// none that is followed.
func (tr *Tracer) front(v *inVC) *TraceHop {
	if v.packet&headFlit == 0 {
		return nil
	}
	return tr.hop(v.packet, v.state)
}

// uncovered notes that the packets before the head at the front of a queue have
// been discarded at the beginning of this cycle.
func (tr *Tracer) uncovered(d *domain, queue int32) {
	if h := tr.front(&d.queues[queue]); h != nil {
		tr.atFront(d, h, d.steps.firstStep(d.cycle))
	}
}

// discarded forgets a packet. When it is sent again it is as good as any other.
func (tr *Tracer) discarded(_ *domain, id int32) {
	if l := tr.live.lookUp(id); l != nil {
		*l = nil
	}
}

// sleeps notes that the flit at the front of a queue goes to sleep.
func (tr *Tracer) sleeps(d *domain, q int32, part Part) {
	h := tr.front(&d.queues[q])
	if h == nil {
		return
	}
	if n := len(h.Waits); n > 0 && h.Waits[n-1].To == d.cycle && h.Waits[n-1].Part == part {
		h.Waits[n-1].To = fabric.Never // woken in vain
		return
	}
	h.Waits = append(h.Waits, TraceWait{max(d.cycle, h.Front), fabric.Never, part})
}

// resumes notes that the flit at the front of a queue is awake.
func (tr *Tracer) resumes(d *domain, q int32, _ Part) {
	if h := tr.front(&d.queues[q]); h != nil && len(h.Waits) > 0 {
		if w := &h.Waits[len(h.Waits)-1]; w.To == fabric.Never {
			w.To = max(d.cycle, w.From)
		}
	}
}

// grantedVC notes the virtual channels that packets are given in a step.
func (tr *Tracer) grantedVC(d *domain, sw *switchState, matches []request, step uint32) {
	for _, m := range matches {
		v := sw.queue(m.local())
		if h := tr.hop(v.packet, v.state); h != nil {
			h.Held = d.steps.cycleOf(d.steps.wide(step) + int64(d.vaDelay))
		}
	}
}

// grantedSwitch notes the flits that are about to cross a switch in a step.
func (tr *Tracer) grantedSwitch(d *domain, sw *switchState, matches []request, t *stepTime) {
	for _, m := range matches {
		v, o := sw.queue(m.local()), sw.outPort(m.output())
		leaves := max(t.depart, o.nextFree)
		if h := tr.hop(v.packet, v.state); h != nil && v.packet&headFlit != 0 {
			h.Out, h.VCs = topology.PortID(sw.port0+int32(m.output())), v.hop&(1<<16-1)
			h.OutVC = int(v.out) % d.vcs
			h.Cross, h.Ready, h.Depart = d.cycle, wholeCycle(t.depart), wholeCycle(leaves)
		}
		if d.endsPacket(v.packet) {
			tr.tailCrosses(d, sw, m, t, leaves)
		}
	}
}

// tailCrosses notes the last flit of a packet that is about to cross a switch in a step,
// and that the next packet of its queue comes to the front.
func (tr *Tracer) tailCrosses(d *domain, sw *switchState, m request, t *stepTime, leaves int64) {
	v := sw.queue(m.local())
	if h := tr.hop(v.packet, v.state); h != nil {
		h.TailCross, h.TailDepart = d.cycle, wholeCycle(leaves)
	}
	if v.count < 2 {
		return
	}
	next := &d.pool[d.pool[v.last-1].next-1]
	if h := tr.hop(next.packet, next.state); h != nil {
		routed, ready, held := d.comes(sw.queue0+int32(m.local()), t.number+1)
		h.Front, h.Routed = d.steps.cycleOf(d.steps.wide(t.number+1)), d.steps.cycleOf(d.steps.wide(routed))
		h.Held = h.Routed
		if held {
			h.Held = d.steps.cycleOf(d.steps.wide(ready))
		}
	}
}

// delivered ends the record of a packet that has arrived, and keeps it if it is
// among the best.
func (tr *Tracer) delivered(d *domain, id int32, delivery *fabric.Delivery) {
	t := *tr.live.at(id)
	if t == nil {
		return
	}
	*tr.live.at(id) = nil
	t.Delivery = *delivery
	if d.faults != nil { // whose retries have numbered the packet
		t.Tag = d.faults.sourcePackets.at(int32(t.Tag)).spec.Tag
	}
	for i := range delivery.Hops {
		hop := t.path.at(i)
		t.Path = append(t.Path, *hop)
		*hop = TraceHop{}
	}
	last := &t.Path[len(t.Path)-1]
	t.HeadCycle = last.Depart + d.latency(&d.out[last.Out])
	if tr.OnPacket != nil {
		tr.OnPacket(&t.PacketTrace)
		tr.spare = append(tr.spare, t)
		return
	}
	if len(tr.kept) < tr.plan.Packets {
		tr.kept = append(tr.kept, t)
		return
	}
	worst := 0
	for i, other := range tr.kept {
		if tr.better(other, tr.kept[worst]) > 0 {
			worst = i
		}
	}
	if tr.better(t, tr.kept[worst]) < 0 {
		t, tr.kept[worst] = tr.kept[worst], t
	}
	tr.spare = append(tr.spare, t)
}
