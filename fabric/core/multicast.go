package core

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// SetMulticast gives switches multicast forwarding tables (len = switches), and leaves virtual
// channels from unicast on to multicast packets. Call it before [Fabric.Attach]. It needs virtual
// cut-through: in wormhole, two packets' branches could each hold what the other waits for.
func (f *Fabric) SetMulticast(tables []fabric.MulticastTable, unicast int) error {
	if err := f.Config.CheckMulticast(f.routing); err != nil {
		return err
	}
	if f.observer != nil || len(tables) != len(f.Switches) {
		panic("core: multicast tables for another graph, or with blame or traces, which do not follow copies")
	}
	if f.needs.Sent {
		f.misuse("declares Needs.Sent: nobody counts what has left of multicast packets")
	}
	f.allVCs, f.unicastVCs = 1<<unicast-1, unicast
	if f.departer == nil {
		f.injection = f.routing.InjectionVCs(unicast) & f.allVCs
	}
	f.multicast = &multicast{
		tables: tables, under: make([]int32, len(f.Queues)), turn: make([]int32, len(f.Switches)), grant: make([]int32, len(f.in)), prefer: make([]bool, len(f.in)),
		bids:       make([]bid, f.mostPorts),
		usedInputs: make([]bool, f.mostPorts), usedOutputs: make([]bool, f.mostPorts),
		asleep: make([]uint64, len(f.Masks)),
	}
	return nil
}

// isUnicast tells whether the packet at the front of a queue asks for a virtual channel; branches
// of multicast packets take theirs as they begin.
func (d *Domain) isUnicast(sw *SwitchState, local uint32, v *InVC, step uint32) bool {
	if v.Hop != multicastHop {
		return true
	}
	m, bit := sw.mask(local), uint64(1)<<(local&63)
	v.Ready = step + d.VADelay
	m.va &^= bit
	m.next |= bit
	return false
}

// forget ends a step: the next one begins with no port taken.
func (m *multicast) forget() {
	for _, used := range m.usedList {
		m.usedInputs[used>>16], m.usedOutputs[used&(1<<16-1)] = false, false
	}
	m.usedList = m.usedList[:0]
}

// collect lists the queues with a multicast packet in front, from first on in a circle, and hides
// them from the unicast allocator.
func (m *multicast) collect(sw *SwitchState, first int32) {
	m.mine = m.mine[:0]
	before := 0
	for w := range sw.masks {
		for left := sw.masks[w].sa; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			if sw.Queue(local).dst >= 0 {
				continue
			}
			sw.masks[w].sa &^= left & -left
			m.mine = append(m.mine, local)
			if int32(local) < first {
				before++
			}
		}
	}
	if before > 0 && before < len(m.mine) {
		slices.Reverse(m.mine[:before])
		slices.Reverse(m.mine[before:])
		slices.Reverse(m.mine)
	}
}

// serve sends a flit of the packet in front of a queue to branches that can take it; with due, only
// to outputs due to serve multicast packets. Branches furthest behind go first.
func (m *multicast) serve(d *Domain, sw *SwitchState, s topology.SwitchID, local uint32, t *StepTime, due bool) {
	v := sw.Queue(local)
	input := uint32(d.Matcher.Places[local].Port)
	if v.Count == 0 || v.dst >= 0 || int32(v.Ready-t.Number) > 0 || m.usedInputs[input] {
		return
	}
	r := m.begin(d, sw, s, local, v)
	if len(r.branches) == int(r.heads) && r.heads > 0 {
		return
	}
	least := r.flits
	for i := range r.branches {
		if b := &r.branches[i]; b.sent < least && m.ready(d, sw, b, due) {
			least = b.sent
		}
	}
	here := min(r.flits, r.freed+v.Count) // flits that have arrived
	if least >= here && len(r.branches) > 0 {
		return
	}
	sent := 0
	freed := here
	for i := range r.branches {
		b := &r.branches[i]
		if b.sent == least && m.ready(d, sw, b, due) {
			m.send(d, sw, r, b, v, t)
			m.use(input, b.output)
			sent++
		}
		freed = min(freed, b.sent)
	}
	if !m.served {
		m.turn[s], m.served = int32(local)+1, true
	}
	d.FlitHops += int64(sent)
	d.ReplicatedFlits += int64(sent)
	if freed > r.freed {
		m.free(d, sw, local, r, v, t)
	}
}

// begin is the replication of the packet in front of a queue.
func (m *multicast) begin(d *Domain, sw *SwitchState, s topology.SwitchID, local uint32, v *InVC) *replication {
	queue := sw.Queue0 + int32(local)
	if i := m.under[queue]; i != 0 {
		return &m.work[i-1]
	}
	in := topology.PortID(sw.Port0 + int32(d.Matcher.Places[local].Port))
	row, ok := m.tables[s].PortsOf(^v.dst, in)
	if !ok {
		panic(fmt.Sprintf("core: a packet of MLID %d came in by %s, whose switch has no row for it", ^v.dst, d.graph.PortName(in)))
	}
	i := int32(len(m.work))
	if n := len(m.idle); n > 0 {
		i, m.idle = m.idle[n-1], m.idle[:n-1]
	} else {
		m.work = append(m.work, replication{})
	}
	m.under[queue] = i + 1
	r := &m.work[i]
	p := d.Packet(v.Packet >> PacketBits)
	*r = replication{flits: p.Flits, branches: r.branches[:0]}
	for _, out := range row {
		if out != in {
			r.branches = append(r.branches, branch{output: uint32(int32(out) - sw.Port0), lov: -1})
		}
	}
	r.heads = int32(len(r.branches))
	if more := int32(len(r.branches)) - 1; more > 0 && d.Unit == nil { // without branches it ends here; packets' copies are packets of their own
		atomic.AddInt32(&p.more, more)
	}
	return r
}

// ready tells whether a branch's output can take its next flit.
func (m *multicast) ready(d *Domain, sw *SwitchState, b *branch, due bool) bool {
	o := sw.OutPort(b.output)
	return b.lov >= 0 && !m.usedOutputs[b.output] && (!due || m.prefer[sw.Port0+int32(b.output)]) && o.NextFree-d.Pace(o).window < d.Cycle<<IntervalShift
}

// send sends the next flit of a branch.
func (m *multicast) send(d *Domain, sw *SwitchState, r *replication, b *branch, v *InVC, t *StepTime) {
	o, ov := sw.OutPort(b.output), sw.outVC(uint32(b.lov))
	vc := uint32(b.lov) - b.output*uint32(d.vcs)
	flags := int32(0)
	if b.sent == 0 {
		flags |= HeadFlit
	}
	if b.sent++; b.sent == r.flits {
		flags |= TailFlit
		if r.flits > 1 || d.hold == nil {
			b.release(d, sw)
		}
	}
	ov.Flits++
	ov.credits -= int32(o.Bounded)
	if check.On {
		d.checkCredits(sw.Port0*int32(d.vcs) + b.lov)
	}
	depart := latest(t.Depart, o.NextFree)
	o.NextFree = depart + d.Pace(o).Interval
	e := Flit{Queue: o.dest + int32(vc)*int32(o.Bounded), Packet: v.Packet&^(HeadFlit|TailFlit) | flags, dst: v.dst, State: v.State}
	if v.State < MaxHops<<HopShift {
		e.State += 1 << HopShift
	}
	d.fileFlit(o.wheel, WholeCycle(depart)+d.Latency(o), e)
	m.prefer[sw.Port0+int32(b.output)] = false
}

// take gives a branch of a queue's packet a local output virtual channel.
func (b *branch) take(d *Domain, sw *SwitchState, queue, lov int32) {
	b.lov = lov
	sw.outVC(uint32(lov)).owner = queue
	sw.OutPort(b.output).free &^= 1 << (uint32(lov) - b.output*uint32(d.vcs))
}

// release lets go of a branch's virtual channel.
func (b *branch) release(d *Domain, sw *SwitchState) {
	o, ov := sw.OutPort(b.output), sw.outVC(uint32(b.lov))
	ov.owner = ^ov.owner
	o.free |= 1 << (uint32(b.lov) - b.output*uint32(d.vcs))
	if o.waiters != 0 {
		d.wakeWaiters(o)
	}
}

// free takes the front flit, read by all branches, out of its queue.
func (m *multicast) free(d *Domain, sw *SwitchState, local uint32, r *replication, v *InVC, t *StepTime) {
	place := d.Matcher.Places[local]
	in := sw.inPort(uint32(place.Port))
	d.sendCredit(in, in.upstream+int32(place.vc), t.credit)
	r.freed++
	v.Count--
	if len(r.branches) > 0 {
		d.ReplicatedFlits--
	} else {
		d.DiscardedFlits++
	}
	if r.freed == r.flits {
		if len(r.branches) == 0 {
			d.releaseCopy(v.Packet >> PacketBits)
		}
		m.end(sw.Queue0 + int32(local))
		if d.Combined == 0 && v.Count > 0 {
			sw.mask(local).va |= 1 << (local & 63)
		}
	}
	if v.Count > 0 {
		d.advance(sw.Queue0+int32(local), v, t.Number)
	}
	if r.freed == r.flits && d.Upcoming != nil && v.Count > 0 {
		d.leaves(sw, local, v, t.Number)
	}
}

// end ends the replication of the packet in front of a queue.
func (m *multicast) end(queue int32) {
	m.idle = append(m.idle, m.under[queue]-1)
	m.under[queue] = 0
}

// settle shows a queue with something for the crossbar to the unicast allocator again.
func (m *multicast) settle(sw *SwitchState, local uint32) {
	k, bit := sw.mask(local), uint64(1)<<(local&63)
	if sw.Queue(local).Count > 0 && k.va&bit == 0 {
		k.sa |= bit
	}
}

// use notes that ports are taken in this step.
func (m *multicast) use(input, output uint32) {
	m.usedInputs[input], m.usedOutputs[output] = true, true
	m.usedList = append(m.usedList, input<<16|output)
}

// noteUnicast notes what unicast packets take in this step.
func (d *Domain) noteUnicast(sw *SwitchState, matches []Request, _ *StepTime) {
	m := d.multicast
	for _, r := range matches {
		m.prefer[uint32(sw.Port0)+r.Output()] = true
		if len(m.mine) > 0 {
			m.use(r.Port(), r.Output())
		}
	}
}

// leaveOutTaken leaves out requests for ports that multicast packets have taken.
func (d *Domain) leaveOutTaken(_ *SwitchState, requests []Request, _ *StepTime) []Request {
	m := d.multicast
	if len(m.usedList) == 0 {
		return requests
	}
	kept := requests[:0]
	for _, r := range requests {
		if !m.usedInputs[r.Port()] && !m.usedOutputs[r.Output()] {
			kept = append(kept, r)
		}
	}
	return kept
}

// grantPasses lets packets at the front of queues begin passes, or add outputs to passes of this
// step; with due, only by outputs due to serve multicast packets. Each output goes to the queue
// next in its round robin, each input to its first queue in the switch's.
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

// mayBegin tells whether the multicast packet at the front of a queue may begin a pass in this
// step, or has.
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

// grantVCs lets every output port wanted by branches without a virtual channel give one to the
// branch whose queue is next in its round robin, if an allowed one is free with room for all of the
// packet.
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

// bidAll bids for the branches of a queue's packet without a virtual channel, at the outputs that
// may take it, for one of a set.
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
