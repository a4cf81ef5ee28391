package core

import (
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/sim/check"
)

// finishCrossing completes crossFlits for flit i, which departs to local output virtual channel
// lov: late credits and counts, packets that wait for its channel, and the flit behind it.
func (d *Domain) finishCrossing(sw *SwitchState, i int, r Request, lov uint32, depart int64, t *StepTime) {
	local := r.Local()
	v, o := sw.Queue(local), sw.OutPort(r.Output())
	if d.unfiled.any {
		d.file(v)
	}
	if d.crossTimed {
		ov := sw.Port0*int32(d.vcs) + int32(lov)
		if d.receives() && o.Bounded == 0 {
			d.toTerminal(sw.outVC(lov), ov, WholeCycle(depart)+d.Latency(o)+int64(sw.inPort(r.Output()).delay)+d.laterBack)
		}
		if d.behind != nil {
			if decided := lowestOV(v.Hop, uint32(d.vcs)); d.leaving != nil && depart == t.Depart && d.late[i] == 0 {
				*d.leaving = append(*d.leaving, sw.Port0*int32(d.vcs)+int32(decided))
			} else {
				d.behind.cross(d, sw, decided, depart, d.late[i])
			}
		}
	}
	// The next packet comes to the front, and packets that wait for the virtual channel may ask.
	tail, m, bit := v.Packet&TailFlit != 0, sw.mask(local), uint64(1)<<(local&63)
	if tail && v.Packet&d.Combined == 0 && o.waiters != 0 {
		d.wakeWaiters(o)
	}
	if v.Count == 0 {
		m.sa &^= bit
		return
	}
	if tail && d.Combined == 0 {
		m.sa &^= bit
		m.va |= bit
	}
	d.advance(sw.Queue0+int32(local), v, t.Number)
	if d.Upcoming == nil {
		return
	}
	if tail {
		d.leaves(sw, local, v, t.Number)
	} else if m.second&bit != 0 {
		d.behindFront(sw, local).left--
	}
}

// file files what is unfiled of the flit in front of a queue.
func (d *Domain) file(v *InVC) {
	u := &d.unfiled
	if u.hop {
		d.countHop(v.Packet, v.dst)
	}
	if u.back != 0 {
		d.fileCredit(u.creditWheel, u.back, u.credit)
	}
	if u.arrival != 0 {
		d.fileFlit(u.flitWheel, u.arrival, u.flit)
	}
	u.any, u.hop, u.back, u.arrival = false, false, 0, 0
}

// findLate prepares what is timed of flits that cross: the cycles by which credit sensing delays
// each credit, and the lists for flits that leave at once.
func (d *Domain) findLate(sw *SwitchState, matches []Request, t *StepTime) {
	if d.behind != nil {
		d.leaving = d.behind.list(d, t.Depart)
	}
	if d.sensing == nil {
		return
	}
	for i, r := range matches {
		v, port, late := sw.Queue(r.Local()), sw.Port0+int32(r.Port()), int64(0)
		if sw.OutPort(r.Output()).Bounded != 0 {
			outstanding := d.buffer - sw.outVC(uint32(v.Out)).credits + 1
			late = d.sensing.granted(&d.network, sw.Port0, port, sw.Port0*int32(d.vcs)+v.Out, outstanding, d.Cycle)
		}
		if d.late[i] = late; late > 0 {
			d.holdCredit(port, d.in[port].upstream+int32(r.Local()-r.Port()*uint32(d.vcs)), t.credit, late)
		}
	}
}

// allocateRivals is the end of matchRoundRobin, where several flits want the same.
func (d *Domain) allocateRivals(sw *SwitchState, requests []Request, rivalInputs, rivalOutputs uint64, t *StepTime) {
	// No branches: whether a request has rivals cannot be predicted.
	alone, met, rivals := uint32(0), uint32(0), d.Matcher.rivals
	for _, r := range requests {
		meets := uint32((rivalInputs>>(r.Port()&63) | rivalOutputs>>(r.Output()&63)) & 1)
		*check.At(requests, alone), *check.At(rivals, met) = r, r
		alone += 1 - meets
		met += meets
	}
	if d.Config.Switch.Iterations == 1 && d.multicast == nil {
		// In one go: loops that are short end unpredictably.
		if met == 2 && sw.Ports <= 64 && !d.Matcher.inputFirst {
			requests = append(requests[:alone], d.Matcher.matchPair(sw, rivals[0], rivals[1]))
		} else {
			requests = d.Matcher.match(sw, rivals[:met], requests[:alone])
		}
		d.cross(d, sw, requests, t, true)
		return
	}
	d.cross(d, sw, requests[:alone], t, true)
	d.arbitrate(sw, rivals[:met], t)
}

// arbitrate plays out switch allocation's round robins, one iteration after the other among the
// unmatched.
func (d *Domain) arbitrate(sw *SwitchState, rivals []Request, t *StepTime) {
	m := &d.Matcher
	for iteration := range d.Config.Switch.Iterations {
		if iteration > 0 {
			rivals = m.unmatched(rivals)
		}
		matches := m.match(sw, rivals, m.matches[:0])
		if len(matches) == 0 {
			break
		}
		for _, r := range matches {
			m.matched[2*r.Port()], m.matched[2*r.Output()+1] = true, true
		}
		d.cross(d, sw, matches, t, iteration == 0)
	}
	clear(m.matched[:2*sw.Ports])
}

func newRegistered(d *Domain) *registered {
	n := len(d.Matcher.requests)
	return &registered{allocator.TraitsOf(d.Config.Switch.Allocator.Name()), make([]allocator.Request, n), make([]int, 0, n), make([]Request, 0, n)}
}

// matchRegistered lets a switch's registered allocator choose among requests, and sends the matches
// through the crossbar.
func (d *Domain) matchRegistered(sw *SwitchState, requests []Request, t *StepTime) {
	a := d.registered
	if len(requests) == 0 {
		return
	}
	for i, r := range requests {
		local := r.Local()
		vc := d.Matcher.Places[local].vc
		a.requests[i] = allocator.Request{Input: uint16(int(r.Port())*d.Config.Switch.InputSpeedup) + vc%uint16(d.Config.Switch.InputSpeedup), VC: vc, Output: uint16(r.Output())}
		if a.reads.Ages {
			a.requests[i].Born = d.Packet(sw.Queue(local).Packet >> PacketBits).Birth
		}
		if a.reads.Queues {
			a.requests[i].Queued = sw.Queue(local).Count
		}
	}
	a.matches = d.allocators[d.WordSwitch[sw.Queue0>>6]].Allocate(a.requests[:len(requests)], a.matches[:0])
	a.chosen = a.chosen[:0]
	for _, k := range a.matches {
		a.chosen = append(a.chosen, requests[k])
	}
	d.cross(d, sw, a.chosen, t, false)
}
