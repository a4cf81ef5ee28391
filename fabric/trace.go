package fabric

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// TracePlan chooses the packets whose lives are recorded, among those that a
// meter measures. Which they are does not depend on the order in which a cycle
// is simulated.
type TracePlan struct {
	Packets int  // at most so many; 0: none
	Every   int  // of each terminal's measured packets that match, each so-many-th; 0 counts as 1
	Slowest bool // those with the longest latency; otherwise those that enter the network first
	// Sources and Destinations, by terminal, are the ends of packets that
	// match; nil: all (len = terminals).
	Sources, Destinations []bool
}

// PacketTrace is the life of a packet. Cycles are points in time, as in
// [Delivery].
type PacketTrace struct {
	Delivery
	Number     int   // of the packet among the measured ones of its terminal, from 1
	VC         int   // of the channel out of the terminal
	InjectTail int64 // the last flit entered the channel
	HeadCycle  int64 // the head arrived; Cycle is when the tail did
	Path       []TraceHop
}

// TraceHop is a packet's crossing of a switch.
type TraceHop struct {
	In     topology.PortID
	InVC   int
	Out    topology.PortID
	OutVC  int
	VCs    uint32 // set of virtual channels that the routing allowed
	Arrive int64  // the head entered the queue, and the routing decided
	Front  int64  // the head is at the front of the queue
	Routed int64  // end of route computation
	Held   int64  // end of virtual-channel allocation; without such a stage, Routed
	Cross  int64  // the head was granted the switch
	Ready  int64  // the head was through switch allocation and crossbar
	Depart int64  // the head entered the channel
	// The same of the tail.
	TailArrive, TailCross, TailDepart int64
	// Waits are the times, in order, for which the head was asleep at the
	// front of its queue.
	Waits []TraceWait
}

// TraceWait is a time for which a head could not even ask: for want of a credit
// (PartCredit) or, where heads are given a virtual channel as they win the
// switch, of a free one (PartVC).
type TraceWait struct {
	From, To int64 // cycles; To is Never while it lasts
	Part     Part
}

// TraceStage is a stage of a packet's life.
type TraceStage int

// The stages of a packet's life, which follow one another and add up to its
// latency. They are those of its head until that has arrived.
const (
	StageSource TraceStage = iota // at its terminal
	StageWire                     // latencies of channels
	StageBuffer                   // behind other packets of its virtual channel
	StageRoute                    // route computation
	StageVC                       // virtual-channel allocation, waiting included
	StageCredit                   // asleep for want of a credit
	StageSwitch                   // switch allocation, waiting for the grant included, and the crossbar
	StageOutput                   // behind the crossbar, waiting for the channel
	StageTail                     // from the arrival of the head to that of the tail
	NumStages   = iota
)

// StageNames are the names of the stages.
var StageNames = [NumStages]string{"source_queue", "wire", "buffer", "route", "vc_allocation", "credit_stall", "switch_allocation", "output_queue", "tail"}

// Stages divides the packet's latency, in cycles.
func (p *PacketTrace) Stages() (stages [NumStages]int64) {
	stages[StageSource] = p.Inject - p.Birth
	left := p.Inject
	for i := range p.Path {
		h := &p.Path[i]
		stages[StageWire] += h.Arrive - left
		stages[StageBuffer] += h.Front - h.Arrive
		stages[StageRoute] += h.Routed - h.Front
		stages[StageVC] += h.Held - h.Routed
		stages[StageSwitch] += h.Ready - h.Held
		stages[StageOutput] += h.Depart - h.Ready
		for _, w := range h.Waits {
			if w.From < h.Held { // for room for a whole packet, to be given a virtual channel
				stages[StageVC] -= w.To - w.From
			} else {
				stages[StageSwitch] -= w.To - w.From
			}
			if w.Part == PartCredit {
				stages[StageCredit] += w.To - w.From
			} else {
				stages[StageVC] += w.To - w.From
			}
		}
		left = h.Depart
	}
	stages[StageWire] += p.HeadCycle - left
	stages[StageTail] = p.Cycle - p.HeadCycle
	return stages
}

// Tracer records the lives of some packets. Memory grows with the packets that
// it follows at a time: all in flight that match, where the slowest are looked
// for. Of a path of more than 255 switches it sees the first 255.
//
// Every domain has a Tracer of its own, the first that of the network. It begins to
// follow packets of its terminals, as many as are wanted of all, and keeps those that
// arrive here. Which of all are wanted is found in the end.
type Tracer struct {
	bystander
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

// life is the record of a packet that is followed. Its head and its tail may be in
// different domains, which then write to different crossings.
type life struct {
	PacketTrace
	path crossings
}

// crossings are some of a packet's crossings of switches, in order, and further ones. They
// never move: the domain of the head adds to them while others use those before.
type crossings struct {
	hops [8]TraceHop
	next *crossings
}

// at is crossing i, which comes next or has been before.
func (c *crossings) at(i int) *TraceHop {
	for ; i >= len(c.hops); i -= len(c.hops) {
		if c.next == nil {
			c.next = &crossings{}
		}
		c = c.next
	}
	return &c.hops[i]
}

// StartTrace makes the fabric record the packets that plan chooses among those
// that meter measures. It must be called before Attach.
func (f *Fabric) StartTrace(meter *Meter, plan TracePlan) *Tracer {
	n := f.graph.Terminals()
	tr := &Tracer{plan: plan, meter: meter, numbers: make([]int, n), matched: make([]int, n)}
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
		p = &Tracer{plan: tr.plan, meter: tr.meter, numbers: tr.numbers, matched: tr.matched, live: tr.live}
	}
	tr.parts = append(tr.parts, p)
	return p
}

// Packets are the packets recorded that have arrived, by the time at which they
// entered the network, then by terminal.
func (tr *Tracer) Packets() []*PacketTrace {
	var all []*life
	last := tr.lastStart()
	for _, p := range tr.parts {
		for _, l := range p.kept {
			if l.Inject <= last {
				all = append(all, l)
			}
		}
	}
	slices.SortFunc(all, tr.better)
	var list []*PacketTrace
	for _, l := range all[:min(len(all), tr.plan.Packets)] {
		list = append(list, &l.PacketTrace)
	}
	slices.SortFunc(list, earlier)
	return list
}

// lastStart is the cycle in which as many packets as are wanted had been begun with in
// all of the network; Never if there have not been as many, or the slowest are wanted.
// Those of later cycles, which a domain follows because it does not know of the others,
// do not count: also not in place of packets that have been discarded.
func (tr *Tracer) lastStart() int64 {
	var all []int64
	for _, p := range tr.parts {
		all = append(all, p.started...)
	}
	if tr.plan.Slowest || len(all) < tr.plan.Packets {
		return Never
	}
	slices.Sort(all)
	return all[tr.plan.Packets-1]
}

// earlier orders packets by the time at which they entered the network. A
// terminal has one at a time.
func earlier(a, b *PacketTrace) int {
	return cmp.Or(cmp.Compare(a.Inject, b.Inject), cmp.Compare(a.Src, b.Src))
}

// better orders packets by whether they are kept.
func (tr *Tracer) better(a, b *life) int {
	if tr.plan.Slowest {
		return cmp.Or(cmp.Compare(b.Cycle-b.Birth, a.Cycle-a.Birth), earlier(&a.PacketTrace, &b.PacketTrace))
	}
	return earlier(&a.PacketTrace, &b.PacketTrace)
}

// chooses tells whether a packet whose head enters the network in cycle c is to
// be followed.
func (tr *Tracer) chooses(p *packet, dst int32, c int64) bool {
	if !tr.meter.measures(p.birth) {
		return false
	}
	tr.numbers[p.src]++
	if tr.plan.Sources != nil && !tr.plan.Sources[p.src] || tr.plan.Destinations != nil && !tr.plan.Destinations[dst] {
		return false
	}
	tr.matched[p.src]++
	if (tr.matched[p.src]-1)%max(1, tr.plan.Every) != 0 {
		return false
	}
	if tr.plan.Slowest {
		return true
	}
	// Of the last cycle all are followed, and those of the first terminals kept.
	if n := len(tr.started); n >= tr.plan.Packets {
		return tr.started[n-1] == c
	}
	tr.started = append(tr.started, c)
	return true
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
	l.PacketTrace = PacketTrace{Number: tr.numbers[p.src], VC: int(te.vc), Path: l.Path[:0]}
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
		h.Waits[n-1].To = Never // woken in vain
		return
	}
	h.Waits = append(h.Waits, TraceWait{max(d.cycle, h.Front), Never, part})
}

// resumes notes that the flit at the front of a queue is awake.
func (tr *Tracer) resumes(d *domain, q int32, _ Part) {
	if h := tr.front(&d.queues[q]); h != nil && len(h.Waits) > 0 {
		if w := &h.Waits[len(h.Waits)-1]; w.To == Never {
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
		tail := v.packet&tailFlit != 0
		if h := tr.hop(v.packet, v.state); h != nil {
			depart := wholeCycle(max(t.depart, o.nextFree))
			if v.packet&headFlit != 0 {
				h.Out, h.VCs = topology.PortID(sw.port0+int32(m.output())), v.hop&(1<<16-1)
				h.OutVC = int(v.out) % d.vcs
				h.Cross, h.Ready, h.Depart = d.cycle, wholeCycle(t.depart), depart
			}
			if tail {
				h.TailCross, h.TailDepart = d.cycle, depart
			}
		}
		if tail && v.count > 1 {
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
	}
}

// delivered ends the record of a packet that has arrived, and keeps it if it is
// among the best.
func (tr *Tracer) delivered(d *domain, id int32, delivery *Delivery) {
	t := *tr.live.at(id)
	if t == nil {
		return
	}
	*tr.live.at(id) = nil
	t.Delivery = *delivery
	if d.faults != nil { // whose retries have numbered the packet
		t.Tag = d.faults.letters.at(int32(t.Tag)).spec.Tag
	}
	for i := range delivery.Hops {
		hop := t.path.at(i)
		t.Path = append(t.Path, *hop)
		*hop = TraceHop{}
	}
	last := &t.Path[len(t.Path)-1]
	t.HeadCycle = last.Depart + int64(d.out[last.Out].latency)
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
