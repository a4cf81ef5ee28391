package core

import (
	"github.com/weft-sim/weft/fabric"
)

// Observer looks at what happens in a domain and changes nothing. It is told of moments
// in the lives of packets, and reads what else it wants from the domain. Where nobody
// looks, a domain has none, which costs a test at each moment. A new observer embeds
// [Unobserved], has the methods that it wants, and is given to [Fabric.Observe].
type Observer interface {
	// Part is the observer of a domain, which is told of what happens there. Only that
	// of a network is asked, before the first cycle, for each domain.
	Part(d *Domain) Observer
	// Gather takes over what the observers of domains have seen.
	Gather()
	// Begins: a cycle, of which nothing is done yet but that faults have happened and that what
	// left before waits no more. Cycles in which nothing happens are left out, but for those
	// that next names.
	Begins(d *Domain)
	// Injects: the head of the packet that terminal t is sending enters the network.
	Injects(d *Domain, t int32)
	// Injected: so does its last flit.
	Injected(d *Domain, t int32)
	// Arrived: flits have been put into queues of switches, one each at most; of packets
	// as the unit head and tail.
	Arrived(d *Domain, flits []Flit)
	// Sleeps: the flit at the front of a queue does not ask any more, for want of
	// something, until it is told to resume.
	Sleeps(d *Domain, queue int32, part Part)
	// Resumes: it is awake, and waits for something that is decided anew in each step.
	Resumes(d *Domain, queue int32, part Part)
	// Blocked: it does not ask for the crossbar in this cycle, there being no room
	// behind it on the way to o.
	Blocked(d *Domain, queue int32, o *OutPort)
	// GrantedVC: packets at the front of their queues are about to be given virtual
	// channels in a step.
	GrantedVC(d *Domain, sw *SwitchState, matches []Request, step uint32)
	// GrantedSwitch: flits are about to cross the switch in a step; where packets are the
	// unit, heads.
	GrantedSwitch(d *Domain, sw *SwitchState, matches []Request, t *StepTime)
	// TailCrosses: where packets are the unit, the last flit of one of several flits is
	// about to cross the switch in a step, and leaves by the channel at a time. Its head
	// has been granted the switch before.
	TailCrosses(d *Domain, sw *SwitchState, m Request, t *StepTime, leaves int64)
	// Delivered: the packet of this number has arrived whole.
	Delivered(d *Domain, packet int32, delivery *fabric.Delivery)
	// Discarded: the packet of this number has been taken out of the network.
	Discarded(d *Domain, packet int32)
	// Uncovered: a head has come to the front of a queue because the packets before
	// it have been discarded.
	Uncovered(d *Domain, queue int32)
	// EndCycle: all of a cycle is done. Cycles in which nothing happens are left out, but
	// for the one that next names, of those to come; Never: none.
	EndCycle(d *Domain)
	Next() int64
	// Archive writes, between cycles, what the observers of all domains have seen, in a
	// form that does not depend on which domain saw it, or reads it into a network that has
	// not simulated a cycle.
	Archive(x *Archiver)
}

// Unobserved stands for moments that an observer takes no notice of.
type Unobserved struct{}

func (Unobserved) Gather()                                                      {}
func (Unobserved) Begins(*Domain)                                               {}
func (Unobserved) Injects(*Domain, int32)                                       {}
func (Unobserved) Injected(*Domain, int32)                                      {}
func (Unobserved) Arrived(*Domain, []Flit)                                      {}
func (Unobserved) Sleeps(*Domain, int32, Part)                                  {}
func (Unobserved) Resumes(*Domain, int32, Part)                                 {}
func (Unobserved) Blocked(*Domain, int32, *OutPort)                             {}
func (Unobserved) GrantedVC(*Domain, *SwitchState, []Request, uint32)           {}
func (Unobserved) GrantedSwitch(*Domain, *SwitchState, []Request, *StepTime)    {}
func (Unobserved) TailCrosses(*Domain, *SwitchState, Request, *StepTime, int64) {}
func (Unobserved) Delivered(*Domain, int32, *fabric.Delivery)                   {}
func (Unobserved) Discarded(*Domain, int32)                                     {}
func (Unobserved) Uncovered(*Domain, int32)                                     {}
func (Unobserved) EndCycle(*Domain)                                             {}
func (Unobserved) Next() int64                                                  { return fabric.Never }

// Observe adds an observer. Only before the first cycle, and before the network is
// divided among threads.
func (f *Fabric) Observe(o Observer) {
	switch before := f.observer.(type) {
	case nil:
		f.observer = o
	case observers:
		f.observer = append(before, o)
	default:
		f.observer = observers{before, o}
	}
}

// observers are several, each told of everything.
type observers []Observer

// each tells all of a moment.
func (all observers) each(tell func(Observer)) {
	for _, o := range all {
		tell(o)
	}
}

func (all observers) Part(d *Domain) Observer {
	parts := make(observers, len(all))
	for i, o := range all {
		parts[i] = o.Part(d)
	}
	return parts
}

func (all observers) Gather()          { all.each(Observer.Gather) }
func (all observers) Begins(d *Domain) { all.each(func(o Observer) { o.Begins(d) }) }

func (all observers) Injects(d *Domain, t int32) { all.each(func(o Observer) { o.Injects(d, t) }) }

func (all observers) Injected(d *Domain, t int32) { all.each(func(o Observer) { o.Injected(d, t) }) }

func (all observers) Arrived(d *Domain, flits []Flit) {
	all.each(func(o Observer) { o.Arrived(d, flits) })
}

func (all observers) Sleeps(d *Domain, queue int32, part Part) {
	all.each(func(o Observer) { o.Sleeps(d, queue, part) })
}

func (all observers) Resumes(d *Domain, queue int32, part Part) {
	all.each(func(o Observer) { o.Resumes(d, queue, part) })
}

func (all observers) Blocked(d *Domain, queue int32, out *OutPort) {
	all.each(func(o Observer) { o.Blocked(d, queue, out) })
}

func (all observers) GrantedVC(d *Domain, sw *SwitchState, matches []Request, step uint32) {
	all.each(func(o Observer) { o.GrantedVC(d, sw, matches, step) })
}

func (all observers) GrantedSwitch(d *Domain, sw *SwitchState, matches []Request, t *StepTime) {
	all.each(func(o Observer) { o.GrantedSwitch(d, sw, matches, t) })
}

func (all observers) TailCrosses(d *Domain, sw *SwitchState, m Request, t *StepTime, leaves int64) {
	all.each(func(o Observer) { o.TailCrosses(d, sw, m, t, leaves) })
}

func (all observers) Delivered(d *Domain, packet int32, delivery *fabric.Delivery) {
	all.each(func(o Observer) { o.Delivered(d, packet, delivery) })
}

func (all observers) Discarded(d *Domain, packet int32) {
	all.each(func(o Observer) { o.Discarded(d, packet) })
}

func (all observers) Uncovered(d *Domain, queue int32) {
	all.each(func(o Observer) { o.Uncovered(d, queue) })
}

func (all observers) EndCycle(d *Domain) { all.each(func(o Observer) { o.EndCycle(d) }) }

func (all observers) Archive(x *Archiver) { all.each(func(o Observer) { o.Archive(x) }) }

func (all observers) Next() int64 {
	next := fabric.Never
	all.each(func(o Observer) { next = min(next, o.Next()) })
	return next
}

// Bidding is what a head that is at the front of its queue and routed waits
// for.
func (n *network) Bidding() Part {
	if n.Combined != 0 {
		return PartSwitch
	}
	return PartVC
}

// lacking is what a head goes to sleep for, by the virtual channels that are free: one of
// them, or room in one.
func lacking(free uint32) Part {
	if free == 0 {
		return PartVC
	}
	return PartCredit
}

// Part is a part of a packet's latency.
type Part int

// The parts of a packet's latency. In the queues of switches it is the flit at the front of the queue that waits, for
// itself and for all behind it.
const (
	PartSource   Part = iota // at its terminal, until the head enters the channel
	PartRoute                // route computation
	PartVC                   // virtual-channel allocation
	PartSwitch               // switch allocation and the crossbar
	PartCredit               // no buffer free at the far end
	PartSerial               // flits in front on their way through the crossbar and onto channels between switches
	PartEjection             // waiting for the channel to the destination
	PartWire                 // latencies of channels
	NumParts     = iota
)

// PartNames are the names of the parts.
var PartNames = [NumParts]string{"source_queue", "route", "vc_allocation", "switch_allocation", "credit_stall", "serialisation", "ejection", "wire"}

// Parts is a time by parts, in cycles.
type Parts [NumParts]int64

// Total is the sum of the parts.
func (p *Parts) Total() int64 {
	sum := int64(0)
	for _, x := range p {
		sum += x
	}
	return sum
}

// Add adds other.
func (p *Parts) Add(other *Parts) {
	for i, x := range other {
		p[i] += x
	}
}

// Subtract takes other away.
func (p *Parts) Subtract(other *Parts) {
	for i, x := range other {
		p[i] -= x
	}
}

// Waiting is the time spent waiting for a channel in the network, in
// packet-cycles: neither the source queue nor what an idle network takes for
// routes and wires.
func (p *Parts) Waiting() int64 {
	return p[PartVC] + p[PartSwitch] + p[PartCredit] + p[PartSerial] + p[PartEjection]
}
