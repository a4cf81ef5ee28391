package core

import (
	"math"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// grantPasses lets packets at the front of queues begin passes, or add outputs to those
// that begin in this step; with due, by outputs whose turn it is to serve multicast
// packets. Each output goes to the queue next in its round robin, each input to the
// first of its queues in the switch's.
func (m *multicast) grantPasses(d *Domain, sw *SwitchState, s topology.SwitchID, t *StepTime, due bool) {
	for _, local := range m.mine {
		v := sw.Queue(local)
		if !m.mayBegin(d, sw, local, v, t) {
			continue
		}
		r := m.begin(d, sw, s, local, v)
		m.bidAll(d, sw, local, r, v.State, func(output uint32) bool { return m.takes(d, sw, output, r.flits, due) })
	}
	for _, local := range m.mine {
		if v := sw.Queue(local); m.mayBegin(d, sw, local, v, t) {
			m.grantPass(d, sw, s, local, t, due)
		}
	}
	for _, output := range m.wanted {
		m.bids[output].lov = 0
	}
	m.wanted = m.wanted[:0]
}

// mayBegin tells whether the packet at the front of a queue, a multicast one, may begin a
// pass in this step, or has begun one in it.
func (m *multicast) mayBegin(d *Domain, sw *SwitchState, local uint32, v *InVC, t *StepTime) bool {
	if v.Count == 0 || v.dst >= 0 || int32(v.Ready-t.Number) > 0 || d.storeForward && v.Packet&HeadFlit != 0 && !d.whole(v) {
		return false
	}
	if i := m.under[sw.Queue0+int32(local)]; i != 0 {
		if p := &m.work[i-1].pass; p.on {
			return p.granted == t.Number
		}
	}
	input := uint32(d.Matcher.Places[local].Port)
	return !m.usedInputs[input] && !check.At(d.hold.ports, uint32(sw.Port0)+input).input
}

// takes tells whether an output may begin to take a packet of so many flits.
func (m *multicast) takes(d *Domain, sw *SwitchState, output uint32, flits int32, due bool) bool {
	port := uint32(sw.Port0) + output
	if m.usedOutputs[output] || check.At(d.hold.ports, port).output || due && !m.prefer[port] {
		return false
	}
	o := sw.OutPort(output)
	p := d.Pace(o)
	return o.NextFree-p.window+int64(flits-1)*p.Interval < d.Cycle<<IntervalShift
}

// grantPass grants the packet at the front of a queue the outputs that it has won.
func (m *multicast) grantPass(d *Domain, sw *SwitchState, s topology.SwitchID, local uint32, t *StepTime, due bool) {
	queue, input := sw.Queue0+int32(local), uint32(d.Matcher.Places[local].Port)
	r := &m.work[m.under[queue]-1]
	won := len(r.branches) == 0 && !due
	for i := range r.branches {
		b := &r.branches[i]
		best := &m.bids[b.output]
		if best.lov == 0 || best.local != local || b.lov >= 0 {
			continue
		}
		won = true
		if b.lov = best.lov - 1; r.flits > 1 {
			b.take(d, sw, queue, b.lov)
			d.hold.ports[sw.Port0+int32(b.output)].output = true
		}
		r.heads--
		m.grant[sw.Port0+int32(b.output)] = int32(local) + 1
		m.prefer[sw.Port0+int32(b.output)] = false
		m.use(input, b.output)
	}
	if !won || r.pass.on {
		return
	}
	r.pass = pass{on: true, granted: t.Number}
	m.usedInputs[input] = true
	m.usedList = append(m.usedList, input<<16|input)
	d.hold.ports[sw.Port0+int32(input)].input = r.flits > 1
	if !m.served {
		m.turn[s], m.served = int32(local)+1, true
	}
}

// stream sends the next flit of a pass, if it has come, where flits are the unit.
func (m *multicast) stream(d *Domain, sw *SwitchState, local uint32, t *StepTime) {
	i, v := m.under[sw.Queue0+int32(local)], sw.Queue(local)
	if i == 0 {
		return
	}
	r := &m.work[i-1]
	if p := &r.pass; !p.on || r.freed+v.Count <= p.crossed {
		return
	}
	for i := range r.branches {
		if b := &r.branches[i]; b.lov >= 0 && b.sent == r.pass.crossed {
			m.send(d, sw, r, b, v, t)
			d.FlitHops++
			d.ReplicatedFlits++
		}
	}
	r.pass.crossed++
	done := r.pass.crossed == r.flits
	if r.heads == 0 {
		m.free(d, sw, local, r, v, t)
	}
	if done {
		m.endPass(d, sw, local, r)
	}
}

// endPass lets go of the ports of a pass whose tail has crossed, and drops its branches.
func (m *multicast) endPass(d *Domain, sw *SwitchState, local uint32, r *replication) {
	held := check.Of(d.hold.ports).From(uint32(sw.Port0))
	if r.flits > 1 {
		held.At(uint32(d.Matcher.Places[local].Port)).input = false
	}
	r.pass.on = false
	left := r.branches[:0]
	for _, b := range r.branches {
		if b.lov < 0 {
			left = append(left, b)
		} else if r.flits > 1 {
			held.At(b.output).output = false
		}
	}
	r.branches = left
}

// grantVCs lets every output port that branches without a virtual channel want
// give one to the branch whose queue is next in its round robin, if one that the
// packet may travel on is free and has room for all of it.
func (m *multicast) grantVCs(d *Domain, sw *SwitchState, s topology.SwitchID, t *StepTime) {
	for _, local := range m.mine {
		v := sw.Queue(local)
		if int32(v.Ready-t.Number) > 0 {
			continue
		}
		r := m.begin(d, sw, s, local, v)
		m.bidAll(d, sw, local, r, v.State, func(uint32) bool { return true })
	}
	for _, output := range m.wanted {
		best := &m.bids[output]
		lov, local := best.lov-1, best.local
		queue := sw.Queue0 + int32(local)
		r := &m.work[m.under[queue]-1]
		r.branches[best.branch].take(d, sw, queue, lov)
		r.heads--
		m.grant[sw.Port0+int32(output)] = int32(local) + 1
		best.lov = 0
	}
	m.wanted = m.wanted[:0]
}

// bidAll bids for the branches of the packet in a queue that have no virtual channel, at the
// outputs that may take it, for one of a set.
func (m *multicast) bidAll(d *Domain, sw *SwitchState, local uint32, r *replication, vcs uint32, takes func(output uint32) bool) {
	for i := range r.branches {
		if b := &r.branches[i]; b.lov < 0 && takes(b.output) {
			if free := vcs & uint32(sw.OutPort(b.output).free); free != 0 {
				m.bid(d, sw, local, i, r, free)
			}
		}
	}
}

// bid bids for an output virtual channel of a set for a branch of the packet in a queue.
func (m *multicast) bid(d *Domain, sw *SwitchState, local uint32, branch int, r *replication, free uint32) {
	output := r.branches[branch].output
	distance := int32(local) - m.grant[sw.Port0+int32(output)]
	if distance < 0 {
		distance += math.MaxInt32 / 2
	}
	best := &m.bids[output]
	if best.lov != 0 && distance >= best.distance {
		return
	}
	if lov := d.roomFor(sw, output, free, r.flits); lov >= 0 {
		if best.lov == 0 {
			m.wanted = append(m.wanted, output)
		}
		*best = bid{local, uint32(branch), lov + 1, distance}
	}
}
