package core

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// faulty puts the retries between the terminals of a domain and their source and sink.
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

// Next implements [fabric.Source].
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

// expired takes the timers of terminal t that have ended by a cycle until one
// of them asks for another transmission.
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

// Deliver implements [fabric.Sink].
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

// tellLost tells the workload, before cycle c, of the packets that have been given up, in an
// order that does not depend on how the network is divided.
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

// settle ends a source packet of terminal t of which nothing is under way any more.
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
