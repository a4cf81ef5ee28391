package core

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// A state that is read may be anything: what numbers name must be there, as the switches
// look it up without checks of bounds.

// plausible checks the records of the hardware.
func (x *archiver) plausible() {
	f := x.f
	for s := range f.switches {
		sw := &f.switches[s]
		queues := sw.ports * int32(f.vcs)
		for w := range sw.masks {
			m, exist := &sw.masks[w], ^uint64(0)
			if left := queues - int32(w)<<6; left < 64 {
				exist = 1<<left - 1
			}
			x.Check((m.va|m.sa)&^exist == 0 && m.route|m.next == 0, "switch %d has work for queues that it has not got", s)
		}
		for local := range uint32(queues) {
			v := sw.queue(local)
			requests := sw.mask(local)
			asks, crosses := (requests.va|requests.sa)>>(local&63)&1 != 0, requests.sa>>(local&63)&1 != 0
			ready := v.count > 0 && (v.packet&headFlit != 0 || v.out >= 0 || v.dst < 0)
			x.Check(!asks || ready || f.unit != nil, "queue %d of switch %d asks for nothing", local, s)
			x.Check(v.out >= -1 && v.out < queues && x.goes(sw, &v.queued) && (!crosses || v.out >= 0 || v.dst < 0 || v.packet&f.combined != 0), "queue %d of switch %d leads to port %d, virtual channel %d", local, s, v.hop>>16, v.out)
			f.ofQueue(sw.queue0+int32(local)).eachQueued(v, func(q *queued) {
				x.Check(x.goes(sw, q) && x.leads(q.packet, q.dst), "queue %d of switch %d holds a packet for terminal %d by port %d", local, s, q.dst, q.hop>>16)
			})
			if f.upcoming != nil {
				u := &f.upcoming[sw.queue0+int32(local)]
				x.Check(u.out >= -1 && u.out < queues && (u.packets < 2 || f.ofQueue(sw.queue0+int32(local)).secondHead(v) != 0), "behind the front of queue %d of switch %d: %+v", local, s, *u)
			}
			o := sw.outVC(local)
			x.Check(x.queueOf(max(o.owner, ^o.owner)), "output virtual channel %d of switch %d belongs to queue %d", local, s, o.owner)
		}
	}
	for ov := range f.outVC {
		x.Check(f.outVC[ov].credits >= 0 && f.outVC[ov].credits <= unboundedCredits, "output virtual channel %d has %d credits", ov, f.outVC[ov].credits)
	}
	for t := range f.terminals {
		te := &f.terminals[t]
		x.Check(te.wake > f.cycle && te.vc >= 0 && int(te.vc) < f.vcs && uint32(te.allowed)>>f.vcs == 0 && te.left >= 0, "terminal %d: %+v", t, *te)
		x.Check(te.packet < 0 || x.leads(te.packet<<packetBits, te.dst), "terminal %d sends to terminal %d", t, te.dst)
	}
	for t := range f.laneQueues {
		l, waiting := &f.laneQueues[t], 0
		for i := range l.queues {
			q := &l.queues[i]
			x.Check(q.lanes != 0 && uint32(q.lanes)&^f.allVCs == 0, "terminal %d has a queue for the lanes %b", t, q.lanes)
			if waiting += len(q.packets); x.Err() == nil {
				for _, p := range q.packets {
					x.Check(x.someone(int32(p.dst)) && (x.sent == nil || x.sent.Sent(p.tag, topology.TerminalID(t), p.dst, p.flits)) && p.flits > 0 && p.birth <= f.cycle && p.state < 1<<fabric.StateBits, "terminal %d holds %+v", t, p)
				}
			}
		}
		x.Check(waiting == l.waiting, "terminal %d has %d packets in its lanes, not %d", t, waiting, l.waiting)
	}
	x.plausibleLists()
	x.plausibleCopies()
}

// holds checks of what has been read, and filed, what the checked build checks now and then.
func (x *archiver) holds() {
	defer func() {
		if broken := recover(); broken != nil {
			x.Fail("%v", broken)
		}
	}()
	f := x.f
	for s := range f.switches {
		f.domainAt(int32(s)).checkSwitch(&f.switches[s])
	}
	f.checkAt = 0
	f.checkAll()
}

// goes tells whether a packet's decision is one of its switch's.
func (x *archiver) goes(sw *switchState, q *queued) bool {
	if x.f.faults != nil && q.hop == 1<<16 { // to be discarded
		return true
	}
	return q.hop>>16 < uint32(sw.ports) && q.hop&(1<<16-1)&^x.f.allVCs == 0
}

func (x *archiver) someone(t int32) bool { return t >= 0 && int(t) < len(x.f.terminals) }

// queueOf tells whether there is a queue of a number.
func (x *archiver) queueOf(number int32) bool {
	f := x.f
	if number < 0 || int(number) >= len(f.queues) {
		return false
	}
	sw := &f.switches[f.wordSwitch[number>>6]]
	return number-sw.queue0 < max(1, sw.ports*int32(f.vcs))
}

// plausibleLists checks the lists of queues that wait: none is in two, or twice in one.
func (x *archiver) plausibleLists() {
	f := x.f
	waits := make([]bool, len(f.queues))
	walk := func(first int32) {
		for q := first; q != 0 && x.Err() == nil; {
			if x.Check(x.queueOf(q-1) && !waits[q-1], "queue %d waits twice", q-1); x.Err() == nil {
				waits[q-1] = true
				q = f.waitNext[q-1]
			}
		}
	}
	for p := range f.out {
		walk(f.out[p].waiters)
	}
	if f.hold != nil {
		for p := range f.hold.ports {
			walk(f.hold.ports[p].inputWaiters)
			walk(f.hold.ports[p].outputWaiters)
		}
	}
	if f.sensing != nil {
		for _, ov := range f.sensing.witness {
			x.Check(ov >= 0 && int(ov) < len(f.sensing.probes), "output virtual channel %d is sensed", ov)
		}
	}
	if f.unit != nil {
		x.plausibleUnit()
	}
}

// plausibleUnit checks what packets as the unit add.
func (x *archiver) plausibleUnit() {
	u := x.f.unit
	for p := range u.credits {
		if r := &u.credits[p].ramp; r.ov >= 0 {
			x.Check(x.ramp(r) && int(r.port) == p, "credits of port %d: %+v", p, *r)
		}
	}
	for p := range u.flows {
		for i := range u.flows[p] {
			w := &u.flows[p][i]
			x.Check(w.lines >= 0 && w.lines <= rampLines && x.slopes(w.every) && w.ov >= -1 && w.ov < x.f.terminalOV0 && (w.decided >= 0 || w.decided == -1 && w.kind == crossing) && w.decided < x.f.terminalOV0, "flits of port %d: %+v", p, *w)
		}
	}
	for word := range u.streams {
		tails := u.streams[word].tail | u.streams[word].under&^x.existing(int32(word))
		x.Check(tails == 0, "tails cross from queues %#x of word %d", tails, word)
	}
	for word := range u.streams {
		if u.flights == nil {
			break
		}
		for left := u.streams[word].under; left != 0; left &= left - 1 {
			queue := int32(word<<6 + bits.TrailingZeros64(left))
			x.flightGoes(queue, &u.flights[queue])
		}
	}
	for n := range x.packets.count {
		p := x.f.domains[0].train(int32(n))
		x.Check(int(p.pace) < len(u.slopes) && int(p.slow) < len(u.slopes) && p.flits > 0, "packet %d comes as %+v", n, *p)
	}
}

// flightGoes checks a packet that is under way from a queue.
func (x *archiver) flightGoes(queue int32, w *flight) {
	f := x.f
	sw, v := &f.switches[f.wordSwitch[queue>>6]], &f.queues[queue]
	slopes := len(f.unit.slopes)
	lines := func(r *ramp) bool { return r.lines > 0 && r.lines <= rampLines && x.slopes(r.every) }
	x.Check(w.packet == v.packet>>packetBits && w.in.flits > 0 && int(w.in.pace) < slopes && int(w.in.slow) < slopes && w.lov >= 0 && w.lov < sw.ports*int32(f.vcs) &&
		lines(&w.crossing) && lines(&w.leaving), "the packet that leaves queue %d: %+v", queue, *w)
}

// existing is the set of queues that a mask word has.
func (x *archiver) existing(word int32) uint64 {
	set := uint64(0)
	for bit := range int32(64) {
		if x.queueOf(word<<6 + bit) {
			set |= 1 << bit
		}
	}
	return set
}

func (x *archiver) slopes(every [rampLines]uint8) bool {
	for _, i := range every {
		if int(i) >= len(x.f.unit.slopes) {
			return false
		}
	}
	return true
}

// ramp tells whether a ramp is one of credits.
func (x *archiver) ramp(r *ramp) bool {
	f := x.f
	return r.lines > 0 && r.lines <= rampLines && x.slopes(r.every) && r.ov >= 0 && int(r.ov) < len(f.outVC) &&
		r.port == r.ov/int32(f.vcs) && r.done >= 0 && r.done <= r.flits
}

// plausibleMoves checks what is on its way.
func (x *archiver) plausibleMoves(m *moving) {
	f := x.f
	for _, e := range m.toTerminals {
		x.Check(x.someone(^e.item.queue) && x.leads(e.item.packet, e.item.dst) && (e.item.dst == ^e.item.queue || e.item.dst < 0), "a flit for terminal %d arrives at %d", e.item.dst, ^e.item.queue)
	}
	for _, e := range m.toSwitches {
		x.Check(x.queueOf(e.item.queue) && x.leads(e.item.packet, e.item.dst), "a flit for terminal %d arrives in queue %d", e.item.dst, e.item.queue)
	}
	for _, e := range m.credits {
		x.Check(e.item >= 0 && int(e.item) < len(f.outVC), "a credit comes back to output virtual channel %d", e.item)
	}
	for _, e := range m.held {
		x.Check(f.sensing != nil && e.item.port >= 0 && int(e.item.port) < len(f.in) && e.item.upstream >= 0 && int(e.item.upstream) < len(f.outVC), "a credit is held: %+v", e.item)
	}
	for _, e := range m.behind {
		x.Check(f.needs.Queues && e.item >= 0 && e.item < f.terminalOV0, "a flit waits for output virtual channel %d", e.item)
	}
	for _, e := range m.tails {
		unit := f.domains[0].unit
		x.Check(unit != nil && unit.followed != nil && x.queueOf(e.item.queue) && x.someone(e.item.dst), "a tail for terminal %d arrives in queue %d", e.item.dst, e.item.queue)
	}
	x.plausibleMovingCopies(m)
	for _, e := range m.wakes {
		x.Check(x.someone(e.item), "terminal %d wakes", e.item)
	}
	x.Check(f.unit != nil || len(m.ramps)+len(m.events) == 0, "packets are not the unit")
	for i := range m.ramps {
		x.Check(f.unit != nil && x.ramp(&m.ramps[i].item), "credits come back: %+v", m.ramps[i].item)
	}
	for _, e := range m.events {
		ok := e.item.kind <= queueWakes && x.queueOf(e.item.number) && e.item.port >= 0 && int(e.item.port) < len(f.in)
		if e.item.kind == creditsCome {
			ok = e.item.number >= 0 && int(e.item.number) < len(f.out)
		}
		x.Check(ok, "an event: %+v", e.item)
	}
}
