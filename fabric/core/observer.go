package core

import "github.com/weft-sim/weft/fabric"

// observer looks at what happens in a domain and changes nothing. It is told of moments
// in the lives of packets, and reads what else it wants from the domain. Where nobody
// looks, a domain has none, which costs a test at each moment. A new observer embeds
// [observer], has the methods that it wants, and is given to [Fabric.observe].
type observer interface {
	// part is the observer of a domain, which is told of what happens there. Only that
	// of a network is asked, before the first cycle, for each domain.
	part(d *domain) observer
	// opens: a window begins, and all domains stand still.
	opens()
	// gather takes over what the observers of domains have seen.
	gather()
	// begins: a cycle, of which nothing is done yet but that faults have happened and that what
	// left before waits no more. Cycles in which nothing happens are left out, but for those
	// that next names.
	begins(d *domain)
	// injects: the head of the packet that terminal t is sending enters the network.
	injects(d *domain, t int32)
	// injected: so does its last flit.
	injected(d *domain, t int32)
	// arrived: flits have been put into queues of switches, one each at most; of packets
	// as the unit head and tail.
	arrived(d *domain, flits []flit)
	// sleeps: the flit at the front of a queue does not ask any more, for want of
	// something, until it is told to resume.
	sleeps(d *domain, queue int32, part Part)
	// resumes: it is awake, and waits for something that is decided anew in each step.
	resumes(d *domain, queue int32, part Part)
	// blocked: it does not ask for the crossbar in this cycle, there being no room
	// behind it on the way to o.
	blocked(d *domain, queue int32, o *outPort)
	// grantedVC: packets at the front of their queues are about to be given virtual
	// channels in a step.
	grantedVC(d *domain, sw *switchState, matches []request, step uint32)
	// grantedSwitch: flits are about to cross the switch in a step; where packets are the
	// unit, heads.
	grantedSwitch(d *domain, sw *switchState, matches []request, t *stepTime)
	// tailCrosses: where packets are the unit, the last flit of one of several flits is
	// about to cross the switch in a step, and leaves by the channel at a time. Its head
	// has been granted the switch before.
	tailCrosses(d *domain, sw *switchState, m request, t *stepTime, leaves int64)
	// delivered: the packet of this number has arrived whole.
	delivered(d *domain, packet int32, delivery *fabric.Delivery)
	// discarded: the packet of this number has been taken out of the network.
	discarded(d *domain, packet int32)
	// uncovered: a head has come to the front of a queue because the packets before
	// it have been discarded.
	uncovered(d *domain, queue int32)
	// endCycle: all of a cycle is done. Cycles in which nothing happens are left out, but
	// for the one that next names, of those to come; Never: none.
	endCycle(d *domain)
	next() int64
	// archive writes, between cycles, what the observers of all domains have seen, in a
	// form that does not depend on which domain saw it, or reads it into a network that has
	// not simulated a cycle.
	archive(x *archiver)
}

// observer stands for moments that an observer takes no notice of.
type unobserved struct{}

func (unobserved) tailCrosses(*domain, *switchState, request, *stepTime, int64) {}

func (unobserved) opens()                           {}
func (unobserved) gather()                          {}
func (unobserved) begins(*domain)                   {}
func (unobserved) injects(*domain, int32)           {}
func (unobserved) sleeps(*domain, int32, Part)      {}
func (unobserved) resumes(*domain, int32, Part)     {}
func (unobserved) blocked(*domain, int32, *outPort) {}
func (unobserved) discarded(*domain, int32)         {}
func (unobserved) uncovered(*domain, int32)         {}
func (unobserved) endCycle(*domain)                 {}
func (unobserved) next() int64                      { return fabric.Never }

// observe adds an observer. Only before the first cycle, and before the network is
// divided among threads.
func (f *Fabric) observe(o observer) {
	switch before := f.observer.(type) {
	case nil:
		f.observer = o
	case observers:
		f.observer = append(before, o)
	default:
		f.observer = observers{before, o}
	}
	f.handOn()
}

// observers are several, each told of everything.
type observers []observer

func (all observers) part(d *domain) observer {
	parts := make(observers, len(all))
	for i, o := range all {
		parts[i] = o.part(d)
	}
	return parts
}

func (all observers) opens() {
	for _, o := range all {
		o.opens()
	}
}

func (all observers) gather() {
	for _, o := range all {
		o.gather()
	}
}

func (all observers) begins(d *domain) {
	for _, o := range all {
		o.begins(d)
	}
}

func (all observers) injects(d *domain, t int32) {
	for _, o := range all {
		o.injects(d, t)
	}
}

func (all observers) injected(d *domain, t int32) {
	for _, o := range all {
		o.injected(d, t)
	}
}

func (all observers) arrived(d *domain, flits []flit) {
	for _, o := range all {
		o.arrived(d, flits)
	}
}

func (all observers) sleeps(d *domain, queue int32, part Part) {
	for _, o := range all {
		o.sleeps(d, queue, part)
	}
}

func (all observers) resumes(d *domain, queue int32, part Part) {
	for _, o := range all {
		o.resumes(d, queue, part)
	}
}

func (all observers) blocked(d *domain, queue int32, out *outPort) {
	for _, o := range all {
		o.blocked(d, queue, out)
	}
}

func (all observers) grantedVC(d *domain, sw *switchState, matches []request, step uint32) {
	for _, o := range all {
		o.grantedVC(d, sw, matches, step)
	}
}

func (all observers) grantedSwitch(d *domain, sw *switchState, matches []request, t *stepTime) {
	for _, o := range all {
		o.grantedSwitch(d, sw, matches, t)
	}
}

func (all observers) tailCrosses(d *domain, sw *switchState, m request, t *stepTime, leaves int64) {
	for _, o := range all {
		o.tailCrosses(d, sw, m, t, leaves)
	}
}

func (all observers) delivered(d *domain, packet int32, delivery *fabric.Delivery) {
	for _, o := range all {
		o.delivered(d, packet, delivery)
	}
}

func (all observers) discarded(d *domain, packet int32) {
	for _, o := range all {
		o.discarded(d, packet)
	}
}

func (all observers) uncovered(d *domain, queue int32) {
	for _, o := range all {
		o.uncovered(d, queue)
	}
}

func (all observers) endCycle(d *domain) {
	for _, o := range all {
		o.endCycle(d)
	}
}

// bidding is what a head that is at the front of its queue and routed waits
// for.
func (n *network) bidding() Part {
	if n.combined != 0 {
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

func (all observers) next() int64 {
	next := fabric.Never
	for _, o := range all {
		next = min(next, o.next())
	}
	return next
}
