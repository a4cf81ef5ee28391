package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// SetFaults makes things fail during the run. It must be called before [Fabric.Attach]. Error:
// something fails under credit sensing, where discarded packets would leave round trips open.
func (f *Fabric) SetFaults(plan *fabric.FaultPlan) error {
	if len(plan.Periods) == 0 || len(plan.Periods) != len(plan.Routing) || plan.Periods[0].From != 0 {
		panic("core: a fault plan without a period, or a routing for every period, from cycle 0 on")
	}
	if f.unit != nil {
		return fmt.Errorf("packets as the unit cannot be discarded on their way: set fabric.unit = \"flit\", or let faults last for the whole run and cut nobody off")
	}
	if f.sensing != nil && len(plan.Periods) > 1 {
		return fmt.Errorf("credit sensing cannot follow packets that are discarded: set switch.credit_sensing = \"off\", or let faults last for the whole run")
	}
	if (f.lanes != nil || f.laneQueues != nil) && len(plan.Periods) > 1 {
		return fmt.Errorf("arbitration between lanes cannot follow packets that are discarded while they cross a switch: leave out switch.vlarb_high and vlarb_low, or let faults last for the whole run")
	}
	for _, r := range plan.Routing {
		if err := checkRouting(f.graph, r); err != nil {
			return err
		}
	}
	x := &faults{fabric: f, plan: plan, down: plan.Periods[0].Down, whole: plan.Periods[0].Down.None(), senders: make([]sender, f.graph.Terminals())}
	if plan.AfterWarmup {
		x.origin = fabric.Never
	}
	x.learn(0)
	f.Faults, f.routing = x, x
	if f.departer != nil {
		f.departer = x
	}
	f.SourcePackets = &sourcePacketTable{}
	return nil
}

// Route implements [fabric.Routing]: packets for a channel that is down are discarded.
func (x *faults) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	hop := x.Routing.Route(v, h)
	if hop.Port != topology.NoPort && x.down.Port(hop.Port) {
		return fabric.Discard
	}
	return hop
}

func (x *faults) Depart(v *fabric.View, h *fabric.Head) uint32 {
	return x.Routing.(fabric.Departer).Depart(v, h)
}

// ReadsWithin implements [fabric.RemoteReader] for the routings of all periods.
func (x *faults) ReadsWithin(domain []int) bool {
	for _, routing := range x.plan.Routing {
		if r, ok := routing.(fabric.RemoteReader); ok && !r.ReadsWithin(domain) {
			return false
		}
	}
	return true
}

// learn lets switches and terminals go by the faults of a period.
func (x *faults) learn(period int) {
	x.known = period
	x.Routing = x.plan.Routing[period]
	x.part = x.plan.Periods[period].Down.Components()
}

// reachable tells whether terminals know of a path from src to dst.
func (x *faults) reachable(g *topology.Graph, src, dst topology.TerminalID) bool {
	from, to := g.TerminalSwitch(src), g.TerminalSwitch(dst)
	return !x.down.Switch(from) && x.part[from] >= 0 && x.part[from] == x.part[to]
}

// WarmedUp tells a network, once, that its warm-up has ended; later faults may count from this
// cycle.
func (f *Fabric) WarmedUp() {
	if f.Faults != nil && f.Faults.origin == fabric.Never {
		f.Faults.origin = f.Cycle()
	}
}

// changes is the first cycle of the period behind one, heard that in which routing goes by it;
// Never: none, or not known yet.
func (x *faults) changes(period int) int64 {
	if period+1 >= len(x.plan.Periods) || x.origin == fabric.Never {
		return fabric.Never
	}
	return x.origin + x.plan.Periods[period+1].From
}

func (x *faults) heard(period int) int64 {
	if c := x.changes(period); c < fabric.Never {
		return c + x.plan.Reroute
	}
	return fabric.Never
}

// next is the next cycle in which something changes.
func (x *faults) next() int64 { return min(x.heard(x.known), x.changes(x.now)) }

// faulty puts retries between a domain's terminals and their source and sink.
func (f *Fabric) faulty(d *Domain) {
	if f.multicast != nil {
		panic("core: faults do not follow the copies of multicast packets")
	}
	if !d.alone && f.SourcePackets.ids() == 0 {
		f.SourcePackets.Divided()
	}
	d.retry = &retry{domain: d, x: f.Faults, source: d.source, sink: d.sink, heard: make([][]landing, len(f.domains))}
	d.source, d.sink = d.retry, d.retry
}

func (r *retry) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	for {
		if id, ok := r.expired(t, until); ok {
			if r.send(t, id, until, spec) {
				return true
			}
			continue
		}
		if !r.source.Next(t, until, spec) {
			if s := &r.x.senders[t]; s.first < len(s.timers) {
				spec.Birth = min(spec.Birth, s.timers[s.first].end)
			}
			return false
		}
		if len(r.unused) == 0 {
			r.unused = r.domain.SourcePackets.more(r.unused)
		}
		id := r.unused[len(r.unused)-1]
		r.unused = r.unused[:len(r.unused)-1]
		*r.domain.SourcePackets.At(id) = sourcePacket{Spec: *spec}
		r.pending++
		if r.send(t, id, until, spec) {
			return true
		}
	}
}

// expired takes terminal t's timers that have ended by a cycle, until one asks for another
// transmission.
func (r *retry) expired(t topology.TerminalID, until int64) (sourcePacket int32, ok bool) {
	s := &r.x.senders[t]
	for s.first < len(s.timers) && s.timers[s.first].end <= until {
		due := s.timers[s.first]
		if s.first++; s.first > len(s.timers)/2 { // moves each timer once, on average
			s.timers = append(s.timers[:0], s.timers[s.first:]...)
			s.first = 0
		}
		l := r.domain.SourcePackets.At(due.sourcePacket)
		l.timed = false
		if l.delivered && l.acked <= due.end || int(l.tries) > r.x.plan.Retries {
			r.settle(t, due.sourcePacket)
			continue
		}
		return due.sourcePacket, true
	}
	return 0, false
}

// send makes a source packet's next transmission, if it has a path.
func (r *retry) send(t topology.TerminalID, id int32, now int64, spec *fabric.PacketSpec) bool {
	l := r.domain.SourcePackets.At(id)
	l.tries++
	if r.x.plan.Retries > 0 {
		l.timed = true
		r.x.senders[t].timers = append(r.x.senders[t].timers, timer{now + r.x.plan.Timeout, id})
	}
	if l.noPath = !r.x.reachable(r.domain.graph, t, l.Spec.Dst); l.noPath {
		r.settle(t, id)
		return false
	}
	if l.sent++; l.sent > 1 {
		r.tally.Retransmitted++
	}
	*spec = l.Spec
	spec.Tag = uint64(id)
	return true
}

func (r *retry) Deliver(d *fabric.Delivery) {
	id, src := int32(d.Tag), d.Src
	l := r.domain.SourcePackets.At(id)
	e := landing{sourcePacket: id, src: src, again: l.heard, acked: 2*d.Cycle - d.Inject}
	if e.again {
		r.tally.Duplicates++
		r.tally.WastedFlits += int64(d.Flits)
	} else {
		l.heard = true
		d.Tag = l.Spec.Tag
		r.sink.Deliver(d)
	}
	f := r.x.fabric
	if of := f.domainOf[f.graph.TerminalSwitch(src)]; f.domains[of] != r.domain {
		r.heard[of] = append(r.heard[of], e)
	} else {
		r.lands(src, &e)
	}
}

// hear takes what another domain has heard of packets of this one, number me.
func (r *retry) hear(other *retry, me int) {
	for i := range other.heard[me] {
		e := &other.heard[me][i]
		r.lands(e.src, e)
	}
	other.heard[me] = other.heard[me][:0]
}

// lands tells that a transmission has arrived.
func (r *retry) lands(t topology.TerminalID, e *landing) {
	l := r.domain.SourcePackets.At(e.sourcePacket)
	l.landed++
	if !e.again {
		l.delivered, l.acked = true, e.acked
		r.pending--
	}
	r.settle(t, e.sourcePacket)
}

// dropped tells that a transmission of terminal t has been discarded, while packets are.
func (r *retry) dropped(t topology.TerminalID, id int32) {
	r.tally.Dropped++
	r.domain.SourcePackets.At(id).landed++
	r.discarding = true
	r.settle(t, id)
	r.discarding = false
}

// tellLost tells the workload, before cycle c, of the packets given up, in an order that does not
// depend on the division.
func (r *retry) tellLost(c int64) {
	slices.SortFunc(r.lost, func(a, b lost) int {
		return cmp.Or(cmp.Compare(a.terminal, b.terminal), cmp.Compare(a.spec.Birth, b.spec.Birth), cmp.Compare(a.spec.Tag, b.spec.Tag), cmp.Compare(a.spec.Dst, b.spec.Dst))
	})
	before := r.domain.Cycle
	r.domain.Cycle = c - 1
	for i := range r.lost {
		r.domain.listener.lost(r.lost[i].terminal, &r.lost[i].spec)
	}
	r.domain.Cycle, r.lost = before, r.lost[:0]
}

// settle ends a source packet of terminal t with nothing under way.
func (r *retry) settle(t topology.TerminalID, id int32) {
	l := r.domain.SourcePackets.At(id)
	if l.sent > l.landed || l.timed {
		return
	}
	if !l.delivered {
		r.pending--
		r.tally.GivenUpFlits += int64(l.Spec.Flits)
		if l.noPath {
			r.tally.Unreachable++
		} else {
			r.tally.Lost++
		}
	}
	if !l.delivered && r.domain.listener != nil {
		if r.lost = append(r.lost, lost{t, l.Spec}); !r.discarding {
			r.tellLost(r.domain.Cycle + 2) // the next cycle: a sender that tries again at once would never end
		}
	}
	l.Spec.Birth = fabric.Never
	r.unused = append(r.unused, id)
}

// Patience is how long retries may take a packet.
func (f *Fabric) Patience() int64 {
	if f.Faults == nil {
		return 0
	}
	return f.Faults.plan.Timeout * int64(f.Faults.plan.Retries+1)
}
