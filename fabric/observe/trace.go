package observe

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Tracer records the lives of some packets. Memory grows with the packets followed at a time: all
// matching ones in flight, if the slowest are wanted. Of a path it sees the first 255 switches.
//
// Every domain has a Tracer of its own; the first domain's is the network's. It follows packets of
// its terminals, as many as are wanted in all, and keeps those that arrive in its domain. In the
// end the wanted ones of all domains are found.
type Tracer struct {
	core.Unobserved

	// OnPacket, if not nil, is told of each measured packet that arrives, on its destination's
	// thread; then all are followed, none kept. It must not keep its arguments.
	OnPacket func(p *PacketTrace)

	fabric        *core.Fabric
	source, given int64 // cycles that a packet takes at its terminal at least, and to be given a virtual channel

	parts   []*Tracer // of the domains, with the network's first; in that only
	plan    TracePlan
	meter   Window
	numbers []int                     // by terminal: measured packets that have entered the network
	matched []int                     // by terminal: how many of them match
	live    core.PacketRecords[*life] // nil: not followed
	kept    []*life                   // those that have arrived, in no order; at most plan.Packets
	spare   []*life                   // to be used again
	started []int64                   // cycles in which packets were begun with, where the first are wanted
}

// StartTrace makes the fabric record the packets of meter that plan chooses. Call it before Attach.
func StartTrace(f *core.Fabric, meter Window, plan TracePlan) *Tracer {
	n := f.Graph().Terminals()
	tr := &Tracer{fabric: f, source: int64(f.Config.Terminal.InjectionCycles),
		plan: plan, meter: meter, numbers: make([]int, n), matched: make([]int, n)}
	f.Observe(tr)
	return tr
}

// Part is the Tracer of a domain.
func (tr *Tracer) Part(d *core.Domain) core.Observer {
	p := tr
	switch len(tr.parts) {
	case 0:
		tr.given = d.Steps.CycleFrom(int64(d.VADelay))
	case 1:
		tr.live.Divided()
		fallthrough
	default:
		p = &Tracer{OnPacket: tr.OnPacket, plan: tr.plan, meter: tr.meter, numbers: tr.numbers, matched: tr.matched, live: tr.live}
	}
	tr.parts = append(tr.parts, p)
	return p
}

// Restart forgets all packets, also those under way, between cycles: the window begins anew.
func (tr *Tracer) Restart() {
	clear(tr.numbers)
	clear(tr.matched)
	for _, p := range tr.parts {
		p.kept, p.started = nil, nil
	}
	tr.live.Each(func(l **life) { *l = nil })
}

// Injects begins to follow a packet, if it is chosen.
func (tr *Tracer) Injects(d *core.Domain, t int32) {
	te := &d.Terminals[t]
	id, p := te.Packet, d.Packet(te.Packet)
	live := tr.live.Open(id)
	*live = nil
	if !tr.chooses(p, te.Dst, d.Cycle) {
		return
	}
	l := &life{}
	if n := len(tr.spare); n > 0 {
		l = tr.spare[n-1]
		tr.spare = tr.spare[:n-1]
	}
	l.PacketTrace = PacketTrace{Delivery: fabric.Delivery{Src: p.Src, Dst: topology.TerminalID(te.Dst), Inject: d.Cycle}, Number: tr.numbers[p.Src], VC: int(te.VC), Path: l.Path[:0]}
	*live = l
}

// Injected notes that the last flit of a packet enters the network.
func (tr *Tracer) Injected(d *core.Domain, t int32) {
	if l := *tr.live.At(d.Terminals[t].Packet); l != nil {
		l.InjectTail = d.Cycle
	}
}

// hop is the crossing that a flit is at; nil if its packet is not followed.
func (tr *Tracer) hop(packet int32, state uint32) *TraceHop {
	l := *tr.live.At(packet >> core.PacketBits)
	i := int(state >> core.HopShift)
	if l == nil || i >= core.MaxHops {
		return nil
	}
	return l.path.at(i)
}

// Arrived notes flits that have been put into their queues in this cycle.
func (tr *Tracer) Arrived(d *core.Domain, flits []core.Flit) {
	for i := range flits {
		e := &flits[i]
		h := tr.hop(e.Packet, e.State)
		if h == nil {
			continue
		}
		if e.Packet&core.TailFlit != 0 {
			h.TailArrive = d.Cycle
		}
		if e.Packet&core.HeadFlit != 0 {
			port, vc := d.PlaceOf(e.Queue)
			h.In, h.InVC, h.Arrive = port, vc, d.Cycle
			if d.Queues[e.Queue].Count == 1 {
				tr.atFront(d, h, d.Steps.FirstStep(d.Cycle))
			}
		}
	}
}

// atFront notes that a head may begin with route computation in a step.
func (tr *Tracer) atFront(d *core.Domain, h *TraceHop, step int64) {
	h.Front = d.Steps.CycleOf(step)
	h.Routed = d.Steps.CycleOf(step + int64(d.RouteDelay))
	h.Held = h.Routed
}

// front is the crossing of the head at the front of a queue; nil if there is none that is followed.
func (tr *Tracer) front(v *core.InVC) *TraceHop {
	if v.Packet&core.HeadFlit == 0 {
		return nil
	}
	return tr.hop(v.Packet, v.State)
}

// Uncovered notes that the packets before a queue's front head were discarded as this cycle began.
func (tr *Tracer) Uncovered(d *core.Domain, queue int32) {
	if h := tr.front(&d.Queues[queue]); h != nil {
		tr.atFront(d, h, d.Steps.FirstStep(d.Cycle))
	}
}

// Discarded forgets a packet. When it is sent again it is as good as any other.
func (tr *Tracer) Discarded(_ *core.Domain, id int32) {
	if l := tr.live.LookUp(id); l != nil {
		*l = nil
	}
}

// Sleeps notes that the flit at the front of a queue goes to sleep.
func (tr *Tracer) Sleeps(d *core.Domain, q int32, part core.Part) {
	h := tr.front(&d.Queues[q])
	if h == nil {
		return
	}
	if n := len(h.Waits); n > 0 && h.Waits[n-1].To == d.Cycle && h.Waits[n-1].Part == part {
		h.Waits[n-1].To = fabric.Never // woken in vain
		return
	}
	h.Waits = append(h.Waits, TraceWait{max(d.Cycle, h.Front), fabric.Never, part})
}

// Resumes notes that the flit at the front of a queue is awake.
func (tr *Tracer) Resumes(d *core.Domain, q int32, _ core.Part) {
	if h := tr.front(&d.Queues[q]); h != nil && len(h.Waits) > 0 {
		if w := &h.Waits[len(h.Waits)-1]; w.To == fabric.Never {
			w.To = max(d.Cycle, w.From)
		}
	}
}

// GrantedVC notes the virtual channels that packets are given in a step.
func (tr *Tracer) GrantedVC(d *core.Domain, sw *core.SwitchState, matches []core.Request, step uint32) {
	for _, m := range matches {
		v := sw.Queue(m.Local())
		if h := tr.hop(v.Packet, v.State); h != nil {
			h.Held = d.Steps.CycleOf(d.Steps.Wide(step) + int64(d.VADelay))
		}
	}
}

// GrantedSwitch notes the flits that are about to cross a switch in a step.
func (tr *Tracer) GrantedSwitch(d *core.Domain, sw *core.SwitchState, matches []core.Request, t *core.StepTime) {
	for _, m := range matches {
		v, o := sw.Queue(m.Local()), sw.OutPort(m.Output())
		leaves := max(t.Depart, o.NextFree)
		if h := tr.hop(v.Packet, v.State); h != nil && v.Packet&core.HeadFlit != 0 {
			h.Out, h.VCs = topology.PortID(sw.Port0+int32(m.Output())), v.Hop&(1<<16-1)
			h.OutVC = int(v.Out) % d.VCs()
			h.Cross, h.Ready, h.Depart = d.Cycle, core.WholeCycle(t.Depart), core.WholeCycle(leaves)
		}
		if d.EndsPacket(v.Packet) {
			tr.TailCrosses(d, sw, m, t, leaves)
		}
	}
}

// TailCrosses notes that a packet's last flit is about to cross a switch in a step, and that its
// queue's next packet is the front.
func (tr *Tracer) TailCrosses(d *core.Domain, sw *core.SwitchState, m core.Request, t *core.StepTime, leaves int64) {
	v := sw.Queue(m.Local())
	if h := tr.hop(v.Packet, v.State); h != nil {
		h.TailCross, h.TailDepart = d.Cycle, core.WholeCycle(leaves)
	}
	if v.Count < 2 {
		return
	}
	next := d.Second(sw.Queue0 + int32(m.Local()))
	if h := tr.hop(next.Packet, next.State); h != nil {
		routed, ready, held := d.Comes(sw.Queue0+int32(m.Local()), t.Number+1)
		h.Front, h.Routed = d.Steps.CycleOf(d.Steps.Wide(t.Number+1)), d.Steps.CycleOf(d.Steps.Wide(routed))
		h.Held = h.Routed
		if held {
			h.Held = d.Steps.CycleOf(d.Steps.Wide(ready))
		}
	}
}

// Delivered ends the record of a packet that has arrived, and keeps it if it is among the best.
func (tr *Tracer) Delivered(d *core.Domain, id int32, delivery *fabric.Delivery) {
	t := *tr.live.At(id)
	if t == nil {
		return
	}
	*tr.live.At(id) = nil
	t.Delivery = *delivery
	if d.SourcePackets != nil { // whose retries have numbered the packet
		t.Tag = d.SourcePackets.At(int32(t.Tag)).Spec.Tag
	}
	for i := range delivery.Hops {
		hop := t.path.at(i)
		t.Path = append(t.Path, *hop)
		*hop = TraceHop{}
	}
	last := &t.Path[len(t.Path)-1]
	t.HeadCycle = last.Depart + d.Latency(&d.Out[last.Out])
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

// Archive implements observer. It writes the candidates of all domains that count, which do not
// depend on the division; the first domain gets them.
func (tr *Tracer) Archive(x *core.Archiver) {
	a := x.Archive
	a.Mark("traces")
	snapshot.Array(a, "terminals", tr.numbers, snapshot.Int)
	snapshot.Array(a, "terminals", tr.matched, snapshot.Int)
	var started []int64
	var kept []*life
	last := fabric.Never
	if !a.Reading() {
		started, last = tr.starts()
		kept = tr.best()
	}
	snapshot.List(a, &started, snapshot.Int)
	snapshot.List(a, &kept, func(_ *snapshot.Archive, l **life) { archiveLife(x, l) })
	x.Packets.Each(a, func(id int32) {
		var l *life
		if at := tr.live.LookUp(id); !a.Reading() && at != nil && *at != nil && (*at).Inject <= last {
			l = *at
		}
		followed := l != nil
		if snapshot.Bool(a, &followed); followed {
			archiveLife(x, &l)
		}
		if a.Reading() {
			*tr.live.Open(id) = l
		}
	})
	if a.Reading() {
		tr.started, tr.kept = started, kept
	}
}

// archiveLife archives the record of a packet that is followed, or has been.
func archiveLife(x *core.Archiver, p **life) {
	a := x.Archive
	if a.Reading() {
		*p = &life{}
	}
	l := *p
	snapshot.Value(a, &l.PacketTrace)
	hops := l.path.list()
	snapshot.Value(a, &hops)
	for i := range hops {
		if a.Reading() {
			*l.path.at(i) = hops[i]
		}
	}
}
